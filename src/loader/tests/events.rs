//! One loader, event by event.

use super::simulation::{FETCHED, SimulatedRoot, generation, in_effect, inline, serve, text};
use crate::config::snapshot::{GENERATION, LOADER, POLICY, Snapshot};
use crate::host::fake::{FakeCall, FakeProcess, FakeResponse};
use crate::loader::lease::{Candidate, LoaderRole};
use crate::loader::publisher::Publisher;
use crate::shared_data::SharedData;

/// An event at a singleton whose source is behind a cluster.
#[derive(Debug)]
enum SingletonStep {
    /// A tick comes at its time.
    Tick,
    /// The last call gets this response.
    Response(FakeResponse),
    /// The last call fails.
    Failure,
    /// The call before the last one gets this response.
    Late(FakeResponse),
    /// Another root acquires the lease.
    LeaseLost,
    /// The cluster is not known from now on.
    NoCluster,
}

/// The state expected after a step: the number of calls that the step sent, the document in effect.
type ObservedState = (usize, Option<u32>);

/// (case, steps and what is to be seen after each, generations, documents rejected for each reason)
type Case = (
    &'static str,
    Vec<(SingletonStep, ObservedState)>,
    u64,
    [u64; 3],
);

const INVALID: &str = "trilane_config_rejections_total;reason=invalid;";
const UNREACHABLE: &str = "trilane_config_rejections_total;reason=unreachable;";
const AGE: &str = "trilane_config_age_seconds";
const OVERSIZE: &str = "trilane_config_rejections_total;reason=oversize;";

