//! How much memory lanes and gates take, from the sizes of the arrays.

use turnstile_scheduler::{Capacity, Entry, Gate, Meter, Reservation, Share};

const LANES: usize = 1_000_000;
const LINK: usize = size_of::<u32>();

pub fn print() {
    // An array has as many buckets as the power of two above its slots: one or two a slot.
    println!(
        "bytes an entry (a lane, or a node of a gate in a queue): {}",
        size_of::<Entry>()
    );
    println!(
        "bytes a gate, and while it has a rate or a pause: {}, {}",
        size_of::<Gate>(),
        clockwork()
    );
    println!(
        "bytes a reservation (one a job claimed in an open transaction): {}",
        size_of::<Reservation>()
    );
    let entry = size_of::<Entry>() + LINK;
    let gate = size_of::<Gate>() + LINK;
    for (what, own_gates) in [
        ("gates all shared", 0),
        ("one gate of its own", 1),
        ("two gates of its own", 2),
    ] {
        println!(
            "bytes a lane in use, {what}: {}",
            entry + own_gates * (entry + gate)
        );
    }
    println!(
        "bytes of address space a lane at {LANES} lanes, touched only as needed: {}",
        reserved(LANES) / LANES
    );
}

fn clockwork() -> usize {
    size_of::<Meter>() + LINK
}

fn reserved(lanes: usize) -> usize {
    let capacity = Capacity::for_lanes(lanes);
    let buckets = capacity.entry_buckets()
        + capacity.gate_buckets()
        + capacity.share_buckets()
        + capacity.reservation_buckets();
    capacity.entries * size_of::<Entry>()
        + capacity.gates * (size_of::<Gate>() + clockwork())
        + capacity.shares * size_of::<Share>()
        + capacity.reservations * size_of::<Reservation>()
        + buckets * LINK
}
