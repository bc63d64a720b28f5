//! Empties the memory: for another use, or to fill it again from the tables.

use crate::memory::entry::Entry;
use crate::memory::header::{Header, SettingsState};
use crate::memory::reservation::{Reservation, Stage};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, Step};
use crate::testing::faults::{Seeded, armed};

impl Scheduler<'_> {
    /// Empties the memory for another use; open transactions have no part in it.
    pub fn forget_everything(&mut self) {
        self.clear();
        self.reservations.clear();
        let stamp = self.header.stamp.wrapping_add(1);
        *self.header = Header {
            stamp,
            settings: SettingsState {
                version: self.header.settings.version,
                ..SettingsState::default()
            },
            overflow: self.header.overflow.after(stamp),
            ..Header::default()
        };
    }

    /// Starts a rebuild: forgets lanes and gates, and holds again what open transactions have reserved.
    /// Trusts nothing but the reservations themselves and that stamps and versions only grow.
    pub fn begin_rebuild(&mut self) -> Step<()> {
        self.clear();
        let stamp = self.header.stamp.wrapping_add(1);
        *self.header = Header {
            stamp,
            settings: SettingsState {
                version: self.header.settings.version.wrapping_add(1),
                has_unread_sessions: true,
                has_paused_sessions: false,
            },
            rebuilding: true,
            overflow: self.header.overflow.after(stamp),
            ..Header::default()
        };
        self.restore_reservations()
    }

    /// Forgets all but reservations, touching only what was used.
    pub(crate) fn clear(&mut self) {
        let nodes = self.lanes.slots.len();
        let used = [
            0..self.lanes.used_slots(),
            nodes..nodes + self.nodes.used_slots(),
        ];
        for used in used {
            if let Some(entries) = self.entries.get_mut(used) {
                entries.fill(Entry::default());
            }
        }
        self.lanes.clear();
        self.nodes.clear();
        self.gates.clear();
        self.meters.clear();
        self.shares.clear();
    }

    /// Puts the slots in order again from what each says of itself, and holds their room.
    pub(crate) fn restore_reservations(&mut self) -> Step<()> {
        self.reservations
            .reindex(|slot| slot.stage != Stage::Free, Reservation::key)?;
        for at in self.reservations.touched() {
            // Buckets and shares begin anew, so that what was put by or charged does not matter any more.
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

    /// All jobs of the rebuild's snapshot have been counted.
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
