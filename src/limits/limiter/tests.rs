//! Rejection of requests by limits, their cost, and the remainder when they are over.

mod fleet;
mod races;
mod reserving;

use super::*;
use crate::limits::lease::{LEASE_MS, RENEWAL_MS};
use crate::limits::{Limit, Limits, Rate};
use crate::shared_data::fake::FakeSharedData;

const SECOND: u64 = 1_000_000;
/// Noon of a Sunday, UTC.
const NOON: Now = Now::both(1_795_348_800 * SECOND);
const DAY: u64 = 86_400 * SECOND;

fn amount(text: &str) -> Amount {
    Amount::parse(text).unwrap()
}

fn limits(requests: u32, input: u32, output: u32, slots: u32) -> Limits {
    let some = |limit| (limit > 0).then_some(limit);
    let mut limits = Limits::default();
    limits.set_per_minute(Rate::Requests, some(requests));
    limits.set_per_minute(Rate::InputTokens, some(input));
    limits.set_per_minute(Rate::OutputTokens, some(output));
    limits.concurrent_requests = some(slots);
    limits
}

fn budget(per_day: &str, per_month: &str) -> Limits {
    let some = |text: &str| (!text.is_empty()).then(|| amount(text));
    let mut limits = Limits::default();
    limits.budget.per_day = some(per_day);
    limits.budget.per_month = some(per_month);
    limits
}

fn key(limits: Limits) -> Subject {
    Subject::new(SubjectKind::Key, "same", limits)
}

fn group(limits: Limits) -> Subject {
    Subject::new(SubjectKind::Group, "same", limits)
}

fn tokens(input: u64, output: u64) -> Estimate {
    Estimate {
        input,
        output,
        ..Estimate::default()
    }
}

fn used(input: u64, output: u64, charge: &str) -> Consumption {
    Consumption {
        input: Count::Exactly(input),
        output: Count::Exactly(output),
        charge: (!charge.is_empty()).then(|| amount(charge)),
    }
}

const NOTHING_KNOWN: Consumption = Consumption {
    input: Count::AtLeast(0),
    output: Count::AtLeast(0),
    charge: None,
};

fn violated(scope: SubjectKind, limit: Limit, wait_us: u64) -> AdmitError {
    AdmitError::Violation(LimitViolation {
        scope,
        limit,
        wait_us,
    })
}

/// Requests, input tokens and output tokens that are left.
fn left(subjects: &[Subject], shared: &impl SharedData, now: Now) -> [Option<u64>; 3] {
    let figures = Limiter::new(0).figures(subjects, shared, now);
    [
        figures.requests,
        figures.input_tokens,
        figures.output_tokens,
    ]
    .map(|gauge| gauge.map(|gauge| gauge.remaining))
}

fn slots(subject: &Subject, shared: &impl SharedData, now: Now) -> u64 {
    let counters = load(subject, shared, now).counters;
    counters.held_by_others(0).slots.into()
}

