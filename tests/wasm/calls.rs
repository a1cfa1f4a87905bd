//! The host calls of a request: each costs about as much as a thousand instructions of the filter's own, so none may be
//! added unseen.

use serde_json::json;

use crate::documents::{gateway, loaded_with, sample};
use crate::host::{Process, Vm, headers};
use crate::stream::{Stream, chat};

const BODY: &[u8] = br#"{"model": "gpt-x"}"#;
const ANSWER: &[u8] =
    br#"{"id":"r","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5}}"#;

/// A request that is forwarded and answered, in one chunk each; gives the host calls of each callback.
fn forwarded(vm: &mut Vm) -> Vec<(&'static str, Vec<String>)> {
    let mut stream = None;
    let mut calls = Vec::new();
    let mut note = |name, vm: &mut Vm, act: &mut dyn FnMut(&mut Vm, &mut Stream)| {
        let noted = vm.noted(|vm| {
            let stream =
                stream.get_or_insert_with(|| Stream::new(vm, chat("key-a", Some(BODY.len()))));
            act(vm, stream);
        });
        calls.push((name, noted));
    };
    note("request head", vm, &mut |vm, it| {
        it.head(vm, false).unwrap()
    });
    note("request body", vm, &mut |vm, it| {
        it.body(vm, BODY, true).unwrap()
    });
    note("response head", vm, &mut |vm, it| {
        let head = headers(&[(":status", "200"), ("x-request-id", "up-7")]);
        it.response_head(vm, head, Some("via_upstream")).unwrap();
    });
    note("response body", vm, &mut |vm, it| {
        it.response_body(vm, ANSWER, true).unwrap();
    });
    note("end", vm, &mut |vm, it| {
        let record = it.end(vm).unwrap().unwrap();
        assert_eq!(record["trilane.usage.status"], "complete", "{record}");
    });
    calls
}

/// The names of host calls, and what they are about, but for what is another in each run.
fn told(calls: &[(&'static str, Vec<String>)]) -> Vec<(&'static str, Vec<String>)> {
    let short = |call: &String| match call.split_once("/key/") {
        Some((start, _)) => format!("{start}/key"),
        None => call.clone(),
    };
    let told =
        |(callback, noted): &(_, Vec<String>)| (*callback, noted.iter().map(short).collect());
    calls.iter().map(told).collect()
}

#[test]
fn a_request_to_one_source_makes_these_and_no_other() {
    let process = Process::new();
    let mut vm = gateway(&process);
    // The first of a worker defines its counters, and compiles the policy.
    forwarded(&mut vm);
    // (case, the time that passes before, what is read of shared data)
    let cases = [
        ("at once", 0, &[][..]),
        (
            "ten milliseconds later",
            10,
            &["get_shared trilane/generation"],
        ),
        ("at once again", 0, &[]),
    ];
    for (case, passed, read) in cases {
        process.pass(passed);
        let calls = forwarded(&mut vm);
        let want = [
            ("request head", [&["get_headers", "clock 1"], read].concat()),
            (
                "request body",
                vec![
                    "get_buffer",
                    "remove_header authorization",
                    "set_header x-trilane-cluster",
                ],
            ),
            ("response head", vec!["get_headers"]),
            ("response body", vec!["get_buffer", "clock 1"]),
            ("end", vec!["set_property ledger"]),
        ];
        let want = want.map(|(callback, calls)| {
            (
                callback,
                calls.into_iter().map(str::to_owned).collect::<Vec<_>>(),
            )
        });
        assert_eq!(told(&calls), want, "{case}");
    }
    // However many requests there were, a tick writes each counter once.
    let noted = vm.noted(Vm::tick);
    let increments = noted.iter().filter(|call| *call == "increment_metric");
    assert_eq!(increments.count(), 4, "{noted:?}");
    let noted = vm.noted(Vm::tick);
    assert!(!noted.contains(&"increment_metric".to_owned()), "{noted:?}");
}

/// The host calls for a spend feed: one read for each subject whose budget it may report, and none without budget or feed.
#[test]
fn what_a_spend_feed_costs() {
    let budget = json!({"budget": {"per_day": "5"}});
    let counters = |scope: &str| {
        let name = format!("trilane/limit/2/{scope}");
        [format!("get_shared {name}"), format!("set_shared {name}")].to_vec()
    };
    let told = |scope: &str| vec![format!("get_shared trilane/spend/1/{scope}")];
    let none = Vec::new;
    // (case, members of the key, with a feed, calls at the admission, calls at the end)
    let cases = [
        ("no budget", json!({}), true, none(), none()),
        (
            "an owner without a budget",
            json!({"owner": "ann"}),
            true,
            told("owner/ann"),
            none(),
        ),
        (
            "a budget, and no feed",
            json!({"owner": "ann", "limits": budget}),
            false,
            counters("key/ka"),
            counters("key/ka"),
        ),
        (
            "a budget",
            json!({"limits": budget}),
            true,
            [told("key/ka"), counters("key/ka")].concat(),
            counters("key/ka"),
        ),
    ];
    for (case, members, fed, admission, end) in cases {
        let mut document = sample();
        if fed {
            document["spend_feed"] = json!({"cluster": "agent"});
        }
        for (name, value) in members.as_object().unwrap() {
            document["keys"][0][name] = value.clone();
        }
        for model in document["groups"][0]["models"].as_array_mut().unwrap() {
            model["free"] = json!(true);
        }
        let process = Process::new();
        loaded_with(&process, &document);
        process.put("trilane/spend/1", &[1]);
        let mut vm = Vm::configured(&process, "gateway", "{}");
        // The first of a worker reads more, once.
        forwarded(&mut vm);
        let calls = forwarded(&mut vm);
        let shared = |callback: &str| -> Vec<String> {
            let of = calls.iter().filter(|(name, _)| *name == callback);
            let all = of.flat_map(|(_, noted)| noted.iter().cloned());
            all.filter(|call| {
                call.contains("_shared trilane/limit") || call.contains("_shared trilane/spend")
            })
            .collect()
        };
        assert_eq!(shared("request body"), admission, "{case}");
        assert_eq!(shared("end"), end, "{case}");
        let others = ["request head", "response head", "response body"]
            .map(shared)
            .concat();
        assert!(others.is_empty(), "{case}: {others:?}");
    }
}
