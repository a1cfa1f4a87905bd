//! A key with models and a multiplier of its own.

use serde_json::Value;

use super::{CHAT, OPUS, VERSION};
use crate::desk::Desk;

/// A desk whose `key_m` has this of its own.
fn desk(own: &[&str]) -> Desk {
    let desk = Desk::new();
    let what = ["key", "access", "gateway.json", "--id", "key_m"];
    let ran = desk.run(&[&what[..], own].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    desk.write("chat.json", CHAT);
    desk.write("opus.json", OPUS);
    desk
}

/// Exit code and explanation.
fn explain(desk: &Desk, body: &str, path: &str) -> (i32, Value) {
    let args = [
        "explain",
        "--document",
        "gateway.json",
        "--format",
        "json",
        "--key-id",
        "key_m",
        "--body",
        body,
        "POST",
        path,
    ];
    let ran = desk.run(&[&args[..], &VERSION].concat());
    (ran.code, ran.json())
}

fn reason<'a>(told: &'a Value, step: &str) -> &'a str {
    let steps = told["steps"].as_array().unwrap();
    let step = steps.iter().find(|each| each["step"] == step).unwrap();
    step["reason"].as_str().unwrap()
}

#[test]
fn a_multiplier_replaces_that_of_each_entry() {
    let desk = desk(&["--multiplier", "0.15"]);
    for (case, body, path, of_group) in [
        ("responses", "chat.json", "/v1/chat/completions", "0.3000"),
        ("vb_messages", "opus.json", "/v1/messages", "2.0000"),
    ] {
        let (code, told) = explain(&desk, body, path);
        assert_eq!(
            (code, told["multiplier"].as_str()),
            (0, Some("0.1500")),
            "{case}: {told}"
        );
        let route = reason(&told, "route");
        let want = format!("multiplier 0.1500 (the key's own; the group's is {of_group})");
        assert!(route.ends_with(&want), "{case}: {route}");
    }
    // The list has it too.
    let list = desk
        .run(&["models", "gateway.json", "--key-id", "key_m"])
        .out;
    assert_eq!(list.matches(" 0.1500").count(), 2, "{list}");
}

#[test]
fn a_list_of_models() {
    let desk = desk(&["--models", "claude-opus-4-5"]);
    let (code, told) = explain(&desk, "opus.json", "/v1/messages");
    assert_eq!(
        (code, told["model"].as_str()),
        (0, Some("claude-opus-4-5")),
        "{told}"
    );
    assert_eq!(told["multiplier"], "2.0000", "the group's");
    let route = reason(&told, "route");
    assert!(
        route.ends_with("; of its models the key's own list has 1"),
        "{route}"
    );
    let (code, told) = explain(&desk, "chat.json", "/v1/chat/completions");
    assert_eq!(
        (code, told["answer"]["code"].as_str()),
        (1, Some("model_not_found")),
        "{told}"
    );
    assert_eq!(told["answer"]["status"], 404);
    let model = reason(&told, "model");
    let want = " The group mixed has gpt-5.1, but the key has a list of its own, without it.";
    assert!(model.ends_with(want), "{model}");
    // What the group lacks, too, is not the list's fault.
    desk.write("chat.json", &CHAT.replace("gpt-5.1-2025-11-13", "gpt-9"));
    let (_, told) = explain(&desk, "chat.json", "/v1/chat/completions");
    assert!(
        !reason(&told, "model").contains("list of its own"),
        "{told}"
    );
    // The key's list of models is its own one.
    let list = desk.run(&["models", "gateway.json", "--key-id", "key_m"]);
    let lines: Vec<&str> = list.out.lines().collect();
    assert!(
        lines.len() == 2 && lines[1].starts_with("claude-opus-4-5 "),
        "{list:?}"
    );
    let group = desk
        .run(&["models", "gateway.json", "--group", "mixed"])
        .out;
    assert_eq!(group.lines().count(), 3, "others have all: {group}");
}
