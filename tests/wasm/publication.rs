//! A publication, write by write: a request that comes in between is decided as before it or as after it.
//!
//! A worker may look at the generation before or after any write, and keeps what it has read for ten milliseconds.

use serde_json::{Value, json};

use crate::documents::{LOADER, sha256};
use crate::host::{CallAnswer, LOOK_MS, Process, Vm, header, headers};
use crate::stream::{Stream, exchange};

fn group(id: &str, models: &[&str]) -> Value {
    let models: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
    json!({"id": id, "protocol": "A", "multiplier": "1", "cluster": format!("cluster_{id}"), "models": models})
}

fn mixed(id: &str, source: &str, model: &str) -> Value {
    json!({
        "id": id, "protocol": "Mixed", "entries": {"responses": {"source": source}},
        "models": [{"id": model, "entry": "responses"}]
    })
}

/// A document of these groups; keys are written `key>group`, or `key>group!` where disabled.
fn document(groups: &[Value], keys: &[&str]) -> Value {
    let keys: Vec<Value> = keys
        .iter()
        .map(|text| {
            let (key, group) = text.split_once('>').unwrap();
            let disabled = group.ends_with('!');
            let group = group.trim_end_matches('!');
            json!({"id": key, "sha256": sha256(key.as_bytes()), "group": group, "disabled": disabled})
        })
        .collect();
    json!({"groups": groups, "keys": keys})
}

/// Returns the cluster that a request of key `k` reaches, or the status of our reply.
fn verdict(vm: &mut Vm, model: &str) -> String {
    let head = headers(&[
        (":method", "POST"),
        (":path", "/v1/responses"),
        ("authorization", "Bearer k"),
    ]);
    let stream: Stream = exchange(vm, head, json!({"model": model}).to_string().as_bytes());
    match &stream.upstream.head {
        Some(head) if stream.upstream.complete => {
            String::from_utf8_lossy(header(head, "x-trilane-cluster").unwrap()).into_owned()
        }
        _ => stream.status().to_string(),
    }
}

/// Publishes `before`, then `after`, and looks at every state that a request could meet.
fn check(case: &str, before: &Value, after: &Value, same_loader: bool) {
    let process = Process::new();
    let mut loader = Vm::configured(&process, "config-loader", LOADER);
    loader.load(CallAnswer::ok(before.to_string()));
    let first = process.writes();
    if !same_loader {
        loader = Vm::configured(&process, "config-loader", LOADER);
    }
    loader.load(CallAnswer::ok(after.to_string()));
    let second = process.writes();
    assert_eq!(
        loader
            .logs()
            .iter()
            .filter(|line| line.contains("refused"))
            .count(),
        0,
        "{case}"
    );

    for pace_ms in [0, LOOK_MS] {
        replay(case, &process, &first, &second, pace_ms);
    }
}

/// Does the writes one by one, `pace_ms` apart, with requests between: a worker that has a policy may or may not look
/// for another one.
fn replay(
    case: &str,
    process: &Process,
    first: &[(String, Vec<u8>)],
    second: &[(String, Vec<u8>)],
    pace_ms: u64,
) {
    let case = format!("{case}, a write every {pace_ms} ms");
    let replayed = Process::new();
    for (name, value) in first {
        replayed.put(name, value);
    }
    // One worker has seen the policy before, another starts with what it finds.
    let mut warm = Vm::configured(&replayed, "gateway", "{}");
    let models = ["x", "y"];
    let old = models.map(|model| verdict(&mut warm, model));
    let mut end = Vm::configured(process, "gateway", "{}");
    let new = models.map(|model| verdict(&mut end, model));
    for (step, (name, value)) in second.iter().enumerate() {
        replayed.put(name, value);
        replayed.pass(pace_ms);
        let mut cold = Vm::configured(&replayed, "gateway", "{}");
        for (i, model) in models.into_iter().enumerate() {
            for (worker, vm) in [("warm", &mut warm), ("cold", &mut cold)] {
                let now = verdict(vm, model);
                assert!(
                    now == old[i] || now == new[i],
                    "{case}: after write {step} ({name}) a {worker} worker says {now} to {model}, before {}, then {}",
                    old[i],
                    new[i],
                );
            }
        }
    }
    replayed.pass(LOOK_MS);
    assert_eq!(
        models.map(|model| verdict(&mut warm, model)),
        new,
        "{case}: at the end"
    );
}

