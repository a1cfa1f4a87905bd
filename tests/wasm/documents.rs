//! Documents for the scenarios, and a gateway that has one in force.

use serde_json::{Value, json};
use trilane::keys::KeyDigest;

use crate::host::{CallAnswer, Process, Vm};

pub const LOADER: &str =
    r#"{"source": {"cluster": "config_source", "path": "/gateway.json"}, "tick_ms": 500}"#;

/// The SHA-256 of a key as a document names it.
pub fn sha256(key: &[u8]) -> String {
    hex::encode(KeyDigest::of(key).bytes())
}

/// Whether this is written to keep the loader's place.
pub fn is_of_the_lease(name: &str) -> bool {
    name == "trilane/loader"
}

/// Lets a root tick until it asks for something: it loads. What it asks is left to be looked at.
pub fn wait_until_it_asks(vm: &mut Vm, process: &Process) {
    for _ in 0..60 {
        process.pass(500);
        vm.tick();
        if !vm.host().calls.is_empty() {
            return;
        }
    }
    panic!("it never loads: {:?}", vm.logs());
}

/// Three groups, one key for each (`key-a`, `key-b`, `key-c`), one model with another name upstream.
pub fn sample() -> Value {
    json!({
        "inspect_window": 1024,
        "groups": [
            {"id": "a", "name": "A", "protocol": "A", "multiplier": "0.2", "cluster": "cluster_a",
             "models": [{"id": "gpt-x"}, {"id": "gpt-y", "upstream": "a-much-longer-name"}]},
            {"id": "b", "name": "B", "protocol": "B", "multiplier": "2", "cluster": "cluster_b",
             "models": [{"id": "claude-opus-4-5"}]},
            {"id": "c", "name": "C", "protocol": "C", "multiplier": "0.5", "cluster": "cluster_c",
             "models": [{"id": "gem-flash"}]}
        ],
        "keys": [
            {"id": "ka", "sha256": sha256(b"key-a"), "group": "a"},
            {"id": "kb", "sha256": sha256(b"key-b"), "group": "b"},
            {"id": "kc", "sha256": sha256(b"key-c"), "group": "c"}
        ]
    })
}

/// The sample with one key less.
pub fn without_key(id: &str) -> Value {
    let mut document = sample();
    let keys = document["keys"].as_array_mut().unwrap();
    keys.retain(|key| key["id"] != id);
    document
}

/// A loader that has brought the sample into force.
pub fn loaded(process: &Process) -> Vm {
    loaded_with(process, &sample())
}

/// A loader that has brought a document into force.
pub fn loaded_with(process: &Process, document: &Value) -> Vm {
    let mut loader = Vm::configured(process, "config-loader", LOADER);
    loader.load(CallAnswer::ok(document.to_string()));
    assert!(process.generation().is_some(), "{:?}", loader.logs());
    loader
}

/// A gateway in a process where the sample is in force.
pub fn gateway(process: &Process) -> Vm {
    loaded(process);
    Vm::configured(process, "gateway", "{}")
}
