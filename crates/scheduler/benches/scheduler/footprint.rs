//! How much memory lanes and gates take, from the sizes of the arrays and from how many of their slots a load uses.

use turnstile_scheduler::{Capacity, Entry, Gate, Lane, Meter, Node, Reservation, Share};

const LANES: usize = 1_000_000;
const LINK: usize = size_of::<u32>();

pub fn print() {
    println!("bytes a lane: {}", lane());
    println!("bytes a node of a gate in a queue: {}", node());
    println!(
        "bytes a gate, and more while it has a rate, a pause or an ageing queue: {}, {}",
        size_of::<Gate>(),
        clockwork()
    );
    println!(
        "bytes a reservation (one a job claimed in an open transaction): {}",
        size_of::<Reservation>()
    );
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

fn clockwork() -> usize {
    size_of::<Meter>() + LINK
}

/// The share of a lane in the indexes, all of which are touched, however few gates there are.
fn index() -> usize {
    let capacity = Capacity::for_lanes(LANES);
    let buckets = capacity.lane_buckets() + capacity.node_buckets() + capacity.gate_buckets();
    (buckets * LINK).div_ceil(LANES)
}

fn reserved(lanes: usize) -> usize {
    let capacity = Capacity::for_lanes(lanes);
    let buckets = capacity.lane_buckets()
        + capacity.node_buckets()
        + capacity.gate_buckets()
        + capacity.meter_buckets()
        + capacity.share_buckets()
        + capacity.reservation_buckets();
    capacity.entries() * size_of::<Entry>()
        + capacity.lane_slots() * size_of::<Lane>()
        + capacity.nodes * size_of::<Node>()
        + capacity.gates * (size_of::<Gate>() + clockwork())
        + capacity.shares * size_of::<Share>()
        + capacity.reservations * size_of::<Reservation>()
        + buckets * LINK
}
