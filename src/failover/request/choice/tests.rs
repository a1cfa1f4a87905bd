use std::rc::Rc;

use serde_json::{Value, json};

use super::super::super::ejection::Ejection;
use super::super::super::fixtures::{self, at, source_named, whole_body};
use super::super::super::moved::{Move, Moved};
use super::super::super::states::{ModelMark, States};
use super::super::{AccountPlace, AttemptPlan, LaterTerms, RequestAttempts, WholeBody};
use crate::config::policy::Source;

const S: u64 = 1_000_000;
/// Now, in microseconds.
const NOW_US: u64 = 1_000 * S;

/// A source whose accounts are asked in their order, with these labels.
fn source(id: &str, labels: &[Option<&str>], failover: Value) -> Rc<Source> {
    let account = |(number, label): (usize, &Option<&str>)| {
        let mut account = json!({"id": format!("a{number}"), "priority": number});
        if let Some(label) = label {
            account["state"] = json!(label);
        }
        account
    };
    let accounts: Vec<Value> = labels.iter().enumerate().map(account).collect();
    source_named(id, &accounts, failover)
}

fn plan(sources: &[Rc<Source>]) -> RequestAttempts {
    RequestAttempts::new(AttemptPlan {
        model: Some(ModelMark::of("m")),
        ..fixtures::plan(sources, 9)
    })
}

/// The states of a source of which these accounts are set aside.
fn set_aside(source: &Source, accounts: &[usize]) -> Rc<States> {
    let mut states = States::default();
    for account in accounts {
        let marks = &source.accounts.as_ref().unwrap().marks[*account];
        let ejection = Ejection {
            until_us: NOW_US + S,
            ..Ejection::default()
        };
        states.set_ejection(marks, ejection);
    }
    Rc::new(states)
}

/// The accounts that are asked one after the other, where each of them fails.
fn all_asked(attempts: &RequestAttempts, states: &Rc<States>) -> Vec<usize> {
    let read = |_: &str| Rc::clone(states);
    let mut asked = Vec::new();
    while let Some(place) = attempts.next(&read, NOW_US) {
        attempts.ask(place, true);
        asked.push(place.account);
    }
    asked
}

#[test]
fn a_moved_conversation_stays_while_the_cache_lives_and_returns_then() {
    // (case, the account that it has moved to and the seconds since, which are set aside, who is asked, whether that is to be noted
    // and as what)
    type Case<'a> = (
        &'a str,
        Option<(usize, u64)>,
        &'a [usize],
        [usize; 3],
        Option<Option<usize>>,
    );
    let cases: &[Case<'_>] = &[
        ("it has not moved", None, &[], [0, 1, 2], None),
        (
            "its first account is set aside",
            None,
            &[0],
            [1, 2, 0],
            Some(Some(1)),
        ),
        ("another account is", None, &[1], [0, 2, 1], None),
        ("it has moved", Some((1, 60)), &[], [1, 0, 2], Some(Some(1))),
        ("just now", Some((1, 5)), &[], [1, 0, 2], None),
        (
            "the last moment",
            Some((1, 299)),
            &[],
            [1, 0, 2],
            Some(Some(1)),
        ),
        (
            "the cache is gone",
            Some((1, 300)),
            &[],
            [0, 1, 2],
            Some(None),
        ),
        (
            "its account is set aside",
            Some((1, 60)),
            &[1],
            [0, 2, 1],
            Some(None),
        ),
        ("both are", Some((1, 5)), &[0, 1], [2, 0, 1], Some(Some(2))),
        ("all are", Some((1, 5)), &[0, 1, 2], [0, 1, 2], Some(None)),
    ];
    let source = source("s", &[None; 3], json!({}));
    for (case, moved, aside, asked, noted) in cases {
        let sources = [Rc::clone(&source)];
        let new = || {
            let attempts = plan(&sources);
            let moved = moved.map(|(account, seconds)| Moved {
                account: attempts.number(at(account)).unwrap(),
                used_us: NOW_US - seconds * S,
            });
            attempts.of_moved(moved)
        };
        let states = set_aside(&source, aside);
        let read = |_: &str| Rc::clone(&states);
        assert_eq!(all_asked(&new(), &states), asked, "{case}");
        let attempts = new();
        let first = attempts.next(&read, NOW_US).unwrap();
        attempts.begin(first, false, &read, NOW_US);
        let want = noted.map(|to| Move {
            conversation: attempts.conversation(),
            to: to.and_then(|to| attempts.number(at(to))),
            life_us: 300 * S,
        });
        assert_eq!(
            attempts.moves(|| NOW_US),
            want,
            "{case}: what an answer notes"
        );
    }
}