#[test]
fn a_loader_step_by_step() {
    use SingletonStep::{Failure, Late, LeaseLost, NoCluster, Response, Tick};
    let document = |n: u32| Response(FakeResponse::ok(text(n)));
    let invalid = || Response(FakeResponse::ok("{}}"));
    let not_modified = || Response(FakeResponse::status("304", ""));
    let cases: Vec<Case> = vec![
        (
            "a document, and another",
            vec![
                (Tick, (1, None)),
                (document(1), (0, Some(1))),
                (Tick, (1, Some(1))),
                (document(2), (0, Some(2))),
            ],
            2,
            [0, 0, 0],
        ),
        (
            "the same is not published again",
            vec![
                (Tick, (1, None)),
                (document(1), (0, Some(1))),
                (Tick, (1, Some(1))),
                (document(1), (0, Some(1))),
                (Tick, (1, Some(1))),
                (not_modified(), (0, Some(1))),
            ],
            1,
            [0, 0, 0],
        ),
        (
            "an invalid one changes nothing, and is compiled once",
            vec![
                (Tick, (1, None)),
                (document(1), (0, Some(1))),
                (Tick, (1, Some(1))),
                (invalid(), (0, Some(1))),
                (Tick, (1, Some(1))),
                (invalid(), (0, Some(1))),
                (Tick, (1, Some(1))),
                (document(1), (0, Some(1))),
            ],
            // The last one is published again: what was seen last is not what is in effect.
            2,
            [1, 0, 0],
        ),
        (
            "no second call while one is awaited",
            vec![
                (Tick, (1, None)),
                (Tick, (0, None)),
                (Tick, (0, None)),
                (document(1), (0, Some(1))),
                (Tick, (1, Some(1))),
            ],
            1,
            [0, 0, 0],
        ),
        (
            "failures while the process begins are not counted",
            vec![
                (Tick, (1, None)),
                (Failure, (0, None)),
                (Tick, (1, None)),
                (Response(FakeResponse::status("503", "")), (0, None)),
                (Tick, (1, None)),
                (document(1), (0, Some(1))),
            ],
            1,
            [0, 0, 0],
        ),
        (
            "failures of a source that was there are",
            vec![
                (Tick, (1, None)),
                (document(1), (0, Some(1))),
                (Tick, (1, Some(1))),
                (Failure, (0, Some(1))),
                (Tick, (1, Some(1))),
                (Response(FakeResponse::status("404", "")), (0, Some(1))),
                (NoCluster, (0, Some(1))),
                (Tick, (0, Some(1))),
            ],
            1,
            [0, 3, 0],
        ),
        (
            "a document that is too long",
            vec![
                (Tick, (1, None)),
                (Response(FakeResponse::ok(vec![b' '; 5001])), (0, None)),
            ],
            0,
            [0, 0, 1],
        ),
        (
            "a response that comes twice counts once",
            vec![
                (Tick, (1, None)),
                (document(1), (0, Some(1))),
                (document(2), (0, Some(1))),
                (Failure, (0, Some(1))),
            ],
            1,
            [0, 0, 0],
        ),
        (
            "a lease that is lost while a response is awaited",
            vec![
                (Tick, (1, None)),
                (document(1), (0, Some(1))),
                (Tick, (1, Some(1))),
                (LeaseLost, (0, Some(1))),
                (document(2), (0, Some(1))),
                (Tick, (0, Some(1))),
            ],
            1,
            [0, 0, 0],
        ),
        (
            "a response to an earlier call counts no more than one that was never requested",
            vec![
                (Tick, (1, None)),
                (Failure, (0, None)),
                (Tick, (1, None)),
                (Late(FakeResponse::ok(text(1))), (0, None)),
                (document(2), (0, Some(2))),
            ],
            1,
            [0, 0, 0],
        ),
    ];
    for (case, steps, generations, rejections) in cases {
        let process = FakeProcess::start();
        let configuration = r#"{"source": {"cluster": "source", "max_bytes": 5000}}"#;
        let mut root = SimulatedRoot::start(&process, LoaderRole::Singleton, configuration);
        let mut calls: Vec<FakeCall> = Vec::new();
        for (place, (step, want)) in steps.into_iter().enumerate() {
            let context = format!("{case}, step {place}: {step:?}");
            let before = calls.len();
            match step {
                Tick => calls.extend(root.next_tick()),
                Response(response) => root.respond(calls.last().unwrap(), Some(&response)),
                Failure => root.respond(calls.last().unwrap(), None),
                Late(response) => root.respond(&calls[calls.len() - 2], Some(&response)),
                LeaseLost => {
                    let role = LoaderRole::Singleton;
                    let mut other = Candidate::enter(role, b"newer", 99, 2000, &root.host);
                    other.acquire_or_renew(0, &root.host);
                }
                NoCluster => root.host.cluster_known.set(false),
            }
            calls.extend(root.host.take_calls());
            let seen = (calls.len() - before, in_effect(&process));
            assert_eq!(seen, want, "{context}: {:?}", root.host.lines.borrow());
        }
        assert_eq!(generation(&process), generations, "{case}");
        let counted = [INVALID, UNREACHABLE, OVERSIZE].map(|name| root.host.stat(name).unwrap());
        assert_eq!(counted, rejections, "{case}");
    }
}

#[test]
fn failures_in_a_row_are_logged_once() {
    let process = FakeProcess::start();
    let mut root = SimulatedRoot::start(&process, LoaderRole::Singleton, FETCHED);
    let call = root.next_tick().remove(0);
    root.respond(&call, Some(&FakeResponse::ok(text(1))));
    root.host.take_lines();
    for round in 0..3 {
        let mut lines = Vec::new();
        for _ in 0..5 {
            let call = root.next_tick().remove(0);
            root.respond(&call, None);
            lines.extend(root.host.take_lines());
        }
        assert_eq!(lines.len(), 1, "round {round}: {lines:?}");
        let call = root.next_tick().remove(0);
        root.respond(&call, Some(&FakeResponse::ok(text(1))));
        assert!(root.host.take_lines().is_empty(), "round {round}");
    }
}

