//! Lanes are found in the tables by group: those of a queue are one range of groups, in the order of the tables.

use turnstile_scheduler::{EVERY_QUEUE, LaneSpec, group_range_of_queue};

const KEYS: [u64; 8] = [
    1,
    0xffff_ffff,
    0x1_0000_0000,
    0x38bc_ccbd_5d49_4c29,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xbb47_ab9b_09f2_4b28,
    u64::MAX,
];

fn group(queue: u64, tenant: u64) -> i64 {
    let lane = LaneSpec {
        queue,
        tenant,
        ..LaneSpec::default()
    };
    lane.group().cast_signed()
}

#[test]
fn all_lanes_of_a_queue_are_in_its_range() {
    for queue in KEYS {
        let range = group_range_of_queue(queue);
        assert_eq!(*range.start(), group(queue, 0));
        for tenant in KEYS {
            assert!(range.contains(&group(queue, tenant)), "{queue} {tenant}");
            assert!(group_range_of_queue(EVERY_QUEUE).contains(&group(queue, tenant)));
        }
    }
}

#[test]
fn queues_whose_keys_begin_differently_share_no_group() {
    for queue in KEYS {
        for other in KEYS.into_iter().filter(|other| other >> 32 != queue >> 32) {
            for tenant in KEYS {
                let found = group(other, tenant);
                assert!(
                    !group_range_of_queue(queue).contains(&found),
                    "{queue} {other}"
                );
            }
        }
    }
}

#[test]
fn a_group_follows_from_the_queue_and_the_tenant_alone() {
    let lane = LaneSpec {
        queue: KEYS[3],
        tenant: KEYS[6],
        ..LaneSpec::default()
    };
    let other = LaneSpec {
        lane: 1,
        account: 2,
        session: 3,
        concurrency: 4,
        unique: 5,
        priority: 6,
        ..lane
    };
    assert_eq!(lane.group(), other.group());
    assert_eq!(lane.group(), 0x38bc_ccbd_09f2_4b28);
    assert_ne!(lane.group(), group(lane.queue, 0).cast_unsigned());
}
