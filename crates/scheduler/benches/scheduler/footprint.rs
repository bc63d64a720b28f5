//! How much memory lanes and gates take, from the sizes of the arrays and from how many of their slots a load uses.

use turnstile_scheduler::probes::capacity_for;
use turnstile_scheduler::{
    Array, DueQueue, Entry, Gate, Lane, Lease, Meter, Node, Reservation, Share,
};

const LANES: usize = 1_000_000;
const LINK: usize = size_of::<u32>();

pub fn print() {
    println!("bytes a lane: {}", lane());
    println!("bytes a node of a gate in a queue: {}", node());
    println!(
        "bytes a gate, and more while it has a rate, a pause or a queue whose jobs age: {}, {}",
        size_of::<Gate>(),
        meter()
    );
    println!(
        "bytes a reservation (one a job claimed in an open transaction): {}",
        size_of::<Reservation>()
    );
    println!("bytes a run: {}", size_of::<Lease>() + LINK);
    for (what, own_gates) in [
        ("gates all shared", 0),
        ("one gate of its own", 1),
        ("two gates of its own", 2),
    ] {
        let used = lane() + own_gates * (node() + size_of::<Gate>());
        println!("bytes a lane in use, {what}: {}", used + index());
    }
    println!(
        "bytes of address space a lane at {LANES} lanes, touched only as needed: {}",
        reserved(LANES) / LANES
    );
}

fn lane() -> usize {
    size_of::<Entry>() + size_of::<Lane>()
}

fn node() -> usize {
    size_of::<Entry>() + size_of::<Node>()
}

fn meter() -> usize {
    size_of::<Meter>() + LINK
}

/// The share of a lane in the indexes.
fn index() -> usize {
    let capacity = capacity_for(LANES);
    let of_lanes = [Array::Lanes, Array::Nodes, Array::Gates];
    let buckets: usize = of_lanes.map(|array| capacity.buckets(array)).iter().sum();
    (buckets * LINK).div_ceil(LANES)
}

fn reserved(lanes: usize) -> usize {
    let capacity = capacity_for(lanes);
    let buckets: usize = Array::ALL.map(|array| capacity.buckets(array)).iter().sum();
    capacity.lanes * lane()
        + capacity.nodes * node()
        + capacity.gates * size_of::<Gate>()
        + capacity.meters * meter()
        + capacity.shares * size_of::<Share>()
        + capacity.due * (size_of::<DueQueue>() + LINK)
        + capacity.leases * size_of::<Lease>()
        + capacity.reservations * size_of::<Reservation>()
        + buckets * LINK
}
