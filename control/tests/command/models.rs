//! `trilane models`: the list that a key gets.

use serde_json::{Value, json};

use crate::desk::Desk;

#[test]
fn lists() {
    let cases: [(&str, &[&str], &[&str]); 8] = [
        (
            "by its value",
            &["--key-file", "key.txt"],
            &[
                "gpt-5.1      GPT-5.1",
                "gpt-5.4      GPT-5.4",
                "gpt-image-1  GPT Image 1",
            ],
        ),
        (
            "by its id",
            &["--key-id", "key_b"],
            &["claude-opus-4-5  Claude Opus 4.5"],
        ),
        (
            "a group",
            &["--group", "b"],
            &["claude-opus-4-5  Claude Opus 4.5"],
        ),
        (
            "C asks by itself",
            &["--key-id", "key_c"],
            &["gemini-2.5-flash  Gemini 2.5 Flash"],
        ),
        (
            "C, said",
            &["--key-id", "key_c", "--protocol", "C"],
            &["gemini-2.5-flash  Gemini 2.5 Flash"],
        ),
        (
            "Mixed",
            &["--group", "mixed"],
            &[
                "gpt-5.1          GPT-5.1          responses    0.3000",
                "claude-opus-4-5  Claude Opus 4.5  vb_messages  2.0000",
            ],
        ),
        (
            "Mixed, B asks",
            &["--group", "mixed", "--protocol", "B"],
            &["gpt-5.1 ", "claude-opus-4-5 "],
        ),
        (
            "Mixed, C asks",
            &["--group", "mixed", "--protocol", "C"],
            &[],
        ),
    ];
    let desk = Desk::new();
    for (case, args, want) in cases {
        let ran = desk.run(&[&["models", "gateway.json"], args].concat());
        assert_eq!(ran.code, 0, "{case}: {ran:?}");
        let mut lines = ran.out.lines();
        assert!(
            lines.next().unwrap().starts_with("model"),
            "{case}: {ran:?}"
        );
        let lines: Vec<&str> = lines.collect();
        assert_eq!(lines.len(), want.len(), "{case}: {ran:?}");
        for (line, want) in lines.iter().zip(want) {
            assert!(line.starts_with(want), "{case}: {ran:?}");
        }
    }
}

#[test]
fn the_body_as_it_is() {
    let desk = Desk::new();
    let list = desk
        .run(&[
            "models",
            "gateway.json",
            "--format",
            "json",
            "--key-id",
            "key_b",
        ])
        .json();
    assert_eq!(
        (&list["object"], &list["data"][0]["id"]),
        (&json!("list"), &json!("claude-opus-4-5"))
    );
    let list = desk
        .run(&[
            "models",
            "gateway.json",
            "--format",
            "json",
            "--key-id",
            "key_c",
        ])
        .json();
    assert_eq!(list["models"][0]["name"], "models/gemini-2.5-flash");
    let explained = desk
        .run(&[
            "explain",
            "--document",
            "gateway.json",
            "--format",
            "json",
            "--key-id",
            "key_c",
            "GET",
            "/v1beta/models",
        ])
        .json();
    assert_eq!(
        explained["answer"]["body"].as_str().unwrap(),
        list.to_string(),
        "one answer, whoever asks for it"
    );
}

#[test]
fn long_lists_are_whole() {
    let desk = Desk::new();
    desk.change(|document| {
        for (group, id) in [(0, "gpt-"), (2, "gemini-")] {
            let models: Vec<Value> = (0..1500)
                .map(|i| json!({"id": format!("{id}{i}")}))
                .collect();
            document["groups"][group]["models"] = json!(models);
        }
        document["groups"].as_array_mut().unwrap().truncate(3);
        document["keys"] = json!([]);
    });
    for group in ["a", "c"] {
        let ran = desk.run(&["models", "gateway.json", "--group", group]);
        assert_eq!(ran.out.lines().count(), 1501, "{group}: {}", ran.err);
        assert!(
            ran.out.lines().last().unwrap().contains("-1499 "),
            "{group}"
        );
    }
}

#[test]
fn refusals() {
    let desk = Desk::new();
    for (case, args, code, want) in [
        (
            "disabled",
            &["--key-id", "key_off"][..],
            1,
            "would answer 401: ",
        ),
        (
            "a protocol that is not the group's",
            &["--group", "a", "--protocol", "C"],
            1,
            "would answer 403: ",
        ),
        ("nobody", &[], 2, "say whose list"),
        ("an unknown id", &["--key-id", "k"], 2, "`trilane key list`"),
        (
            "no protocol",
            &["--group", "a", "--protocol", "D"],
            2,
            "possible values: A, B, C",
        ),
    ] {
        let ran = desk.run(&[&["models", "gateway.json"], args].concat());
        assert_eq!(ran.code, code, "{case}: {ran:?}");
        assert!(
            ran.err.contains(want) && ran.out.is_empty(),
            "{case}: {ran:?}"
        );
    }
}
