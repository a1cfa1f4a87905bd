use serde_json::json;

use proptest::prelude::*;

use super::super::ejection::Ejection;
use super::super::fixtures::{
    NO_LIMITS, at, plan, request, request_in_sequence, source, source_named, source_of, whole_body,
};
use super::super::order;
use super::super::states;
use super::super::states::AccountEvent;
use super::*;
use crate::host::Clocks;
use crate::host::fake::{FakeHost, FakeProcess};

/// A host on which these accounts have answered.
fn answered(source: &Source, indices: &[usize]) -> FakeHost {
    let host = FakeHost::of(&FakeProcess::start());
    let accounts = source.accounts.as_deref().unwrap();
    for index in indices {
        states::note(AccountEvent::Answered, "s", accounts, *index, &host);
    }
    host
}

#[test]
fn an_account_is_asked_directly_once_it_has_answered() {
    let source = source(2);
    for (case, known, has_hop, direct) in [
        ("nobody has", &[][..], true, [false, false]),
        ("one has", &[0], true, [true, false]),
        ("both have", &[0, 1], true, [true, true]),
        ("the hop is another VM's", &[0], false, [true, true]),
    ] {
        let host = answered(&source, known);
        let states = Rc::new(states::read("s", &host));
        let states = |_: &str| Rc::clone(&states);
        for affinity in 0..40 {
            let attempts = request(&source, affinity, 2);
            let first = attempts.next(&states, host.steady_us()).unwrap().account;
            let dispatch = attempts
                .dispatch(&states, &NO_LIMITS, host.steady_us(), has_hop, |_| false)
                .unwrap();
            let want = if direct[first] {
                format!("account/s/a{first}")
            } else {
                HOP_CLUSTER.to_owned()
            };
            assert_eq!(dispatch.cluster, want, "{case}");
            assert!(dispatch.retried, "{case}");
            assert_eq!(attempts.last().is_some(), direct[first], "{case}: asked");
            assert!(!attempts.by_hop(), "{case}: not by way of the hop yet");
            assert_eq!(attempts.ends_at_foreign_hop(), !has_hop, "{case}");
        }
    }
}

#[test]
fn an_answer_is_noted_where_it_changes_something() {
    let source = source_of(
        &[json!({"id": "a"}), json!({"id": "b"})],
        json!({"failures": 3}),
    );
    let host = answered(&source, &[0, 1]);
    let accounts = source.accounts.as_deref().unwrap();
    for (case, failures, want) in [("no failure", 0, false), ("a failure", 1, true)] {
        for _ in 0..failures {
            for index in 0..2 {
                states::note(AccountEvent::Failed, "s", accounts, index, &host);
            }
        }
        let attempts = request(&source, 0, 2);
        let states = Rc::new(states::read("s", &host));
        attempts.dispatch(
            &|_| Rc::clone(&states),
            &NO_LIMITS,
            host.steady_us(),
            true,
            |_| false,
        );
        assert_eq!(attempts.must_note_answer(), want, "{case}");
        let (place, _) = attempts.last().unwrap();
        attempts.ask(at(1 - place.account), true);
        assert!(
            !attempts.must_note_answer(),
            "{case}: not of another attempt"
        );
    }
}

