//! Reservations: the room that open transactions hold, one for each job.
//!
//! They outlive a rebuild, so that limits hold across it.

use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::reservation::{Reservation, ReservationId, Stage, bit, job_key};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, Step};
use crate::testing::faults::{Seeded, armed};

impl Scheduler<'_> {
    pub(crate) fn reserve(&mut self, spec: LaneSpec) -> Step<ReservationId> {
        let reservation = Reservation {
            spec,
            stage: Stage::Room,
            ..Reservation::default()
        };
        self.reservations
            .insert(reservation, None)
            .map(ReservationId)
    }

    pub(crate) fn mark_transferred(&mut self, id: ReservationId, kind: GateKind) -> Step<()> {
        self.reservations.get_mut(id.0)?.transferred |= bit(kind);
        Ok(())
    }

    pub(crate) fn mark_charged(&mut self, id: ReservationId, cost: u32, level: i32) -> Step<()> {
        let reservation = self.reservations.get_mut(id.0)?;
        (reservation.charged, reservation.level) = (cost, level);
        Ok(())
    }

    /// A job that a fair queue has charged for starts.
    pub(crate) fn start_charged(&mut self, id: ReservationId) -> Step<()> {
        let reservation = *self.reservations.get(id.0)?;
        if reservation.charged == 0 {
            return Ok(());
        }
        self.reservations.get_mut(id.0)?.charged = 0;
        self.settle_charge(&reservation, true)
    }

    pub(crate) fn mark_metered(&mut self, id: ReservationId, kind: GateKind) -> Step<()> {
        self.reservations.get_mut(id.0)?.metered |= bit(kind);
        Ok(())
    }

    /// The gates at which the run took over room: credits that count again when the reservation goes.
    pub fn transferred(
        &self,
        id: ReservationId,
    ) -> Step<impl Iterator<Item = (GateKind, u64)> + use<>> {
        Ok(self.reservations.get(id.0)?.transferred_gates())
    }

    /// The owner has locked the job at `position`.
    pub(crate) fn bind_job(&mut self, id: ReservationId, position: i64) -> Step<()> {
        let reservation = *self.reservations.get(id.0)?;
        if let Some(key) = reservation.index_key() {
            self.reservations.unlink(id.0, key)?;
        }
        self.note_job(id, position)?;
        self.reservations
            .link(id.0, job_key(reservation.spec.lane, position))
    }

    /// The same as [`Self::bind_job`] where links cannot be trusted. A rebuild makes them again.
    pub(crate) fn note_job(&mut self, id: ReservationId, position: i64) -> Step<()> {
        let reservation = self.reservations.get_mut(id.0)?;
        if reservation.stage == Stage::Free {
            return Err(Fault::Corrupt("a job was bound to no reservation"));
        }
        reservation.stage = Stage::Job;
        reservation.position = position;
        Ok(())
    }

    pub fn is_in_flight(&self, lane: u64, position: i64) -> Step<bool> {
        let found = self.reservations.find(job_key(lane, position), |_, slot| {
            slot.stage == Stage::Job && slot.spec.lane == lane && slot.position == position
        })?;
        Ok(found.is_some())
    }

    /// The owner has committed. The job runs, and room that was taken over is now held for it.
    pub fn commit(&mut self, id: ReservationId) -> Step<()> {
        let reservation = self.remove_reservation(id)?;
        for (kind, key) in reservation.transferred_gates() {
            let count = 1 + u32::from(armed(Seeded::HoldTransferredTwice));
            self.hold_gate(kind, key, count)?;
        }
        Ok(())
    }

    /// The owner has committed, and a rebuild has already counted the job as running.
    pub fn commit_counted(&mut self, id: ReservationId) -> Step<()> {
        if armed(Seeded::CountTwice) {
            return self.commit(id);
        }
        self.release_reservation(id).map(|_| ())
    }

    /// The owner has aborted. The room and the job are back.
    pub fn abort(&mut self, id: ReservationId) -> Step<()> {
        let reservation = self.release_reservation(id)?;
        if reservation.stage == Stage::Job && !armed(Seeded::AbortWithoutLowering) {
            self.lower(&reservation.spec, reservation.position)?;
        }
        Ok(())
    }

    /// The owner has ended while the memory waits for a rebuild. Only the slot matters, and its links cannot
    /// be trusted: the rebuild makes the index and the free list again.
    pub fn forget(&mut self, id: ReservationId) -> Step<()> {
        *self.reservations.get_mut(id.0)? = Reservation::default();
        Ok(())
    }

    /// Gives back room that was not needed.
    pub(crate) fn release_reservation(&mut self, id: ReservationId) -> Step<Reservation> {
        let reservation = self.remove_reservation(id)?;
        for (kind, key) in reservation.held_gates() {
            self.release_gate(kind, key, 1)?;
        }
        self.take_back_start(&reservation.spec)?;
        if armed(Seeded::ReleaseTransferred) {
            for (kind, key) in reservation.transferred_gates() {
                self.release_gate(kind, key, 1)?;
            }
        }
        Ok(reservation)
    }

    /// A start that the pick has counted does not take place.
    fn take_back_start(&mut self, spec: &LaneSpec) -> Step<()> {
        for (kind, key) in spec.gates() {
            if let Some(gate) = self.find_gate(kind, key)?
                && !armed(Seeded::CountWhatNeverStarts)
            {
                self.gate_mut(gate)?.pace.take_back(1);
            }
        }
        Ok(())
    }

    pub(crate) fn remove_reservation(&mut self, id: ReservationId) -> Step<Reservation> {
        let reservation = *self.reservations.get(id.0)?;
        if reservation.stage == Stage::Free {
            return Err(Fault::Corrupt("a reservation was given back twice"));
        }
        self.reservations.remove(id.0, reservation.index_key())?;
        if !armed(Seeded::KeepUnusedTokens) {
            self.return_tokens(&reservation, |_| {})?;
        }
        if reservation.charged > 0 {
            self.settle_charge(&reservation, false)?;
        }
        Ok(reservation)
    }

    pub(crate) fn reservations_left(&self) -> usize {
        self.reservations.left()
    }

    pub(crate) fn job_of_reservation(&self, at: u32) -> Step<Option<(u64, i64)>> {
        let reservation = self.reservations.get(at)?;
        let is_job = reservation.stage == Stage::Job;
        Ok(is_job.then_some((reservation.spec.lane, reservation.position)))
    }

    pub(crate) fn held_by_reservation(
        &self,
        at: u32,
    ) -> Step<impl Iterator<Item = (GateKind, u64)> + use<>> {
        let reservation = *self.reservations.get(at)?;
        let live = reservation.stage != Stage::Free;
        Ok(reservation.held_gates().filter(move |_| live))
    }
}
