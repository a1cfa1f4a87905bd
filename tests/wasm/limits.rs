//! Limits: which refuse, and what is told of counters that cannot be changed.

use serde_json::{Value, json};

use crate::documents::{LOADER, sample};
use crate::host::{CallAnswer, Process, Vm};
use crate::stream::{Stream, chat};

const BODY: &[u8] = br#"{"model": "gpt-x"}"#;
const LOST: &str = "trilane_limit_lost_total";
/// The prefix of the names of counters.
const COUNTERS: &str = "trilane/limit/";

/// A gateway where the key `key-a` has these limits, and its group those.
fn gateway(process: &Process, own: Option<Value>, group: Option<Value>) -> Vm {
    let mut document = sample();
    for (place, limits) in [("keys", own), ("groups", group)] {
        if let Some(limits) = limits {
            document[place][0]["limits"] = limits;
        }
    }
    let mut loader = Vm::configured(process, "config-loader", LOADER);
    loader.load(CallAnswer::ok(document.to_string()));
    assert!(process.generation().is_some(), "{:?}", loader.logs());
    Vm::configured(process, "gateway", "{}")
}

/// A request that has been sent whole, and is not over.
fn begun(vm: &mut Vm) -> Stream {
    let mut stream = Stream::new(vm, chat("key-a", Some(BODY.len())));
    stream.head(vm, false).unwrap();
    stream.body(vm, BODY, true).unwrap();
    stream
}

#[test]
fn what_a_limit_refuses_is_counted() {
    let rate = || Some(json!({"requests_per_minute": 1}));
    let slot = || Some(json!({"concurrent_requests": 1}));
    for (case, own, group, limit, scope) in [
        ("rate, key", rate(), None, "requests", "key"),
        ("rate, group", None, rate(), "requests", "group"),
        ("slot, key", slot(), None, "concurrent_requests", "key"),
        ("slot, group", None, slot(), "concurrent_requests", "group"),
    ] {
        let process = Process::new();
        let mut vm = gateway(&process, own, group);
        let first = begun(&mut vm);
        let second = begun(&mut vm);
        assert_eq!((first.status(), second.status()), (0, 429), "{case}");
        let record = second.end(&mut vm).unwrap().unwrap();
        assert_eq!(record["trilane.limit"], limit, "{case}");
        assert_eq!(record["trilane.limit.scope"], scope, "{case}");
        first.end(&mut vm).unwrap();
        vm.tick();
        let name = format!("trilane_limited_total;group=a;limit={limit};scope={scope};");
        assert_eq!(process.metric(&name), Some(1), "{case}");
        assert_eq!(process.metric(LOST), Some(0), "{case}");
    }
}

#[test]
fn what_cannot_be_counted_is_refused_or_told() {
    let limits = || Some(json!({"requests_per_minute": 9, "concurrent_requests": 9}));
    for (case, at_first, later, status, lost) in [
        ("nobody is in the way", false, false, 0, 0),
        ("at the admission", true, true, 503, 0),
        ("at the end", false, true, 0, 1),
    ] {
        let process = Process::new();
        let mut vm = gateway(&process, limits(), limits());
        process.lock().contended = at_first.then_some(COUNTERS);
        let stream = begun(&mut vm);
        assert_eq!(stream.status(), status, "{case}");
        process.lock().contended = later.then_some(COUNTERS);
        let record = stream.end(&mut vm).unwrap().unwrap();
        assert_eq!(record.get("trilane.limit"), None, "{case}: {record}");
        process.lock().contended = None;
        vm.tick();
        assert_eq!(process.metric(LOST), Some(lost), "{case}: once an exchange");
    }
}

/// A step of the wall clock drains no bucket, frees no slot, and keeps neither from doing so in time.
#[test]
fn steps_of_the_wall_clock_let_nobody_in() {
    const DAY: i64 = 86_400_000;
    let cases = [
        ("rate", json!({"requests_per_minute": 1}), 60_000),
        ("slot", json!({"concurrent_requests": 1}), 30_000),
    ];
    for (case, limits, after_ms) in cases {
        for step in [DAY, -DAY, 3_600_000, -3_600_000] {
            let case = format!("{case}, a step by {step} ms");
            let process = Process::new();
            let mut vm = gateway(&process, Some(limits.clone()), None);
            let first = begun(&mut vm);
            assert_eq!(first.status(), 0, "{case}");
            for _ in 0..3 {
                process.step(step);
                process.pass(1000);
                let mut other = Vm::configured(&process, "gateway", "{}");
                assert_eq!(begun(&mut other).status(), 429, "{case}");
            }
            // The VM that holds the slot is gone, and a whole minute's worth drains.
            drop(vm);
            process.step(-step);
            process.pass(after_ms);
            let mut other = Vm::configured(&process, "gateway", "{}");
            assert_eq!(begun(&mut other).status(), 0, "{case}: in time");
        }
    }
}
