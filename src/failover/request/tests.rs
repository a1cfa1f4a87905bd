use serde_json::json;

use super::super::fixtures::{request, source, source_of};
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
        let states = states::read("s", &host);
        for affinity in 0..40 {
            let attempts = request(&source, affinity, 2);
            let first = attempts.next(&states, host.steady_us()).unwrap();
            let dispatch = attempts
                .dispatch(&states, host.steady_us(), has_hop)
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
        attempts.dispatch(&states::read("s", &host), host.steady_us(), true);
        assert_eq!(attempts.must_note_answer(), want, "{case}");
        let (index, _) = attempts.last().unwrap();
        attempts.ask(1 - index, true);
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
        while let Some(index) = attempts.next(&States::default(), 0) {
            attempts.ask(index, true);
            let id = attempts.last().unwrap().1.id.clone();
            asked.push_str(&id);
            let Some((status, report)) = ends.next() else {
                break;
            };
            attempts.record(FailedAttempt::answered(id, *status, report));
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
