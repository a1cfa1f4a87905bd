use super::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000;
/// A time of this century.
const T: u64 = 1_790_000_000 * SECOND;

/// Takes as many units one by one as fit now.
fn take_all(bucket: &mut Bucket, limit: u32, now: u64) -> u64 {
    let mut taken = 0;
    *bucket = bucket.drained(limit, now);
    while bucket.wait_us(limit, 1, now) == 0 {
        *bucket = bucket.filled(1);
        taken += 1;
    }
    taken
}

#[test]
fn a_limit_at_once_and_then_as_it_drains() {
    for limit in [1, 7, 60, 61, 1000] {
        let mut bucket = Bucket::default();
        assert_eq!(take_all(&mut bucket, limit, T), u64::from(limit), "{limit}");
        assert_eq!(take_all(&mut bucket, limit, T), 0, "{limit}, at once");
        let wait = bucket.wait_us(limit, 1, T);
        assert_eq!(wait, 60_000_000_u64.div_ceil(u64::from(limit)), "{limit}");
        assert_eq!(take_all(&mut bucket, limit, T + wait - 1), 0, "{limit}");
        assert_eq!(take_all(&mut bucket, limit, T + wait), 1, "{limit}");
        let hour_later = T + 3600 * SECOND;
        let taken = take_all(&mut bucket, limit, hour_later);
        assert_eq!(taken, u64::from(limit), "{limit}, an hour later");
    }
}

#[test]
fn a_limit_that_changes_finds_what_was_used() {
    let used = Bucket::default().drained(100, T).filled(80);
    assert_eq!(used.remaining(100), 20);
    assert_eq!(used.remaining(200), 120, "raised");
    assert_eq!(used.remaining(50), 0, "lowered");
    assert_eq!(used.wait_us(50, 1, T), 31 * 60_000_000 / 50, "lowered");
}

#[test]
fn a_clock_that_was_set_back_locks_nobody_out() {
    let full = Bucket::default().drained(60, T).filled(60);
    let earlier = full.drained(60, T - 3600 * SECOND);
    assert_eq!(earlier.remaining(60), 0);
    let later = earlier.drained(60, T - 3599 * SECOND);
    assert_eq!(later.remaining(60), 1);
}

#[test]
fn readings_of_the_clock_that_come_late_drain_nothing_twice() {
    let full = Bucket::default().drained(60, T).filled(60);
    let mut bucket = full.drained(60, T + SECOND);
    for _ in 0..1000 {
        bucket = bucket.drained(60, T + SECOND / 2).drained(60, T + SECOND);
    }
    assert_eq!(bucket.remaining(60), 1, "a second's worth");
    assert_eq!(bucket.wait_us(60, 2, T + SECOND), SECOND);
    assert_eq!(bucket.wait_us(60, 2, T), 2 * SECOND, "by a clock behind");
    assert_eq!(bucket.reset_us(60, T), 60 * SECOND, "by a clock behind");
}

#[test]
fn a_reading_is_behind_by_a_second_at_most() {
    let full = Bucket::default().drained(60, T).filled(60);
    let cases = [
        ("at once", 0, 60 * SECOND),
        ("a second behind", SKEW_US, 60 * SECOND + SKEW_US),
        ("no moment of this clock", SKEW_US + 1, 60 * SECOND),
    ];
    for (case, behind, reset_us) in cases {
        let now = T - behind;
        assert_eq!(full.drained(60, now).reset_us(60, now), reset_us, "{case}");
    }
}

#[test]
fn shares_are_settled() {
    const LIMIT: u32 = 60;
    let (bucket, share) = Bucket::default().drained(LIMIT, T).filled(5).with_share(20);
    // (case, when, what came meanwhile, used, what is left then)
    let cases = [
        ("as estimated", 0, 0, 20, 35),
        ("less", 0, 0, 1, 54),
        ("nothing", 0, 0, 0, 55),
        ("more", 0, 0, 90, 0),
        ("others came meanwhile", 0, 10, 0, 45),
        ("some of it has drained", 10, 0, 12, 53),
        ("more of it has drained than is given back", 20, 0, 0, 60),
        ("all has drained, and others came", 25, 40, 0, 20),
        ("all has drained, and it was more", 25, 40, 30, 10),
    ];
    for (case, seconds, others, used, left) in cases {
        let now = T + seconds * SECOND;
        let bucket = bucket.drained(LIMIT, now).filled(others);
        let settled = bucket.caught_up(now).settled(share, used);
        assert_eq!(settled.remaining(LIMIT), left, "{case}");
    }
}

#[test]
fn who_settles_drains_at_the_limit_that_holds() {
    let full = Bucket::default().drained(60_000, T).filled(60_000);
    let lowered = full.drained(60, T);
    let later = lowered.caught_up(T + SECOND);
    assert_eq!(later, lowered.drained(60, T + SECOND));
    assert_eq!(Bucket::default().caught_up(T).remaining(1), 1);
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// The algorithm's promise, for requests of any size at any time: in every interval no more
    /// than a limit and what drained in the interval.
    #[test]
    fn no_interval_sees_more_than_it_may(
        limit in 1u32..1000,
        steps in proptest::collection::vec((0u64..5_000_000, 1u64..50), 1..200),
    ) {
        let mut bucket = Bucket::default();
        let mut now = T;
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        for (pause, cost) in steps {
            now += pause;
            let cost = cost.min(u64::from(limit));
            bucket = bucket.drained(limit, now);
            let wait = bucket.wait_us(limit, cost, now);
            if wait == 0 {
                bucket = bucket.filled(cost);
                admitted.push((now, cost));
            } else {
                prop_assert_eq!(bucket.drained(limit, now + wait).wait_us(limit, cost, now + wait), 0);
                prop_assert!(bucket.drained(limit, now + wait - 1).wait_us(limit, cost, now + wait - 1) > 0);
            }
        }
        for (i, (start, _)) in admitted.iter().enumerate() {
            let mut sum = 0;
            for (at, cost) in &admitted[i..] {
                sum += cost;
                let drained = (at - start) * u64::from(limit);
                prop_assert!(sum * UNIT <= u64::from(limit) * UNIT + drained);
            }
        }
    }

    #[test]
    fn what_is_taken_back_leaves_as_it_was(limit in 1u32..1_000_000, before in 0u64..1000, cost in 0u64..10_000) {
        let bucket = Bucket::default().drained(limit, T).filled(before);
        prop_assert_eq!(bucket.filled(cost).refunded(cost), bucket);
        let (with, share) = bucket.with_share(cost);
        prop_assert_eq!(with.settled(share, 0), bucket);
    }

    #[test]
    fn nothing_panics(limit in any::<u32>(), bytes in any::<[u8; 24]>(), now in any::<u64>(), cost in any::<u64>(), used in any::<u64>()) {
        let read = Bucket::decode(&mut RecordReader(&bytes)).unwrap();
        let mut written = Vec::new();
        read.encode(&mut written);
        prop_assert_eq!(written, bytes);
        let bucket = read.caught_up(now).drained(limit, now);
        let _ = (bucket.wait_us(limit, cost, now), bucket.remaining(limit), bucket.reset_us(limit, now));
        let (bucket, share) = bucket.with_share(cost);
        let _ = bucket.caught_up(now).settled(share, used);
    }
}