#[test]
fn the_document_in_effect_is_asked_for_by_its_etag_and_has_an_age() {
    let process = FakeProcess::start();
    let mut root = SimulatedRoot::start(&process, LoaderRole::Singleton, FETCHED);
    let served = |n: u32| FakeResponse::ok(text(n)).with("etag", &format!("\"{n}\""));
    // (the response, the etag of the next request, the age at that request in seconds)
    let cases = [
        (None, None, 0),
        (Some(served(1)), Some("\"1\""), 0),
        (Some(FakeResponse::status("304", "")), Some("\"1\""), 0),
        (Some(served(2)), Some("\"2\""), 0),
        (None, Some("\"2\""), 1),
        (None, Some("\"2\""), 1),
        (None, Some("\"2\""), 2),
        // Without an etag, and the same document.
        (Some(FakeResponse::ok(text(2))), Some("\"2\""), 0),
        (Some(FakeResponse::ok(text(3))), None, 0),
    ];
    let mut call = root.next_tick().remove(0);
    for (step, (response, etag, age)) in cases.into_iter().enumerate() {
        root.respond(&call, response.as_ref());
        process.pass_ms(100);
        call = root.next_tick().remove(0);
        assert_eq!(call.header("if-none-match"), etag, "step {step}");
        assert_eq!(root.host.stat(AGE), Some(age), "step {step}");
    }
}

#[test]
fn an_inline_document_has_no_age() {
    let process = FakeProcess::start();
    let mut root = SimulatedRoot::start(&process, LoaderRole::Fallback, &inline(1));
    for _ in 0..10 {
        root.next_tick();
    }
    assert_eq!(root.host.stat(AGE), Some(0));
}

#[test]
fn warnings_are_logged() {
    let process = FakeProcess::start();
    let document = r#"{"groups": [
        {"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{"id": "m"}]},
        {"id": "mixed", "protocol": "Mixed", "entries": {"responses": {"source": "g"}}, "models": []},
        {"id": "b", "protocol": "B", "multiplier": "1", "cluster": "c", "models": [{"id": "n"}]}
    ], "keys": []}"#;
    let mut root = SimulatedRoot::start(&process, LoaderRole::Singleton, FETCHED);
    let call = root.next_tick().remove(0);
    root.respond(&call, Some(&FakeResponse::ok(document)));
    let lines = root.host.lines.take().into_iter();
    let warned = lines.filter(|(level, _)| *level == log::Level::Warn);
    let warned: Vec<String> = warned.map(|(_, line)| line).collect();
    let want = [
        "configuration document: groups[1].entries: has no vb_messages: protocol B traffic gets 403",
        "configuration document: groups[1].models: is empty: its keys can use nothing",
    ];
    assert_eq!(warned, want);
}

/// Another root begins to publish and is gone: what it has taken from this one is done once more.
#[test]
fn a_publication_that_was_superseded_is_repeated() {
    let process = FakeProcess::start();
    let mut root = SimulatedRoot::start(&process, LoaderRole::Singleton, FETCHED);
    let call = root.next_tick().remove(0);
    root.respond(&call, Some(&FakeResponse::ok(text(1))));
    Publisher::take_over(&process.shared).unwrap();
    let call = root.next_tick().remove(0);
    root.respond(&call, Some(&FakeResponse::ok(text(2))));
    assert_eq!(in_effect(&process), Some(1), "superseded");
    let call = root.next_tick().remove(0);
    root.respond(&call, Some(&serve(&text(2), &call)));
    assert_eq!(in_effect(&process), Some(2));
}

#[test]
fn an_inline_document_takes_effect_at_once_in_a_new_process_only() {
    let process = FakeProcess::start();
    let first = SimulatedRoot::start(&process, LoaderRole::Fallback, &inline(1));
    assert_eq!(in_effect(&process), Some(1), "before its first tick");
    // Envoy may yet reject the next configuration, and then its root never ticks.
    drop(SimulatedRoot::start(
        &process,
        LoaderRole::Fallback,
        &inline(2),
    ));
    assert_eq!(in_effect(&process), Some(1), "canary");
    let mut second = SimulatedRoot::start(&process, LoaderRole::Fallback, &inline(2));
    assert_eq!(in_effect(&process), Some(1), "not before its first tick");
    second.next_tick();
    assert_eq!(in_effect(&process), Some(2));
    drop(first);
}