#[test]
fn each_limit_keeps_out_in_each_scope() {
    let plenty = limits(1000, 1_000_000, 1_000_000, 1000);
    let mut both = limits(1, 0, 0, 0);
    both.budget = budget("1", "").budget;
    // (case, limits, what came before and its charge if it is over, what comes, the limit, the wait)
    type Earlier = (Estimate, Option<&'static str>);
    type Case<'a> = (&'a str, Limits, &'a [Earlier], Estimate, Limit, u64);
    let cases: [Case<'_>; 9] = [
        (
            "requests",
            limits(2, 0, 0, 0),
            &[(tokens(9, 9), Some("")), (tokens(9, 9), None)],
            tokens(0, 0),
            Limit::Rate(Rate::Requests),
            30 * SECOND,
        ),
        (
            "input tokens",
            limits(0, 100, 0, 0),
            &[(tokens(60, 900), None), (tokens(40, 900), None)],
            tokens(1, 900),
            Limit::Rate(Rate::InputTokens),
            600_000,
        ),
        (
            "output tokens",
            limits(0, 0, 100, 0),
            &[(tokens(900, 99), None)],
            tokens(900, 2),
            Limit::Rate(Rate::OutputTokens),
            600_000,
        ),
        (
            "more tokens than there ever are",
            limits(0, 100, 0, 0),
            &[(tokens(1, 0), None)],
            tokens(1_000_000, 0),
            Limit::Rate(Rate::InputTokens),
            600_000,
        ),
        (
            "the longer wait of two",
            limits(1, 100, 0, 0),
            &[(tokens(100, 0), None)],
            tokens(100, 0),
            Limit::Rate(Rate::InputTokens),
            60 * SECOND,
        ),
        (
            "concurrent requests",
            limits(0, 0, 0, 1),
            &[(tokens(0, 0), Some("")), (tokens(0, 0), None)],
            tokens(0, 0),
            Limit::Concurrency,
            SECOND,
        ),
        (
            "the budget of a day",
            budget("1.5", "2"),
            &[(tokens(0, 0), Some("0.5")), (tokens(0, 0), Some("1"))],
            tokens(0, 0),
            Limit::Budget(Window::Day),
            DAY / 2,
        ),
        (
            "the budget of a month",
            budget("1.5", "1.50000000000000000001"),
            &[(tokens(0, 0), Some("1.50000000000000000001"))],
            tokens(0, 0),
            Limit::Budget(Window::Month),
            8 * DAY + DAY / 2,
        ),
        (
            "a budget is named before a rate",
            both,
            &[(tokens(0, 0), Some("1"))],
            tokens(0, 0),
            Limit::Budget(Window::Day),
            DAY / 2,
        ),
    ];
    for (case, tight, before, estimate, limit, wait) in cases {
        for scope in [SubjectKind::Key, SubjectKind::Group] {
            let subjects = if scope == SubjectKind::Key {
                [key(tight), group(plenty)]
            } else {
                [key(plenty), group(tight)]
            };
            let shared = FakeSharedData::default();
            let limiter = Limiter::new(1);
            let mut under_way = Vec::new();
            for (estimate, charge) in before {
                let reservation = limiter.admit(&subjects, *estimate, &shared, NOON);
                let reservation = reservation
                    .unwrap_or_else(|rejected| panic!("{case}, {scope:?}: {rejected:?}"));
                match charge {
                    Some(charge) => {
                        let used = used(estimate.input, estimate.output, charge);
                        let settled = limiter.settle(reservation, used, &shared, NOON);
                        assert!(!settled.lost, "{case}, {scope:?}");
                    }
                    None => under_way.push(reservation),
                }
            }
            let before = shared.values.borrow().clone();
            let got = limiter.admit(&subjects, estimate, &shared, NOON);
            assert_eq!(got.unwrap_err(), violated(scope, limit, wait), "{case}");
            assert_eq!(*shared.values.borrow(), before, "{case}, {scope:?}: free");
            for reservation in under_way {
                let _ = limiter.settle(reservation, NOTHING_KNOWN, &shared, NOON);
            }
            let after = limiter.admit(&subjects, estimate, &shared, NOON + wait);
            assert!(after.is_ok(), "{case}, {scope:?}, after the wait");
        }
    }
}

#[test]
fn what_is_used_takes_the_place_of_the_estimate() {
    let subjects = [
        key(limits(10, 1000, 1000, 5)),
        group(limits(20, 3000, 2000, 0)),
    ];
    let none_output = Consumption {
        output: Count::AtLeast(0),
        ..used(50, 0, "")
    };
    // (case, used, left of the key's limits, the same for the group)
    let cases = [
        ("as estimated", used(100, 200, ""), [900, 800], [2900, 1800]),
        ("less", used(10, 20, ""), [990, 980], [2990, 1980]),
        ("nothing", used(0, 0, ""), [1000, 1000], [3000, 2000]),
        ("more", used(700, 1100, ""), [300, 0], [2300, 900]),
        ("nobody knows", NOTHING_KNOWN, [900, 800], [2900, 1800]),
        ("one is known", none_output, [950, 800], [2950, 1800]),
    ];
    for (case, used, of_key, of_group) in cases {
        let shared = FakeSharedData::default();
        let limiter = Limiter::new(1);
        let estimate = tokens(100, 200);
        let reservation = limiter.admit(&subjects, estimate, &shared, NOON).unwrap();
        let [own, all] = [&subjects[..1], &subjects[1..]];
        assert_eq!(
            left(own, &shared, NOON),
            [Some(9), Some(900), Some(800)],
            "{case}"
        );
        assert_eq!(slots(&subjects[0], &shared, NOON), 1, "{case}");
        let settled = limiter.settle(reservation, used, &shared, NOON);
        assert_eq!(settled, Settlement::default(), "{case}");
        for (subject, requests, [input, output]) in [(own, 9, of_key), (all, 19, of_group)] {
            let want = [Some(requests), Some(input), Some(output)];
            assert_eq!(left(subject, &shared, NOON), want, "{case}");
        }
        let tighter = left(&subjects, &shared, NOON);
        assert_eq!(tighter, [9, of_key[0], of_key[1]].map(Some), "{case}");
        assert_eq!(slots(&subjects[0], &shared, NOON), 0, "{case}");
    }
}

#[test]
fn charges_add_up_and_days_pass() {
    let subjects = [key(budget("10", "")), group(budget("", "100"))];
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let spend = |charge: &str, now: Now| {
        let reservation = limiter.admit(&subjects, tokens(1, 1), &shared, now);
        let settled = limiter.settle(reservation.unwrap(), used(1, 1, charge), &shared, now);
        let shown = |spent: &BudgetSpent| (spent.scope, spent.in_day, spent.in_month);
        let spent: Vec<_> = settled.spent.iter().map(shown).collect();
        let [of_key, of_group] = spent[..] else {
            panic!("{spent:?}");
        };
        assert_eq!(
            (of_key.0, of_group.0),
            (SubjectKind::Key, SubjectKind::Group)
        );
        assert_eq!((of_key.1, of_key.2), (of_group.1, of_group.2));
        (of_key.1.to_string(), of_key.2.to_string())
    };
    let pair = |day: &str, month: &str| (day.to_owned(), month.to_owned());
    let tiny = "0.00000000000000000001";
    assert_eq!(spend("1.5", NOON), pair("1.5", "1.5"));
    assert_eq!(spend("", NOON), pair("1.5", "1.5"), "no charge");
    assert_eq!(
        spend(tiny, NOON),
        pair("1.50000000000000000001", "1.50000000000000000001")
    );
    let next = NOON + DAY / 2;
    assert_eq!(spend("2", next), pair("2", "3.50000000000000000001"));
    assert_eq!(spend("1", NOON + 9 * DAY), pair("1", "1"), "December");
}

#[test]
fn what_a_document_knows_to_be_spent_counts() {
    let mut told = budget("10", "");
    told.budget.spent = Some(crate::limits::budget::SpentBy {
        at: 1_795_348_800,
        in_day: amount("9"),
        in_month: amount("90"),
    });
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let mut settled = Settlement::default();
    for charge in ["0.5", "0.5"] {
        let reservation = limiter.admit(&[key(told)], tokens(1, 1), &shared, NOON);
        settled = limiter.settle(reservation.unwrap(), used(1, 1, charge), &shared, NOON);
    }
    assert_eq!(settled.spent[0].in_day, amount("10"));
    assert_eq!(settled.spent[0].in_month, amount("91"));
    let rejected = limiter.admit(&[key(told)], tokens(1, 1), &shared, NOON);
    let day = Limit::Budget(Window::Day);
    assert_eq!(
        rejected.unwrap_err(),
        violated(SubjectKind::Key, day, DAY / 2)
    );
}

#[test]
fn the_hardest_of_several_is_told_and_the_longest_wait() {
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let subjects = [key(limits(1, 0, 0, 0)), group(budget("1", ""))];
    let reservation = limiter.admit(&subjects, tokens(0, 0), &shared, NOON);
    let _ = limiter.settle(reservation.unwrap(), used(0, 0, "1"), &shared, NOON);
    let day = Limit::Budget(Window::Day);
    let rejected = limiter.admit(&subjects, tokens(0, 0), &shared, NOON);
    assert_eq!(
        rejected.unwrap_err(),
        violated(SubjectKind::Group, day, DAY / 2)
    );
    // Just before midnight a minute's limit may take longer than the budget.
    let late = NOON + DAY / 2 - SECOND;
    let shared = FakeSharedData::default();
    let reservation = limiter.admit(&subjects, tokens(0, 0), &shared, late);
    let _ = limiter.settle(reservation.unwrap(), used(0, 0, "1"), &shared, late);
    let rejected = limiter.admit(&subjects, tokens(0, 0), &shared, late);
    assert_eq!(
        rejected.unwrap_err(),
        violated(SubjectKind::Group, day, 60 * SECOND)
    );
    assert!(
        limiter
            .admit(&subjects, tokens(0, 0), &shared, late + 60 * SECOND)
            .is_ok()
    );
}

#[test]
fn a_dead_vm_holds_its_slots_no_longer_than_a_lease() {
    let subject = [key(limits(0, 0, 0, 3))];
    let shared = FakeSharedData::default();
    let admit = |limiter: &Limiter, now| limiter.admit(&subject, tokens(0, 0), &shared, now);
    let (dies, lives) = (Limiter::new(1), Limiter::new(2));
    let lost = [admit(&dies, NOON).unwrap(), admit(&dies, NOON).unwrap()];
    let kept = admit(&lives, NOON).unwrap();
    let mut now = NOON;
    while now + RENEWAL_MS * 1000 < NOON + LEASE_MS * 1000 {
        now += RENEWAL_MS * 1000;
        lives.renew(&shared, now);
        assert!(admit(&lives, now).is_err(), "{now:?}: three are under way");
    }
    let over = NOON + LEASE_MS * 1000;
    assert!(admit(&lives, over - 1000).is_err());
    let others_see = slots(&subject[0], &shared, over);
    assert_eq!(others_see, 1, "that of the living was renewed");
    let regained = [admit(&lives, over).unwrap(), admit(&lives, over).unwrap()];
    assert!(admit(&lives, over).is_err(), "it has one of its own");
    for reservation in regained.into_iter().chain([kept]) {
        let _ = lives.settle(reservation, NOTHING_KNOWN, &shared, over);
    }
    assert_eq!(slots(&subject[0], &shared, over), 0);
    // It was not dead after all, only late: what it gives back it has no more.
    for reservation in lost {
        let _ = dies.settle(reservation, NOTHING_KNOWN, &shared, over);
        assert!(slots(&subject[0], &shared, over) <= 1);
    }
    assert_eq!(slots(&subject[0], &shared, over), 0);
    dies.renew(&shared, over);
    assert_eq!(slots(&subject[0], &shared, over), 0, "nothing is renewed");
}

#[test]
fn slots_are_of_those_requests_that_took_one() {
    let limited = [key(limits(9, 0, 0, 2))];
    let free = [key(limits(9, 0, 0, 0))];
    let admit = |limiter: &Limiter, subjects: &[Subject], shared: &FakeSharedData| {
        limiter.admit(subjects, tokens(0, 0), shared, NOON).unwrap()
    };
    // The limit comes or goes while the first request is under way, and the other ends before it.
    for (case, first, second, held) in [
        ("the limit went", &limited, &free, 1),
        ("the limit came", &free, &limited, 0),
    ] {
        let shared = FakeSharedData::default();
        let limiter = Limiter::new(1);
        let (early, late) = (
            admit(&limiter, first, &shared),
            admit(&limiter, second, &shared),
        );
        let _ = limiter.settle(late, NOTHING_KNOWN, &shared, NOON);
        assert_eq!(slots(&limited[0], &shared, NOON), held, "{case}");
        assert_eq!(u64::from(limiter.held(&limited[0]).slots), held, "{case}");
        let _ = limiter.settle(early, NOTHING_KNOWN, &shared, NOON);
        assert_eq!(slots(&limited[0], &shared, NOON), 0, "{case}");
        assert_eq!(limiter.held(&limited[0]), Held::NOTHING, "{case}");
        let (early, late) = (
            admit(&limiter, first, &shared),
            admit(&limiter, second, &shared),
        );
        let _ = limiter.settle(early, NOTHING_KNOWN, &shared, NOON);
        assert_eq!(slots(&limited[0], &shared, NOON), 1 - held, "{case}");
        assert_eq!(
            u64::from(limiter.held(&limited[0]).slots),
            1 - held,
            "{case}"
        );
        let _ = limiter.settle(late, NOTHING_KNOWN, &shared, NOON);
        assert_eq!(slots(&limited[0], &shared, NOON), 0, "{case}");
    }
}

#[test]
fn changed_limits_go_on_from_what_was_counted() {
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let wide = [key(limits(0, 60_000, 0, 0))];
    let long = limiter.admit(&wide, tokens(100, 0), &shared, NOON).unwrap();
    let reservation = limiter.admit(&wide, tokens(59_900, 0), &shared, NOON);
    let _ = limiter.settle(reservation.unwrap(), NOTHING_KNOWN, &shared, NOON);
    assert_eq!(left(&wide, &shared, NOON), [None, Some(0), None]);
    let raised = [key(limits(0, 90_000, 0, 0))];
    assert_eq!(left(&raised, &shared, NOON), [None, Some(30_000), None]);
    let narrow = [key(limits(0, 60, 0, 0))];
    let rejected = limiter.admit(&narrow, tokens(60, 0), &shared, NOON);
    let rate = Limit::Rate(Rate::InputTokens);
    assert_eq!(
        rejected.unwrap_err(),
        violated(SubjectKind::Key, rate, 60_000 * SECOND),
        "lowered"
    );
    let now = NOON + 60_000 * SECOND;
    let reservation = limiter.admit(&narrow, tokens(60, 0), &shared, now).unwrap();
    // The first one came when the limit was wide. It ends, and nothing drains at its limit.
    let settled = limiter.settle(long, used(100, 0, ""), &shared, now + SECOND);
    assert!(!settled.lost);
    assert_eq!(
        left(&narrow, &shared, now + SECOND),
        [None, Some(1), None],
        "drained at the limit of now"
    );
    let _ = limiter.settle(reservation, used(0, 0, ""), &shared, now + SECOND);
}

#[test]
fn a_request_rejected_after_a_conflict_costs_nothing() {
    let subjects = [key(limits(10, 100, 100, 10)), group(limits(1, 0, 0, 0))];
    let data = FakeSharedData::default();
    let (one, other) = (Limiter::new(1), Limiter::new(2));
    // Between the look at the group and the writing of the key, another VM takes the group's last.
    let overtakes = || {
        let all = &subjects[1..];
        let _ = other.admit(all, tokens(1, 1), &data, NOON).unwrap();
    };
    let shared = InterruptedSharedData(&data, RefCell::new(Some(&overtakes)));
    let rejected = one.admit(&subjects, tokens(10, 10), &shared, NOON);
    let rate = Limit::Rate(Rate::Requests);
    assert_eq!(
        rejected.unwrap_err(),
        violated(SubjectKind::Group, rate, 60 * SECOND)
    );
    let own = left(&subjects[..1], &data, NOON);
    assert_eq!(own, [Some(10), Some(100), Some(100)]);
    assert_eq!(slots(&subjects[0], &data, NOON), 0);
    assert_eq!(one.held(&subjects[0]), Held::NOTHING);
    let written = data.written.borrow();
    assert_eq!(written.len(), 3, "reserved, taken, refunded: {written:?}");
}

/// Shared data in which something happens before the first change.
struct InterruptedSharedData<'a>(&'a FakeSharedData, RefCell<Option<&'a dyn Fn()>>);

impl SharedData for InterruptedSharedData<'_> {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        self.0.get(name)
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        let happens = self.1.borrow_mut().take();
        if let Some(happens) = happens {
            happens();
        }
        self.0.set(name, value, version)
    }
}

