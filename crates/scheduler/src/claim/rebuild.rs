//! Empties the memory: for another use, or to fill it again from the tables.

use crate::memory::gate::GateKind;
use crate::memory::header::{Clock, Header, SettingsState};
use crate::memory::lane::LaneSpec;
use crate::memory::reservation::Stage;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, Step};
use crate::testing::faults::{Seeded, armed};

/// Lanes that are read ahead together: few enough to stay in the processor's cache.
pub const READ_AHEAD: usize = 128;

/// Notes as many keys as there is room for; returns how many.
fn note_keys(keys: &mut [u64], given: impl Iterator<Item = u64>) -> usize {
    let noted = keys.iter_mut().zip(given);
    noted.map(|(key, given)| *key = given).count()
}

impl Scheduler<'_> {
    /// Empties the memory for another use. No open transaction may have reservations.
    pub fn forget_everything(&mut self) {
        self.clear();
        self.reservations.wipe();
        let stamp = self.header.stamp.wrapping_add(1);
        let version = self.header.settings.version.wrapping_add(1);
        *self.header = Header {
            stamp,
            settings: SettingsState {
                version,
                ..SettingsState::default()
            },
            outside: self.header.outside.after(stamp),
            ..Header::default()
        };
    }

    /// Begins a rebuild: forgets lanes and gates, and holds again what open transactions have reserved. It
    /// trusts nothing but the reservations themselves, and that stamps and versions only grow.
    pub fn begin_rebuild(&mut self) -> Step<()> {
        let clock = self.header.clock;
        let forgets_nothing = !clock.has_started && (1..=clock.now).contains(&clock.metered_since);
        self.clear();
        let stamp = self.header.stamp.wrapping_add(1);
        let version = self.header.settings.version.wrapping_add(1);
        *self.header = Header {
            stamp,
            settings: SettingsState {
                version,
                has_unread_sessions: true,
                has_paused_sessions: false,
            },
            rebuilding: true,
            clock: match forgets_nothing {
                true => Clock {
                    metered_since: clock.metered_since,
                    lost_rate_at: clock.lost_rate_at,
                    ..Clock::default()
                },
                false => Clock::default(),
            },
            outside: self.header.outside.after(stamp),
            ..Header::default()
        };
        self.restore_reservations()
    }

    /// Forgets all but reservations.
    pub(crate) fn clear(&mut self) {
        self.lanes.clear();
        self.nodes.clear();
        self.gates.clear();
        self.meters.clear();
        self.shares.clear();
        self.forget_due();
        self.outside.clear();
    }

    /// Makes the index again from what each slot says, and holds the room of the reservations.
    pub(crate) fn restore_reservations(&mut self) -> Step<()> {
        self.reservations.reindex()?;
        for at in self.reservations.touched() {
            // Buckets and shares begin again, so what was set aside or charged does not matter any more.
            let reservation = self.reservations.get_mut(at)?;
            reservation.metered = 0;
            reservation.charged = 0;
            let reservation = *reservation;
            if reservation.stage == Stage::Free || armed(Seeded::ForgetReservations) {
                continue;
            }
            for (kind, key) in reservation.held_gates() {
                self.hold_gate(kind, key, 1)?;
            }
        }
        Ok(())
    }

    /// Reads what the next lanes to be made will meet; they are made sooner then, and nothing else changes.
    pub fn read_ahead<'l>(&self, lanes: impl Iterator<Item = &'l LaneSpec> + Clone) {
        let mut keys = [0; READ_AHEAD];
        let mut read = 0;
        for kind in GateKind::ALL {
            let count = note_keys(&mut keys, lanes.clone().map(|lane| lane.key_of(kind)));
            read ^= self.gates.read_ahead(keys.get(..count).unwrap_or_default());
        }
        let count = note_keys(&mut keys, lanes.map(|lane| lane.lane));
        read ^= self.lanes.read_ahead(keys.get(..count).unwrap_or_default());
        std::hint::black_box(read);
    }

    /// Ends a rebuild: all jobs of its snapshot have been counted.
    pub fn end_rebuild(&mut self) -> Step<()> {
        self.header.rebuilding = false;
        for at in self.gates.touched() {
            if self.gate(at)?.held() < 0 {
                return Err(Fault::Corrupt("a rebuilt gate holds less than nothing"));
            }
        }
        Ok(())
    }
}
