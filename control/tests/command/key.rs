//! `trilane key`: keys come, change and go, and all else of the document stays byte for byte.

mod access;
mod changes;
mod files;
mod in_force;
mod terms;
mod values;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::command_output::CommandOutput;
use crate::desk::Desk;

/// Runs `trilane key` on the document.
fn key(desk: &Desk, args: &[&str]) -> CommandOutput {
    let (what, more) = args.split_first().unwrap();
    desk.run(&[&["key", what, "gateway.json"], more].concat())
}

fn digest(key: &str) -> String {
    hex::encode(Sha256::digest(key.as_bytes()))
}

/// Returns the key as the document has it.
fn says(desk: &Desk, id: &str) -> Value {
    let document: Value = serde_json::from_str(&desk.read("gateway.json")).unwrap();
    let keys = document["keys"].as_array().unwrap();
    keys.iter()
        .find(|key| key["id"] == id)
        .cloned()
        .unwrap_or_default()
}

/// Whether the gateway takes a key.
fn is_taken(desk: &Desk, key: &str) -> bool {
    desk.write("new.txt", key);
    let args = [
        "explain",
        "--document",
        "gateway.json",
        "--key-file",
        "new.txt",
        "GET",
        "/v1/models",
    ];
    desk.run(&args).code == 0
}