/// Shared data that others always change first.
struct AlwaysContendedSharedData<'a>(&'a FakeSharedData);

impl SharedData for AlwaysContendedSharedData<'_> {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        self.0.get(name)
    }

    fn set(&self, _: &str, _: &[u8], _: Option<u32>) -> Result<(), Conflict> {
        Err(Conflict)
    }
}

#[test]
fn conflicts_in_every_round_are_an_error() {
    let subjects = [key(limits(2, 0, 0, 2))];
    let data = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let reservation = limiter.admit(&subjects, tokens(0, 0), &data, NOON).unwrap();
    let rejected = limiter.admit(
        &subjects,
        tokens(0, 0),
        &AlwaysContendedSharedData(&data),
        NOON,
    );
    assert_eq!(rejected.unwrap_err(), AdmitError::Conflict);
    assert_eq!(limiter.held(&subjects[0]).slots, 1);
    let settled = limiter.settle(
        reservation,
        NOTHING_KNOWN,
        &AlwaysContendedSharedData(&data),
        NOON,
    );
    assert!(settled.lost);
    limiter.renew(&data, NOON + 1);
    let over = NOON + LEASE_MS * 1000;
    assert_eq!(slots(&subjects[0], &data, over), 0, "not renewed any more");
}

#[test]
fn a_record_that_is_absent_cleared_or_damaged_counts_from_nothing() {
    let subjects = [key(limits(2, 0, 0, 0))];
    for bytes in [None, Some(&b""[..]), Some(&b"damaged"[..])] {
        let shared = FakeSharedData::default();
        if let Some(bytes) = bytes {
            shared.set(&subjects[0].name, bytes, None).unwrap();
        }
        let limiter = Limiter::new(1);
        for _ in 0..2 {
            let _ = limiter
                .admit(&subjects, tokens(0, 0), &shared, NOON)
                .unwrap();
        }
        let third = limiter.admit(&subjects, tokens(0, 0), &shared, NOON);
        assert!(third.is_err(), "{bytes:?}");
    }
}