/// The result of an attempt: the status, and Envoy's report.
type End = (u16, &'static str);

#[test]
fn who_is_asked_after_a_failure() {
    const OVERLOADED: End = (503, "via_upstream;-;");
    const BROKEN: End = (503, "upstream_reset_before_response_started{x};UF;");
    let source = source_of(
        &[
            json!({"id": "a", "priority": 0, "retries": 2}),
            json!({"id": "b", "priority": 1}),
            json!({"id": "c", "priority": 2, "retries": 1}),
        ],
        json!({}),
    );
    // (case, how many accounts may be asked, how attempts end, the accounts that are asked)
    let cases: [(&str, usize, &[End], &str); 7] = [
        ("each once", 3, &[OVERLOADED; 3], "abc"),
        ("as many as may be", 2, &[OVERLOADED; 3], "ab"),
        ("the only one", 1, &[OVERLOADED; 3], "a"),
        (
            "the same again, as often as it is to be",
            3,
            &[BROKEN; 8],
            "aaabcc",
        ),
        (
            "again, though no other may be asked",
            1,
            &[BROKEN; 8],
            "aaa",
        ),
        (
            "broken, then overloaded",
            3,
            &[BROKEN, OVERLOADED, OVERLOADED, BROKEN, BROKEN],
            "aabcc",
        ),
        ("broken once", 3, &[BROKEN], "aa"),
    ];
    for (case, may_ask, ends, want) in cases {
        let attempts = request(&source, 7, may_ask);
        let mut asked = String::new();
        let mut ends = ends.iter();
        while let Some(place) = attempts.next(&|_| Rc::default(), 0) {
            attempts.ask(place, true);
            let id = attempts.last().unwrap().1.id.clone();
            asked.push_str(&id);
            let Some((status, report)) = ends.next() else {
                break;
            };
            attempts.record(place, FailedAttempt::answered(id, *status, report));
        }
        assert_eq!(asked, want, "{case}");
        let failed: Vec<String> = attempts
            .failed()
            .into_iter()
            .map(|it| it.account.to_string())
            .collect();
        let mut once = failed.clone();
        once.dedup();
        assert_eq!(failed, once, "{case}: an account is told once");
        assert!(attempts.asked() <= may_ask, "{case}");
    }
}

/// A request to several sources, each with as many accounts as said, of which those are ejected that are marked.
fn sequence(sources: &[Vec<bool>], tries: usize) -> (RequestAttempts, Vec<Rc<States>>) {
    let mut states = Vec::new();
    let sources = sources.iter().enumerate().map(|(number, ejected)| {
        let ids: Vec<_> = (0..ejected.len())
            .map(|at| json!({"id": format!("a{at}")}))
            .collect();
        let source = source_named(&format!("s{number}"), &ids, json!({}));
        let mut known = States::default();
        let marks = &source.accounts.as_deref().unwrap().marks;
        for (marks, _) in marks.iter().zip(ejected).filter(|(_, ejected)| **ejected) {
            known.set_ejection(
                marks,
                Ejection {
                    until_us: 10,
                    ..Ejection::default()
                },
            );
        }
        states.push(Rc::new(known));
        source
    });
    let sources: Vec<_> = sources.collect();
    (request_in_sequence(&sources, tries), states)
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    /// Accounts are asked once each, within the bounds, whatever is ejected and whichever sources fit; those that are ejected after all
    /// others, and of these the sources one after the other.
    #[test]
    fn sources_are_asked_in_sequence(
        sources in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..4), 1..5),
        fit in prop::collection::vec(any::<bool>(), 4),
        tries in 1_usize..=10,
    ) {
        let (attempts, states) = sequence(&sources, tries);
        let read = |source: &str| {
            let number: usize = source[1..].parse().unwrap();
            Rc::clone(&states[number])
        };
        let later: Vec<_> = fit.iter().take(sources.len() - 1).map(|fits| fits.then_some(LaterTerms { model: None })).collect();
        attempts.end_body(whole_body(later.clone()), 0);
        let mut asked: Vec<AccountPlace> = Vec::new();
        while let Some(place) = attempts.next(&read, 5) {
            prop_assert!(!asked.contains(&place), "{place:?} again");
            prop_assert!(place.source == 0 || later[place.source - 1].is_some(), "{place:?} does not fit");
            attempts.ask(place, true);
            let id = attempts.account(place).unwrap().id.clone();
            attempts.record(place, FailedAttempt::answered(id, 503, ""));
            asked.push(place);
        }
        let fitting = |source: usize| source == 0 || later[source - 1].is_some();
        let there: usize = sources.iter().enumerate().filter(|(at, _)| fitting(*at)).map(|(_, of)| of.len()).sum();
        prop_assert_eq!(asked.len(), tries.min(there));
        let key = |place: &AccountPlace| (sources[place.source][place.account], place.source);
        let keys: Vec<_> = asked.iter().map(key).collect();
        prop_assert!(keys.is_sorted(), "{asked:?}");
        prop_assert_eq!(attempts.failed().len(), asked.len());
    }
}