#[test]
fn only_the_conversations_of_an_account_that_is_set_aside_move() {
    let source = source("s", &[None; 2], json!({}));
    // (case, the accounts that are set aside, where it moves)
    for (case, aside, moves) in [
        ("the first has failed once", &[][..], None),
        ("the first is set aside for it", &[0], Some(1)),
        ("so is the second", &[0, 1], Some(1)),
    ] {
        let attempts = plan(&[Rc::clone(&source)]);
        attempts.begin(at(0), true, &|_| Rc::default(), NOW_US);
        assert_eq!(
            attempts.moves(|| NOW_US),
            None,
            "{case}: an answer of the first"
        );
        let aside = set_aside(&source, aside);
        attempts.begin(at(1), true, &|_| Rc::clone(&aside), NOW_US);
        let to = attempts.moves(|| NOW_US).map(|change| change.to);
        assert_eq!(
            to,
            moves.map(|account| attempts.number(at(account))),
            "{case}"
        );
    }
}

#[test]
fn nothing_is_noted_where_no_cache_lives() {
    let source = source("s", &[None; 2], json!({"prompt_cache_seconds": 0}));
    let attempts = plan(&[Rc::clone(&source)]);
    let aside = set_aside(&source, &[0]);
    attempts.begin(at(1), true, &|_| Rc::clone(&aside), NOW_US);
    assert_eq!(attempts.moves(|| NOW_US), None);
}

#[test]
fn conversations_of_models_and_sources_move_apart() {
    let [one, other] = ["s", "t"].map(|id| source(id, &[None; 2], json!({})));
    let of = |source: &Rc<Source>, model: &str| {
        let mut attempts = plan(&[Rc::clone(source)]);
        attempts.plan.model = Some(ModelMark::of(model));
        attempts.conversation()
    };
    assert_eq!(of(&one, "m"), of(&one, "m"));
    assert_ne!(of(&one, "m"), of(&one, "n"), "another model");
    assert_ne!(of(&one, "m"), of(&other, "m"), "another source");
}

/// A later source must know the whole body: the hop waits for it.
#[test]
fn a_conversation_stays_at_another_source() {
    let sources = ["s", "t"].map(|id| source(id, &[None; 2], json!({})));
    let stay = AccountPlace {
        source: 1,
        account: 1,
    };
    // (case, the terms at the other source once the body is known, whether its account is set aside, whether it waits, who is asked)
    let fits = || vec![Some(LaterTerms { model: None })];
    let cases = [
        ("more is to come", None, false, true, at(0)),
        ("all is known", Some(fits()), false, false, stay),
        ("it does not fit", Some(vec![None]), false, false, at(0)),
        ("set aside", None, true, false, at(0)),
    ];
    for (case, terms, aside, waits, asked) in cases {
        let attempts = plan(&sources);
        let account = attempts.number(stay).unwrap();
        let used_us = NOW_US - S;
        let attempts = attempts.of_moved(Some(Moved { account, used_us }));
        if let Some(terms) = terms {
            attempts.end_body(whole_body(terms), NOW_US);
        }
        let aside = set_aside(&sources[1], if aside { &[1] } else { &[] });
        let read = |source: &str| match source {
            "t" => Rc::clone(&aside),
            _ => Rc::default(),
        };
        assert_eq!(attempts.awaits_body(&read, NOW_US), waits, "{case}");
        assert_eq!(attempts.next(&read, NOW_US), Some(asked), "{case}");
    }
}

