use proptest::prelude::*;

use super::*;
use crate::limits::lease::LEASE_MS;
use crate::limits::{SubjectKind, terms};

const SECOND: u64 = 1_000_000;
/// Noon of a Sunday, UTC.
const NOON: Now = Now::both(1_795_348_800 * SECOND);
const ME: u64 = 7;

fn amount(text: &str) -> Amount {
    Amount::parse(text).unwrap()
}

fn limits(requests: u32, input: u32, output: u32, slots: u32, per_day: &str) -> Limits {
    let some = |limit| (limit > 0).then_some(limit);
    let mut limits = Limits::default();
    limits.set_per_minute(Rate::Requests, some(requests));
    limits.set_per_minute(Rate::InputTokens, some(input));
    limits.set_per_minute(Rate::OutputTokens, some(output));
    limits.concurrent_requests = some(slots);
    limits.budget.per_day = (!per_day.is_empty()).then(|| amount(per_day));
    limits
}

fn key(limits: Limits) -> Subject {
    Subject::new(SubjectKind::Key, "k", limits)
}

fn tokens(input: u64, output: u64) -> Estimate {
    Estimate {
        input,
        output,
        ..Estimate::default()
    }
}

fn slots(slots: u32) -> Held {
    Held {
        slots,
        ..Held::NOTHING
    }
}

fn left(counters: &Counters, limits: &Limits) -> [Option<u64>; 3] {
    let figures = counters.figures(&key(*limits), NOON);
    [
        figures.requests,
        figures.input_tokens,
        figures.output_tokens,
    ]
    .map(|gauge| gauge.map(|gauge| gauge.remaining))
}

/// Counters of which everything is used.
fn full(limits: &Limits) -> Counters {
    let mut counters = Counters::default();
    counters.advance(limits, NOON);
    let mut estimate = tokens(u64::MAX, u64::MAX);
    for _ in 0..limits.per_minute(Rate::Requests).unwrap_or(1) {
        let held = slots(limits.concurrent_requests.unwrap_or_default());
        let _ = counters.reserve(limits, estimate, (ME, held), NOON);
        estimate = Estimate::default();
    }
    counters.charge(amount("5"));
    counters
}

fn known(used: Option<u64>) -> Count {
    used.map_or(Count::AtLeast(0), Count::Exactly)
}

#[test]
fn which_limit_keeps_a_request_out() {
    let used = full(&limits(2, 100, 100, 3, "5"));
    let budget = Limit::Budget(Window::Day);
    let cases = [
        ("nothing", limits(0, 0, 0, 0, ""), 3, None),
        (
            "requests",
            limits(2, 0, 0, 0, ""),
            3,
            Some((Limit::Rate(Rate::Requests), 30 * SECOND)),
        ),
        (
            "more requests may come now",
            limits(3, 0, 0, 0, ""),
            3,
            None,
        ),
        (
            "input",
            limits(0, 100, 0, 0, ""),
            3,
            Some((Limit::Rate(Rate::InputTokens), 6 * SECOND)),
        ),
        (
            "output",
            limits(0, 0, 100, 0, ""),
            3,
            Some((Limit::Rate(Rate::OutputTokens), 6 * SECOND)),
        ),
        (
            "slots",
            limits(0, 0, 0, 3, ""),
            3,
            Some((Limit::Concurrency, SECOND)),
        ),
        ("a slot is free", limits(0, 0, 0, 3, ""), 2, None),
        ("a higher budget", limits(0, 0, 0, 0, "5.01"), 3, None),
        (
            "the budget",
            limits(0, 0, 0, 0, "5"),
            3,
            Some((budget, 43_200 * SECOND)),
        ),
        (
            "all",
            limits(2, 100, 100, 3, "5"),
            3,
            Some((budget, 43_200 * SECOND)),
        ),
        (
            "no slot, and a rate with room",
            limits(60, 0, 0, 1, ""),
            3,
            Some((Limit::Concurrency, SECOND)),
        ),
    ];
    for (case, limits, held, want) in cases {
        let violation = used.violation(&key(limits), tokens(10, 10), (ME, slots(held)), NOON);
        assert_eq!(violation.map(|v| (v.limit, v.wait_us)), want, "{case}");
    }
    let three = key(limits(0, 0, 0, 3, ""));
    let other = used.violation(&three, tokens(0, 0), (8, slots(0)), NOON);
    assert!(other.is_some(), "another VM finds the same");
    let another = key(limits(0, 0, 0, 4, ""));
    assert!(
        used.violation(&another, tokens(0, 0), (8, slots(0)), NOON)
            .is_none()
    );
    assert!(
        used.violation(&another, tokens(0, 0), (8, slots(1)), NOON)
            .is_some()
    );
}