fn check_both(case: &str, before: &Value, after: &Value) {
    check(case, before, after, true);
    check(&format!("{case}, by a new loader"), before, after, false);
}

#[test]
fn nothing_in_between() {
    let (g, h) = (|| group("g", &["x"]), || group("h", &["x", "y"]));
    let cases = [
        ("another name", document(&[g()], &["k>g"]), {
            let mut after = document(&[g()], &["k>g"]);
            after["groups"][0]["name"] = "G".into();
            after
        }),
        (
            "a model more",
            document(&[g()], &["k>g"]),
            document(&[group("g", &["x", "y"])], &["k>g"]),
        ),
        (
            "moved",
            document(&[g(), h()], &["k>g"]),
            document(&[g(), h()], &["k>h"]),
        ),
        (
            "moved, its group goes",
            document(&[g(), h()], &["k>g"]),
            document(&[h()], &["k>h"]),
        ),
        (
            "moved to a new group, its own goes",
            document(&[g()], &["k>g"]),
            document(&[h()], &["k>h"]),
        ),
        (
            "disabled",
            document(&[g()], &["k>g"]),
            document(&[g()], &["k>g!"]),
        ),
        (
            "enabled",
            document(&[g()], &["k>g!"]),
            document(&[g()], &["k>g"]),
        ),
        (
            "removed",
            document(&[g()], &["k>g", "l>g"]),
            document(&[g()], &["l>g"]),
        ),
        (
            "removed with its group",
            document(&[g(), h()], &["k>g", "l>h"]),
            document(&[h()], &["l>h"]),
        ),
        (
            "added",
            document(&[g()], &["l>g"]),
            document(&[g()], &["k>g", "l>g"]),
        ),
    ];
    for (case, before, after) in cases {
        check_both(case, &before, &after);
    }
}

#[test]
fn moved_to_a_new_group() {
    let before = document(&[group("g", &["x"])], &["k>g"]);
    let after = document(&[group("g", &["x"]), group("h", &["x", "y"])], &["k>h"]);
    check_both("moved to a new group", &before, &after);
}

#[test]
fn added_with_a_new_group() {
    let before = document(&[group("g", &["x"])], &["l>g"]);
    let after = document(&[group("g", &["x"]), group("h", &["x"])], &["l>g", "k>h"]);
    check_both("added with a new group", &before, &after);
}

#[test]
fn moved_out_of_a_mixed_group_that_no_longer_fits() {
    let before = document(&[group("g", &["x", "y"]), mixed("m", "g", "x")], &["k>m"]);
    let after = document(&[group("g", &["y"]), group("h", &["x"])], &["k>h"]);
    check_both("moved out of a Mixed group", &before, &after);
}

/// Another group goes at the same time, so a policy of both documents is in force for a moment.
#[test]
fn moved_out_of_a_group_that_changes() {
    let [g, h, z] = ["g", "h", "z"].map(|id| group(id, &["x"]));
    let before = document(&[g, h.clone(), z], &["k>g"]);
    let after = document(&[group("g", &["y"]), h], &["k>h"]);
    check_both("moved out of a group that changes", &before, &after);
}

#[test]
fn moved_to_a_new_mixed_group_over_what_is_new() {
    let before = document(&[group("g", &["x"])], &["k>g"]);
    let after = document(&[group("g", &["x", "y"]), mixed("m", "g", "y")], &["k>m"]);
    check_both("moved to a new Mixed group", &before, &after);
}

#[test]
fn moved_into_a_group_that_changes() {
    let before = document(&[group("g", &["x"]), group("h", &["x"])], &["k>g"]);
    let after = document(&[group("g", &["x"]), group("h", &["y"])], &["k>h"]);
    check_both("moved into a group that changes", &before, &after);
}
