use std::rc::Rc;

use serde_json::{Value, json};

use super::super::super::fixtures::{at, plan, source_of};
use super::super::AttemptPlan;
use super::*;
use crate::config::policy::Source;
use crate::host::fake::{FakeHost, FakeProcess};
use crate::ledger::AttemptFailure;
use crate::limits::{Count, Limiter};

/// A source whose accounts are asked in their order and have these limits.
fn source(limits: &[Value]) -> Rc<Source> {
    let account = |(n, limits): (usize, &Value)| match limits {
        Value::Null => json!({"id": format!("a{n}"), "priority": n}),
        limits => json!({"id": format!("a{n}"), "priority": n, "limits": limits}),
    };
    let accounts: Vec<Value> = limits.iter().enumerate().map(account).collect();
    source_of(&accounts, json!({}))
}

fn request(source: &Rc<Source>, limiter: &Rc<Limiter>) -> RequestAttempts {
    RequestAttempts::new(AttemptPlan {
        estimate: Estimate::of(100, Some(50), 1),
        limiter: Some(Rc::clone(limiter)),
        ..plan(&[Rc::clone(source)], 9)
    })
}

/// The account that a request gets; `None` where all are at their limits.
fn asked(attempts: &RequestAttempts, host: &FakeHost) -> Option<usize> {
    let states = |_: &str| Rc::default();
    loop {
        let place = attempts.next(&states, host.steady_us())?;
        if attempts.reserve_next(place, host.steady_us(), host) {
            attempts.ask(place, true);
            return Some(place.account);
        }
    }
}

#[test]
fn an_account_at_its_limit_is_passed_over() {
    // (case, limits of the first account, the accounts that requests get which are under way at the same time)
    let cases = [
        ("no limits", json!(null), [0, 0, 0]),
        ("requests", json!({"requests_per_minute": 2}), [0, 0, 1]),
        ("input", json!({"input_tokens_per_minute": 150}), [0, 1, 1]),
        (
            "output",
            json!({"output_tokens_per_minute": 120}),
            [0, 0, 1],
        ),
        ("at a time", json!({"concurrent_requests": 1}), [0, 1, 1]),
    ];
    for (case, limits, want) in cases {
        let (source, limiter) = (source(&[limits, json!(null)]), Rc::new(Limiter::new(1)));
        let host = FakeHost::of(&FakeProcess::start());
        let requests = [(); 3].map(|()| request(&source, &limiter));
        for (number, (attempts, want)) in requests.iter().zip(want).enumerate() {
            assert_eq!(
                asked(attempts, &host),
                Some(want),
                "{case}, request {number}"
            );
            let failed = attempts.failed();
            let kinds: Vec<_> = failed.iter().map(|failed| failed.kind).collect();
            let passed_over = vec![AttemptFailure::AccountLimit; want];
            assert_eq!(kinds, passed_over, "{case}, request {number}: is told");
            assert_eq!(
                attempts.asked(),
                1,
                "{case}: one that was passed over was not asked"
            );
        }
    }
}

#[test]
fn where_all_are_at_their_limits_it_is_known_until_when() {
    let one = json!({"requests_per_minute": 1});
    let (source, limiter) = (source(&[one.clone(), one]), Rc::new(Limiter::new(1)));
    let host = FakeHost::of(&FakeProcess::start());
    let requests = [(); 3].map(|()| request(&source, &limiter));
    let all = requests.each_ref().map(|attempts| asked(attempts, &host));
    assert_eq!(all, [Some(0), Some(1), None]);
    let [.., last] = &requests;
    assert!(
        last.limited_for_s(host.steady_us())
            .is_some_and(|s| (1..=60).contains(&s))
    );
}

#[test]
fn a_share_is_given_back_when_its_attempt_is_over() {
    let slot = json!({"concurrent_requests": 1});
    let (source, limiter) = (source(&[slot, json!(null)]), Rc::new(Limiter::new(1)));
    let host = FakeHost::of(&FakeProcess::start());
    let used = Consumption {
        input: Count::Exactly(1),
        output: Count::Exactly(1),
        charge: None,
    };
    let now = Now {
        wall_us: host.wall_us(),
        steady_us: host.steady_us(),
    };
    let [one, other, third] = [(); 3].map(|()| request(&source, &limiter));
    assert_eq!(asked(&one, &host), Some(0));
    assert_eq!(asked(&one, &host), Some(1), "its second attempt");
    assert_eq!(asked(&other, &host), Some(0), "the first was over");
    assert_eq!(asked(&third, &host), Some(1), "the other is under way");
    limiter.settle(other.take_reservation().unwrap(), used, &host, now);
    assert!(other.take_reservation().is_none());
    assert_eq!(
        asked(&request(&source, &limiter), &host),
        Some(0),
        "it is over"
    );
}

/// A direct attempt at an account at its limit goes by way of the hop, which finds another.
#[test]
fn a_first_attempt_keeps_to_the_limits_too() {
    let slot = json!({"concurrent_requests": 1});
    let (source, limiter) = (source(&[slot, json!(null)]), Rc::new(Limiter::new(1)));
    let host = FakeHost::of(&FakeProcess::start());
    let reserve = |account: &Subject, estimate: Estimate| {
        let now = Now {
            wall_us: host.wall_us(),
            steady_us: host.steady_us(),
        };
        limiter.admit(core::slice::from_ref(account), estimate, &host, now)
    };
    let states = |_: &str| {
        use super::super::super::states;
        let accounts = source.accounts.as_deref().unwrap();
        states::note(states::AccountEvent::Answered, "s", accounts, 0, &host);
        Rc::new(states::read("s", &host))
    };
    let [one, other] = [(); 2].map(|()| request(&source, &limiter));
    let cluster = |attempts: &RequestAttempts| {
        let dispatch = attempts.dispatch(&states, &reserve, host.steady_us(), true, |_| false);
        dispatch.unwrap().cluster
    };
    assert_eq!(cluster(&one), "account/s/a0", "directly");
    assert_eq!(cluster(&other), crate::config::account::HOP_CLUSTER, "full");
    assert_eq!(other.next(&states, host.steady_us()), Some(at(1)));
}
