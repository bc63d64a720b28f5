//! Who claims, for `turnstile.workers`: noted where a claim holds the lock anyway.

use crate::job::queues;
use crate::runs::claimer::Claimer;
use crate::shmem::Locked;
use turnstile_scheduler::workers::{Name, QUEUE_NAME, Sighting};
use turnstile_scheduler::{EVERY_QUEUE, Step};

/// The claim has looked at a queue, and taken so many jobs. No claim fails by this.
pub fn note(memory: &mut Locked, claimer: &Claimer, queue: u64, jobs: usize, now: i64) {
    // Those that * stands for are not named one by one.
    let queue = match claimer.queues.contains(&queue) {
        true => queue,
        false => EVERY_QUEUE,
    };
    let sighting = Sighting {
        key: claimer.key,
        name: claimer.name,
        queue,
        claims: claimer.not_noted.take(),
        jobs: jobs as u64,
        now,
    };
    if try_to_note(memory, &sighting).is_err() {
        memory.workers().forget_everything();
    }
}

fn try_to_note(memory: &mut Locked, sighting: &Sighting) -> Step<()> {
    let name_queue = |name: &mut Name<QUEUE_NAME>| {
        queues::with_name(sighting.queue, |known| name.set(known.as_bytes()));
    };
    if memory.workers().note(sighting, name_queue)? {
        return Ok(());
    }
    if !memory.make_room_for_worker() {
        memory.workers().forget_oldest()?;
    }
    memory.workers().note(sighting, name_queue).map(drop)
}