#[test]
fn subjects_have_counters_of_their_own() {
    let same = limits(1, 0, 0, 0);
    let subjects = [
        key(same),
        group(same),
        Subject::new(SubjectKind::Key, "other", same),
        Subject::new(SubjectKind::Group, "other", same),
    ];
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    for subject in &subjects {
        let subject = core::slice::from_ref(subject);
        assert!(limiter.admit(subject, tokens(0, 0), &shared, NOON).is_ok());
        assert!(limiter.admit(subject, tokens(0, 0), &shared, NOON).is_err());
    }
}

/// The wall clock may be put anywhere, as long as it is in the same month: nothing drains, no slot is free, and the
/// time that it takes is what it was.
#[test]
fn steps_of_the_wall_clock_count_for_nothing() {
    let cases = [0, 1, -1, 3_600, -3_600, 5 * 86_400, -5 * 86_400];
    for step in cases {
        let shared = FakeSharedData::default();
        let limiter = Limiter::new(1);
        let subject = [key(limits(60, 0, 0, 0))];
        for _ in 0..60 {
            let _ = limiter
                .admit(&subject, tokens(1, 1), &shared, NOON)
                .unwrap();
        }
        let stepped = NOON.stepped(step);
        let rejected = limiter.admit(&subject, tokens(1, 1), &shared, stepped);
        let rate = Limit::Rate(Rate::Requests);
        assert_eq!(
            rejected.unwrap_err(),
            violated(SubjectKind::Key, rate, SECOND),
            "a step by {step} s"
        );
        let later = stepped + SECOND;
        let _ = limiter
            .admit(&subject, tokens(1, 1), &shared, later)
            .unwrap();
        let rejected = limiter.admit(&subject, tokens(1, 1), &shared, later.stepped(-step));
        assert!(rejected.is_err(), "back from a step by {step} s");

        let slots = [group(limits(0, 0, 0, 1))];
        let _ = limiter.admit(&slots, tokens(0, 0), &shared, NOON).unwrap();
        let other = Limiter::new(2);
        let admit = |now| other.admit(&slots, tokens(0, 0), &shared, now);
        assert!(admit(stepped).is_err(), "a step by {step} s frees no slot");
        let over = stepped + LEASE_MS * 1000;
        assert!(admit(over).is_ok(), "a step by {step} s keeps none");
    }
}

