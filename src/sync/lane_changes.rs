//! Tells the scheduler of lanes that a transaction has changed.

use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::shmem::Locked;
use crate::transaction::level::LaneChange;
use turnstile_scheduler::Step;
use turnstile_scheduler::figures::{Demand, Id};

/// After a commit. `counted`: the memory was read from tables that had it.
pub fn commit(memory: &mut Locked, lanes: &[&LaneChange], counted: bool) -> Step<()> {
    lanes
        .iter()
        .try_for_each(|lane| commit_lane(memory, lane, counted))
}

fn commit_lane(memory: &mut Locked, lane: &LaneChange, counted: bool) -> Step<()> {
    let spec = &lane.spec;
    memory.make_room(0);
    if lane.released > 0 && !counted && !armed(Seeded::CommitWithoutRelease) {
        let was_full = memory.is_full(spec);
        memory.scheduler.release(spec, lane.released)?;
        memory.expect_work(spec, if was_full { lane.released } else { 0 });
    }
    if let Some(position) = lane.least_gone
        && !armed(Seeded::CommitWithoutWithdrawal)
    {
        memory.scheduler.withdraw(spec, position)?;
    }
    if let Some(position) = lane.least_available() {
        memory.lower(spec, position)?;
        memory.expect_work(spec, lane.available_count());
    }
    Ok(())
}

/// After an abort.
pub fn undo(memory: &mut Locked, lanes: &[&LaneChange]) -> Step<()> {
    let gone = lanes.iter().filter(|_| !armed(Seeded::ForgetGone));
    for lane in gone {
        if let Some(position) = lane.least_gone {
            memory.lower(&lane.spec, position)?;
        }
    }
    Ok(())
}

/// Figures are not what decides: where they are damaged they are counted anew.
pub fn commit_figures(memory: &mut Locked, lanes: &[&LaneChange], id: u64) {
    let now = server::now();
    for lane in lanes.iter().filter(|lane| !lane.figures.is_empty()) {
        memory.make_room_for_figures(&Demand::by(&lane.spec, &lane.figures));
        let scheduler = &memory.scheduler;
        let has_row = |name: Id| scheduler.has_own_settings(name.kind, name.key);
        if memory
            .figures
            .commit(id, &lane.spec, &lane.figures, now, has_row)
            .is_err()
        {
            memory.figures.distrust();
        }
        if lane.spec.batch != 0 && memory.figures.may_be_decided(&lane.spec, &lane.figures) {
            let parent = lane.spec.batch.cast_signed();
            memory.state.follow_ups.add(parent, i64::MIN);
            // Where it is not known how many are live, each end would be looked after.
            if memory.figures.live_in_batch(lane.spec.batch).is_none() {
                memory.figures.want_count();
            }
        }
    }
    memory.figures.make_up_for_overflow();
}