#[test]
fn what_an_account_keeps_is_asked_for_where_it_is() {
    const ONE: Option<&str> = Some("one");
    const TWO: Option<&str> = Some("two");
    // (case, labels, the account that the conversation has moved to and the hours since, whether the body names state, which
    // accounts are set aside, who is asked)
    type Case<'a> = (
        &'a str,
        &'a [Option<&'a str>],
        Option<(usize, u64)>,
        Option<bool>,
        &'a [usize],
        &'a [usize],
    );
    let cases: &[Case<'_>] = &[
        (
            "no labels",
            &[None, None, None],
            None,
            Some(true),
            &[0],
            &[1, 2, 0],
        ),
        (
            "no state",
            &[ONE, TWO, ONE],
            None,
            Some(false),
            &[0],
            &[1, 2, 0],
        ),
        (
            "those with its label",
            &[ONE, TWO, ONE],
            None,
            Some(true),
            &[],
            &[0, 2],
        ),
        (
            "out of luck",
            &[ONE, TWO, ONE],
            None,
            Some(true),
            &[0, 2],
            &[0, 2],
        ),
        (
            "only one has its label",
            &[ONE, TWO, TWO],
            None,
            Some(true),
            &[0],
            &[0],
        ),
        (
            "its account has no label",
            &[None, TWO, None],
            None,
            Some(true),
            &[0],
            &[0],
        ),
        (
            "the body is not known",
            &[ONE, TWO, ONE],
            None,
            None,
            &[0],
            &[2, 0],
        ),
        (
            "it has moved",
            &[ONE, TWO, TWO],
            Some((1, 0)),
            Some(true),
            &[],
            &[1, 2],
        ),
        (
            "long ago",
            &[ONE, TWO, TWO],
            Some((1, 23)),
            Some(true),
            &[],
            &[1, 2],
        ),
        (
            "too long ago",
            &[ONE, TWO, TWO],
            Some((1, 24)),
            Some(true),
            &[],
            &[0],
        ),
        (
            "it has moved, no state",
            &[ONE, TWO, TWO],
            Some((1, 23)),
            Some(false),
            &[],
            &[0, 1, 2],
        ),
    ];
    for (case, labels, moved, state, aside, asked) in cases {
        let source = source("s", labels, json!({}));
        let attempts = plan(&[Rc::clone(&source)]);
        let now_us = 100 * 3600 * S;
        let moved = moved.map(|(account, hours)| Moved {
            account: attempts.number(at(account)).unwrap(),
            used_us: now_us - hours * 3600 * S - 1,
        });
        let attempts = attempts.of_moved(moved);
        if let Some(holds_state) = state {
            attempts.end_body(
                WholeBody {
                    holds_state: *holds_state,
                    ..WholeBody::default()
                },
                now_us,
            );
        }
        let states = {
            let mut states = States::default();
            for account in *aside {
                let marks = &source.accounts.as_ref().unwrap().marks[*account];
                let ejection = Ejection {
                    until_us: now_us + S,
                    ..Ejection::default()
                };
                states.set_ejection(marks, ejection);
            }
            Rc::new(states)
        };
        let read = |_: &str| Rc::clone(&states);
        let waits = state.is_none() && aside.contains(&asked[0]);
        assert_eq!(attempts.awaits_body(&read, now_us), waits, "{case}: waits");
        let eligible: Vec<String> = attempts
            .eligible(now_us)
            .map(|(_, account)| account.id.to_string())
            .collect();
        let mut want: Vec<String> = asked.iter().map(|account| format!("a{account}")).collect();
        want.sort();
        assert_eq!(eligible, want, "{case}: may be asked");
        let mut all = Vec::new();
        while let Some(place) = attempts.next(&read, now_us) {
            attempts.ask(place, true);
            all.push(place.account);
        }
        assert_eq!(all, *asked, "{case}");
    }
}

/// The hop waits until the body is known, where only accounts that are set aside may have what that may name.
#[test]
fn a_body_that_may_name_state_is_awaited() {
    let source = source("s", &[Some("one"), Some("two")], json!({}));
    let attempts = plan(&[Rc::clone(&source)]);
    let states = set_aside(&source, &[0]);
    let read = |_: &str| Rc::clone(&states);
    assert!(attempts.awaits_body(&read, NOW_US), "more is to come");
    attempts.end_body(WholeBody::default(), NOW_US);
    assert!(!attempts.awaits_body(&read, NOW_US), "it names none");
    assert_eq!(attempts.next(&read, NOW_US), Some(at(1)));
}