/// Budgets go by the calendar, and what clients are told by the time of day.
#[test]
fn the_wall_clock_tells_the_day() {
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let subject = [key(budget("1", ""))];
    let reservation = limiter.admit(&subject, tokens(0, 0), &shared, NOON);
    let _ = limiter.settle(reservation.unwrap(), used(0, 0, "1"), &shared, NOON);
    let tomorrow = NOON.stepped(86_400);
    assert!(
        limiter
            .admit(&subject, tokens(0, 0), &shared, NOON)
            .is_err()
    );
    assert!(
        limiter
            .admit(&subject, tokens(0, 0), &shared, tomorrow)
            .is_ok()
    );
    let figures = limiter.figures(&subject, &shared, tomorrow);
    assert_eq!(figures.at_us, tomorrow.wall_us);
}

/// Shared data that counts what is asked of it: each is a host call.
#[derive(Debug, Default)]
struct CountedSharedData {
    shared: FakeSharedData,
    reads: std::cell::Cell<usize>,
    writes: std::cell::Cell<usize>,
}

impl CountedSharedData {
    /// Reads and writes since this was asked last.
    fn take(&self) -> [usize; 2] {
        [self.reads.take(), self.writes.take()]
    }
}

impl SharedData for CountedSharedData {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        self.reads.set(self.reads.get() + 1);
        self.shared.get(name)
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        self.writes.set(self.writes.get() + 1);
        self.shared.set(name, value, version)
    }
}