#[test]
fn a_peer_continues_what_another_has_published() {
    let process = FakeProcess::start();
    let first = SimulatedRoot::start(&process, LoaderRole::Fallback, &inline(1));
    let mut peer = SimulatedRoot::start(&process, LoaderRole::Fallback, &inline(1));
    drop(first);
    let policy = |process: &FakeProcess| Snapshot::read(process.shared.get(POLICY).0.unwrap());
    let before = policy(&process).unwrap();
    for _ in 0..20 {
        process.pass_ms(500);
        peer.tick();
    }
    let holder = peer.host.get(LOADER).0.unwrap();
    assert_eq!(generation(&process), 1, "it publishes nothing");
    let after = policy(&process).unwrap();
    assert!(after.writer > before.writer, "it is the writer");
    let writer = after.writer;
    assert_eq!(after.encode(), Snapshot { writer, ..before }.encode());
    process.pass_ms(500);
    peer.tick();
    assert_ne!(peer.host.get(LOADER).0.unwrap(), holder, "it renews");
}

/// However long the newer root has been gone when the response comes: also if it is what makes the older root lead again.
#[test]
fn a_response_is_void_once_another_root_has_published() {
    for ticks in 0..20 {
        let process = FakeProcess::start();
        let mut old = SimulatedRoot::start(&process, LoaderRole::Fallback, FETCHED);
        let call = old.next_tick().remove(0);
        old.respond(&call, Some(&FakeResponse::ok(text(1))));
        let late = old.next_tick().remove(0);
        let mut newer = SimulatedRoot::start(&process, LoaderRole::Fallback, &inline(2));
        newer.next_tick();
        assert_eq!(in_effect(&process), Some(2));
        drop(newer);
        for _ in 0..ticks {
            process.pass_ms(700);
            old.tick();
        }
        process.pass_ms(700);
        old.respond(&late, Some(&FakeResponse::ok(text(3))));
        assert_eq!(in_effect(&process), Some(2), "after {ticks} ticks");
    }
}

/// A filter of a release that knows nothing of leases publishes while this root holds one.
#[test]
fn a_response_is_void_once_another_release_has_published() {
    let process = FakeProcess::start();
    let mut root = SimulatedRoot::start(&process, LoaderRole::Singleton, FETCHED);
    let call = root.next_tick().remove(0);
    root.respond(&call, Some(&FakeResponse::ok(text(1))));
    let call = root.next_tick().remove(0);
    let told = 7_u64.to_le_bytes();
    process.shared.set(GENERATION, &told, None).unwrap();
    root.respond(&call, Some(&FakeResponse::ok(text(2))));
    assert_eq!(generation(&process), 7);
    let call = root.next_tick().remove(0);
    root.respond(&call, Some(&FakeResponse::ok(text(2))));
    assert_eq!((generation(&process), in_effect(&process)), (8, Some(2)));
}

#[test]
fn only_a_singleton_needs_a_source() {
    // (configuration, role, whether it is accepted and loads)
    let cases = [
        ("{}", LoaderRole::Fallback, Ok(false)),
        ("", LoaderRole::Fallback, Ok(false)),
        ("{}", LoaderRole::Singleton, Err(())),
        (FETCHED, LoaderRole::Fallback, Ok(true)),
        (FETCHED, LoaderRole::Singleton, Ok(true)),
        ("{", LoaderRole::Fallback, Err(())),
        (
            r#"{"inline": {"groups": [{}]}}"#,
            LoaderRole::Fallback,
            Err(()),
        ),
    ];
    for (configuration, role, want) in cases {
        let process = FakeProcess::start();
        let host = crate::host::fake::FakeHost::of(&process);
        let got = crate::loader::Loader::configure(configuration.as_bytes(), role, &host);
        let got = got.map(|loader| loader.is_some()).map_err(|_| ());
        assert_eq!(got, want, "{configuration} {role:?}");
        assert_eq!(
            host.take_lines().is_empty(),
            want.is_ok(),
            "{configuration}"
        );
    }
}