#[test]
fn what_goes_on_by_itself() {
    let limits = limits(2, 120, 0, 1, "5");
    let tomorrow = 43_200 * SECOND;
    // (case, later by, left, slots, spent today)
    let cases = [
        ("now", 0, [0, 0], 1, "5"),
        ("half a minute", 30 * SECOND - 1, [0, 59], 1, "5"),
        (
            "half a minute and a lease",
            LEASE_MS * 1000,
            [1, 60],
            0,
            "5",
        ),
        ("a minute", 60 * SECOND, [2, 120], 0, "5"),
        ("until midnight", tomorrow - 1, [2, 120], 0, "5"),
        ("tomorrow", tomorrow, [2, 120], 0, "0"),
    ];
    for (case, later, [requests, input], held, spent) in cases {
        let mut counters = full(&limits);
        counters.advance(&limits, NOON + later);
        let want = [Some(requests), Some(input), None];
        assert_eq!(left(&counters, &limits), want, "{case}");
        assert_eq!(counters.held_by_others(0), slots(held), "{case}");
        assert_eq!(counters.spending().of(Window::Day), amount(spent), "{case}");
        let mut same = full(&limits);
        same.catch_up(&limits, NOON + later);
        assert_eq!(left(&same, &limits), want, "{case}, settled");
        assert_eq!(same.held_by_others(0), slots(held), "{case}, settled");
        assert_eq!(same.spending(), counters.spending(), "{case}, settled");
    }
    let unlimited = Limits::default();
    let mut counters = full(&limits);
    counters.advance(&unlimited, NOON + 30 * SECOND);
    counters.advance(&limits, NOON + 30 * SECOND);
    assert_eq!(left(&counters, &limits)[1], Some(60), "unlimited meanwhile");
    assert_eq!(counters.spending().of(Window::Day), amount("5"));
}

#[test]
fn what_is_reserved_settled_and_refunded() {
    let limits = limits(10, 100, 50, 4, "5");
    let mut before = Counters::default();
    before.advance(&limits, NOON);
    let mut entered = before.clone();
    let reserved = entered.reserve(&limits, tokens(30, 1_000), (ME, slots(1)), NOON);
    assert_eq!(left(&entered, &limits), [Some(9), Some(70), Some(0)], "cut");
    assert_eq!(entered.held_by_others(0), slots(1));
    let mut withdrawn = entered.clone();
    withdrawn.refund(reserved);
    withdrawn.hold((ME, Held::NOTHING), NOON);
    assert_eq!(withdrawn, before, "nothing was forwarded");
    let cases = [
        ("nobody knows", [None, None], [Some(9), Some(70), Some(0)]),
        (
            "nothing",
            [Some(0), Some(0)],
            [Some(9), Some(100), Some(50)],
        ),
        ("less", [Some(29), Some(1)], [Some(9), Some(71), Some(49)]),
        ("more", [Some(99), Some(51)], [Some(9), Some(1), Some(0)]),
    ];
    for (case, used, want) in cases {
        let mut counters = entered.clone();
        counters.settle(&limits, reserved, used.map(known));
        assert_eq!(left(&counters, &limits), want, "{case}");
    }
    // One that came when there was no such limit has put nothing in, and nothing comes of it.
    let free = Limits::default();
    let mut counters = before.clone();
    let reserved = counters.reserve(&free, tokens(30, 30), (ME, slots(1)), NOON);
    assert_eq!(counters, before);
    counters.settle(&free, reserved, [Some(99), Some(99)].map(known));
    assert_eq!(counters, before);
}