/// Until the body is known no other source is asked; where the first has only ejected accounts, the hop waits for it.
#[test]
fn another_source_waits_for_the_body() {
    let renamed = || {
        vec![Some(LaterTerms {
            model: Some("other".into()),
        })]
    };
    // (case, whether the first account is ejected, whether the body has ended, whether it waits, who is asked)
    for (case, ejected, whole, waits, first) in [
        ("all is well", false, false, false, 0),
        ("ejected", true, false, true, 0),
        ("ejected, all of the body", true, true, false, 1),
    ] {
        let (attempts, states) = sequence(&[vec![ejected], vec![false]], 2);
        let read = |source: &str| Rc::clone(&states[usize::from(source == "s1")]);
        if whole {
            attempts.end_body(whole_body(renamed()), 0);
        }
        assert_eq!(attempts.awaits_body(&read, 5), waits, "{case}");
        let next = attempts.next(&read, 5).unwrap();
        assert_eq!(next.source, first, "{case}");
        let name = (first == 1).then(|| "other".into());
        assert_eq!(attempts.renamed(next), name, "{case}");
        let dispatch = attempts
            .dispatch(&read, &NO_LIMITS, 5, true, |_| false)
            .unwrap();
        assert_eq!(dispatch.cluster, HOP_CLUSTER, "{case}: nobody has answered");
        attempts.ask(at(0), true);
        assert_eq!(
            attempts.awaits_body(&read, 5),
            !whole,
            "{case}: after a failed one"
        );
    }
}

#[test]
fn a_limit_is_of_the_requests_model_and_tells_when_to_come_back() {
    const S: u64 = 1_000_000;
    let source = source(2);
    let model = ModelMark::of("m");
    let plan = |model| AttemptPlan {
        model,
        ..plan(&[Rc::clone(&source)], 2)
    };
    use AttemptFailure::{Overloaded, RateLimited};
    // (case, whether the model is known, the failures with what the vendor asks for; the last event, when to come back)
    type Case<'a> = (
        &'a str,
        bool,
        &'a [(AttemptFailure, Option<u64>)],
        AccountEvent,
        Option<u64>,
    );
    let cases: &[Case<'_>] = &[
        (
            "told",
            true,
            &[(RateLimited, Some(30))],
            AccountEvent::Limited(model, Some(30)),
            Some(30),
        ),
        (
            "not told",
            true,
            &[(RateLimited, None)],
            AccountEvent::Limited(model, None),
            Some(10),
        ),
        (
            "at once",
            true,
            &[(RateLimited, Some(0))],
            AccountEvent::Limited(model, Some(0)),
            Some(1),
        ),
        (
            "no model",
            false,
            &[(RateLimited, Some(30))],
            AccountEvent::Failed,
            Some(30),
        ),
        (
            "no limit",
            true,
            &[(Overloaded, Some(30))],
            AccountEvent::Failed,
            None,
        ),
        (
            "the first of two, and a fault",
            true,
            &[
                (RateLimited, Some(30)),
                (RateLimited, Some(20)),
                (Overloaded, None),
            ],
            AccountEvent::Failed,
            Some(20),
        ),
    ];
    for (case, known, failures, event, wait) in cases {
        let attempts = RequestAttempts::new(plan(known.then_some(model)));
        let events = failures
            .iter()
            .map(|(kind, told)| attempts.event(at(0), *kind, *told, 100 * S));
        assert_eq!(events.last(), Some(*event), "{case}");
        assert_eq!(
            attempts.limited_for_s(100 * S),
            *wait,
            "{case}: when to come back"
        );
    }
}

#[test]
fn an_account_at_its_limit_with_the_model_is_asked_last() {
    let source = source(2);
    let host = FakeHost::of(&FakeProcess::start());
    let model = ModelMark::of("m");
    let accounts = source.accounts.as_deref().unwrap();
    let event = AccountEvent::Limited(model, Some(30));
    states::note(event, "s", accounts, 0, &host);
    let states = states::read("s", &host);
    for affinity in 0..20 {
        for (case, wanted) in [
            ("the model", Some(model)),
            ("another", Some(ModelMark::of("x"))),
            ("none", None),
        ] {
            let may = |_| true;
            let found = order::first(
                accounts,
                affinity,
                &states,
                wanted,
                host.steady_us(),
                &[],
                may,
            );
            let (first, set_aside) = found.unwrap();
            assert!(!set_aside, "{case}");
            assert!(wanted != Some(model) || first == 1, "{case}: {first}");
        }
    }
}