#[test]
fn a_request_reads_and_writes_each_counter_once_at_either_end() {
    let rates = limits(9, 0, 0, 0);
    let tokens_too = limits(9, 9_000, 0, 0);
    // (case, subjects, reads and writes when it comes, when its response comes, when it is over)
    let cases = [
        (
            "key and group",
            vec![key(tokens_too), group(tokens_too)],
            [2, 2],
            [2, 2],
        ),
        ("key", vec![key(tokens_too)], [1, 1], [1, 1]),
        (
            "slots",
            vec![key(limits(0, 0, 0, 2)), group(limits(0, 0, 0, 2))],
            [2, 2],
            [2, 2],
        ),
        (
            "budgets",
            vec![key(budget("1", "")), group(budget("", "1"))],
            [2, 2],
            [2, 2],
        ),
        // One request is one, however it ends.
        (
            "requests alone",
            vec![key(rates), group(rates)],
            [2, 2],
            [0, 0],
        ),
        (
            "requests, and slots",
            vec![key(rates), group(limits(0, 0, 0, 2))],
            [2, 2],
            [1, 1],
        ),
    ];
    for (case, subjects, admission, end) in cases {
        let shared = CountedSharedData::default();
        let limiter = Limiter::new(1);
        for round in 0..2 {
            let now = NOON + round * SECOND;
            let reservation = limiter
                .admit(&subjects, tokens(9, 9), &shared, now)
                .unwrap();
            assert_eq!(shared.take(), admission, "{case}: admission");
            let after = reservation.figures((now + SECOND).steady_us);
            assert_eq!(shared.take(), [0, 0], "{case}: figures");
            let read = limiter.figures(&subjects, &shared, now + SECOND);
            assert_eq!(after, read, "{case}: as if they were read");
            shared.take();
            limiter.settle(reservation, used(9, 9, "0.1"), &shared, now + SECOND);
            assert_eq!(shared.take(), end, "{case}: end");
        }
    }
}