#[test]
fn a_record_of_another_length_is_none() {
    let mut counters = full(&limits(2, 100, 100, 3, "5"));
    counters.hold((8, slots(1)), NOON);
    let bytes = counters.encode();
    assert_eq!(Counters::decode(&bytes), Some(counters));
    let lease = 36;
    for cut in 0..bytes.len() {
        let whole = cut == bytes.len() - lease || cut == bytes.len() - 2 * lease;
        assert_eq!(Counters::decode(&bytes[..cut]).is_some(), whole, "{cut}");
    }
}

/// Any counters that a record can hold.
fn any_counters() -> impl Strategy<Value = Counters> {
    let rest = proptest::collection::vec(any::<[u8; 36]>(), 0..4);
    (any::<[[u8; 32]; 3]>(), any::<[u8; 16]>(), rest).prop_map(|(head, more, leases)| {
        let bytes = [head.concat(), more.to_vec(), leases.concat()].concat();
        Counters::decode(&bytes).unwrap()
    })
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    #[test]
    fn counters_survive_the_round_trip(counters in any_counters()) {
        prop_assert_eq!(Counters::decode(&counters.encode()), Some(counters));
    }

    #[test]
    fn no_record_and_no_clock_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        counters in any_counters(),
        limits in terms::tests::limits(),
        wall_us in any::<u64>(),
        steady_us in any::<u64>(),
        tokens in any::<[u64; 2]>(),
        used in any::<[Option<u64>; 2]>(),
        charge in any::<[u8; 16]>(),
        held in (any::<u32>(), any::<[u8; 16]>()),
    ) {
        let _ = Counters::decode(&bytes);
        let mut counters = counters;
        let now = Now { wall_us, steady_us };
        let [charge, reserved] = [charge, held.1].map(Amount::from_bytes);
        let estimate = Estimate { input: tokens[0], output: tokens[1], charge, ..Estimate::default() };
        let held = Held { slots: held.0, reserved };
        counters.advance(&limits, now);
        let _ = counters.violation(&key(limits), estimate, (ME, held), now);
        let reserved = counters.reserve(&limits, estimate, (ME, held), now);
        counters.catch_up(&limits, Now { steady_us: steady_us.wrapping_add(tokens[0]), ..now });
        let _ = counters.figures(&key(limits), now);
        let mut other = counters.clone();
        other.refund(reserved);
        counters.settle(&limits, reserved, used.map(known));
        counters.charge(Amount::from_bytes([u8::MAX; 16]));
        prop_assert_eq!(Counters::decode(&counters.encode()), Some(counters));
    }

    /// The wait that a client is given is exact: after it the request passes, a microsecond before it
    /// does not.
    #[test]
    fn the_wait_that_is_told_is_true(
        per_minute in (1u32..100, 1u32..10_000, 1u32..10_000),
        came in proptest::collection::vec((0u64..2_000, 0u64..2_000, 0u64..3 * SECOND, 0u64..5_000), 1..30),
        next in (0u64..20_000, 0u64..20_000),
        behind in 0u64..1000,
    ) {
        let limits = limits(per_minute.0, per_minute.1, per_minute.2, 0, "");
        let mut counters = Counters::default();
        let mut now = NOON;
        for (input, output, pause, used) in came {
            now += pause;
            counters.advance(&limits, now);
            let reserved = counters.reserve(&limits, tokens(input, output), (ME, Held::NOTHING), now);
            counters.settle(&limits, reserved, [Some(used), None].map(known));
        }
        // By a clock that was read a little before another VM's.
        now = now - behind;
        counters.advance(&limits, now);
        let next = tokens(next.0, next.1);
        if let Some(violation) = counters.violation(&key(limits), next, (ME, Held::NOTHING), now) {
            let at = |at: Now| {
                let mut then = counters.clone();
                then.advance(&limits, at);
                then.violation(&key(limits), next, (ME, Held::NOTHING), at)
            };
            prop_assert_eq!(at(now + violation.wait_us), None);
            let early = at(now + violation.wait_us - 1).map(|v| (v.limit, v.wait_us));
            prop_assert_eq!(early, Some((violation.limit, 1)));
        }
    }
}