/// The usage of others since the admission is reported with the next response.
#[test]
fn figures_after_an_admission_are_those_of_the_admission() {
    let shared = FakeSharedData::default();
    let limiter = Limiter::new(1);
    let subjects = [key(limits(9, 0, 0, 0))];
    let admit = || {
        limiter
            .admit(&subjects, tokens(0, 0), &shared, NOON)
            .unwrap()
    };
    let remaining = |reservation: &Reservation, steady_us| {
        reservation.figures(steady_us).requests.unwrap().remaining
    };
    let [first, second] = [admit(), admit()];
    assert_eq!(remaining(&first, NOON.steady_us), 8);
    assert_eq!(remaining(&second, NOON.steady_us), 7);
    assert_eq!(
        remaining(&second, (NOON + 60 * SECOND).steady_us),
        9,
        "time passes"
    );
    assert_eq!(remaining(&second, 0), 7, "no clock goes back");
}

/// The counters of a later subject are read before those of the first are written. Whoever changes them in between is counted.
#[test]
fn a_change_between_the_look_and_the_reservation_is_not_lost() {
    /// Shared data in which another VM reserves of the group whenever the key's counters are written.
    struct Overtaken(FakeSharedData, Limiter, Subject);

    impl SharedData for Overtaken {
        fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
            self.0.get(name)
        }

        fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
            let done = self.0.set(name, value, version);
            if name.contains("/key/") {
                let other =
                    self.1
                        .admit(core::slice::from_ref(&self.2), tokens(0, 0), &self.0, NOON);
                core::mem::forget(other);
            }
            done
        }
    }

    let subjects = [key(limits(9, 0, 0, 0)), group(limits(2, 0, 0, 0))];
    let shared = Overtaken(
        FakeSharedData::default(),
        Limiter::new(2),
        subjects[1].clone(),
    );
    let limiter = Limiter::new(1);
    let first = limiter
        .admit(&subjects, tokens(0, 0), &shared, NOON)
        .unwrap();
    assert_eq!(
        left(&subjects, &shared, NOON)[0],
        Some(0),
        "both are counted"
    );
    drop(first);
    let second = limiter.admit(&subjects, tokens(0, 0), &shared, NOON);
    assert!(
        matches!(second, Err(AdmitError::Violation(_))),
        "{second:?}"
    );
}
