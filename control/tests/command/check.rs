//! `trilane check`: what is wrong with documents, and how that ends.

use serde_json::json;

use crate::desk::{DOCUMENT, Desk};

/// A document with a warning: its Mixed group has no entry for protocol B.
const WARNED: &str = r#"{"groups": [
    {"id": "a", "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{"id": "m"}]},
    {"id": "x", "protocol": "Mixed", "entries": {"responses": {"source": "a"}},
     "models": [{"id": "m", "entry": "responses"}]},
    {"id": "b", "protocol": "B", "multiplier": "1", "cluster": "c", "models": [{"id": "n"}]}
], "keys": []}"#;
/// One with problems of form.
const FORM: &str =
    r#"{"groups": [{"id": "a", "naem": 1}], "keys": [{"id": "k", "disabled": "sk-dont-tell-x"}]}"#;
/// One with problems of meaning.
const MEANING: &str =
    r#"{"groups": [{"id": "a", "protocol": "A", "multiplier": "x"}], "keys": []}"#;

#[test]
fn verdicts_and_exit_codes() {
    let cases: [(&str, &[&str], i32, &[&str]); 11] = [
        (
            "good",
            &["gateway.json"],
            0,
            &["gateway.json: good (4 groups, 7 keys)"],
        ),
        (
            "a warning",
            &["warned.json"],
            0,
            &[
                "warned.json:3: warning: groups[1].entries",
                "warned.json: good (3 groups, 0 keys, 1 warning)",
            ],
        ),
        (
            "a warning, strict",
            &["--strict", "warned.json"],
            1,
            &[
                "warned.json:3: warning: ",
                "warned.json: not good (3 groups, 0 keys, 1 warning)",
            ],
        ),
        (
            "good, strict",
            &["--strict", "gateway.json"],
            0,
            &["gateway.json: good"],
        ),
        (
            "problems of form",
            &["form.json"],
            1,
            &[
                "form.json:1: error: groups[0].naem: unknown field",
                "form.json:1: error: keys[0].disabled: must be true or false",
                "form.json:1: error: keys[0].sha256: must be the 64",
                "form.json: not good (5 problems)",
            ],
        ),
        (
            "problems of meaning",
            &["meaning.json"],
            1,
            &[
                "meaning.json:1: error: groups[0]",
                "meaning.json:1: error: groups[0].multiplier: ",
            ],
        ),
        (
            "no JSON",
            &["broken.json"],
            1,
            &["broken.json: error: is not valid JSON (line 1, column 1)"],
        ),
        (
            "several",
            &["gateway.json", "form.json"],
            1,
            &["gateway.json: good", "form.json: not good"],
        ),
        (
            "one that is not there",
            &["gateway.json", "none.json"],
            2,
            &["gateway.json: good"],
        ),
        (
            "bad ones, and one that is not there",
            &["form.json", "none.json"],
            2,
            &["form.json: not good"],
        ),
        (
            "standard input",
            &["-"],
            0,
            &["-: good (3 groups, 0 keys, 1 warning)"],
        ),
    ];
    let desk = site();
    for (case, args, code, want) in cases {
        let ran = desk.run_with(&[&["check"], args].concat(), WARNED.as_bytes());
        assert_eq!(ran.code, code, "{case}: {ran:?}");
        for want in want {
            assert!(
                ran.out.lines().any(|line| line.starts_with(want)),
                "{case}: {want}: {ran:?}"
            );
        }
        let unread = args.contains(&"none.json");
        let told = ran
            .err
            .contains("cannot read the document none.json: No such file");
        assert_eq!(told, unread, "{case}: {ran:?}");
        assert!(unread || ran.err.is_empty(), "{case}: {ran:?}");
    }
    assert_eq!(desk.run(&["check"]).code, 2, "no document");
}

/// Accounts by their URLs: where their requests end.
#[test]
fn final_urls() {
    #[rustfmt::skip]
    let cases = [
        ("A", "https://h", "https://h/v1/chat/completions, https://h/v1/responses"),
        ("A", "https://h/v1", "https://h/v1/chat/completions, https://h/v1/responses"),
        ("A", "https://h/v1/", "https://h/v1/chat/completions, https://h/v1/responses"),
        ("A", "https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions, https://h/api/paas/v4/responses"),
        ("A", "https://h/v1beta/openai", "https://h/v1beta/openai/chat/completions, https://h/v1beta/openai/responses"),
        ("B", "http://h:8080/anthropic", "http://h:8080/anthropic/v1/messages"),
        ("B", "https://h/v1", "https://h/v1/messages"),
        ("C", "https://h", "https://h/v1beta/models/{model}:generateContent"),
        ("C", "https://h/v1beta", "https://h/v1beta/models/{model}:generateContent"),
        ("C", "https://h/v1", "https://h/v1/models/{model}:generateContent"),
    ];
    let desk = Desk::new();
    for (protocol, url, urls) in cases {
        let document = json!({"groups": [{"id": "g", "protocol": protocol, "multiplier": "1", "models": [{"id": "m"}],
            "accounts": [{"id": "one", "url": url, "credential": "k"}]}], "keys": []});
        desk.write("g.json", &document.to_string());
        let ran = desk.run(&["check", "--strict", "g.json"]);
        assert_eq!(ran.code, 0, "{url}: {ran:?}");
        let account = format!("g.json: account g/one: POST {urls}\n");
        assert!(ran.out.contains(&account), "{url}: {ran:?}");
        let report = desk.run(&["check", "--format", "json", "g.json"]).json();
        let listed: Vec<&str> = urls.split(", ").collect();
        assert_eq!(
            report["documents"][0]["accounts"][0]["urls"],
            json!(listed),
            "{url}"
        );
    }
}

#[test]
fn for_programs() {
    let desk = site();
    let ran = desk.run(&[
        "check",
        "--format",
        "json",
        "gateway.json",
        "warned.json",
        "form.json",
        "broken.json",
        "none.json",
    ]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let report = ran.json();
    assert_eq!(report["good"], false);
    let of = |position: usize| &report["documents"][position];
    let good = json!({
        "document": "gateway.json", "good": true, "groups": 4, "keys": 7, "problems": [], "warnings": [],
        "accounts": [
            {"group": "b", "account": "b1", "urls": ["https://b.example/v1/messages"]},
            {"group": "b", "account": "b2", "urls": ["https://b.example/v1/messages"]}
        ]
    });
    assert_eq!(*of(0), good);
    assert_eq!(of(1)["good"], true);
    assert_eq!(of(1)["warnings"].as_array().unwrap().len(), 1);
    assert_eq!(of(2)["problems"][0]["path"], "groups[0].naem");
    assert_eq!(of(1)["warnings"][0]["line"], 3);
    assert_eq!(of(2)["problems"][1]["reason"], "must be true or false");
    let problem = json!([{"path": "", "reason": "is not valid JSON (line 1, column 1)"}]);
    assert_eq!(of(3)["problems"], problem);
    assert!(
        of(4)["unreadable"]
            .as_str()
            .unwrap()
            .contains("No such file")
    );
    let strict = desk.run(&["check", "--format", "json", "--strict", "warned.json"]);
    assert_eq!((strict.code, &strict.json()["good"]), (1, &json!(false)));
}

fn site() -> Desk {
    let desk = Desk::new();
    for (name, text) in [
        ("warned", WARNED),
        ("form", FORM),
        ("meaning", MEANING),
        ("broken", "{"),
    ] {
        desk.write(&format!("{name}.json"), text);
    }
    desk
}

#[test]
fn what_a_budget_cannot_count_is_told_at_its_place() {
    let desk = Desk::new();
    let give = "give prices, or \"free\": true, to";
    // (what is taken out, where the budget is, what is said of it, the exit code, the last line)
    let cases = [
        (
            r#", "prices": {"input": "5", "cache_read": "0.5", "output": "25"}"#,
            r#""per_day": "10.50""#,
            format!(
                "error: groups[1].limits.budget: leaves keys of the group \"b\" no model, as none has a price: {give} claude-opus-4-5"
            ),
            1,
            "not good (1 problem)",
        ),
        (
            r#", "free": true"#,
            r#""per_month": "5""#,
            format!(
                "warning: keys[6].limits.budget: the key \"key_spent\" may not use models without a price: {give} gpt-5.4"
            ),
            0,
            "good (4 groups, 7 keys, 1 warning)",
        ),
    ];
    for (price, budget, said, code, last) in cases {
        assert_eq!(DOCUMENT.matches(price).count(), 1, "{price}");
        let text = DOCUMENT.replace(price, "");
        desk.write("gateway.json", &text);
        let line = text.lines().position(|line| line.contains(budget)).unwrap() + 1;
        let ran = desk.run(&["check", "gateway.json"]);
        let want = format!("gateway.json:{line}: {said}\n");
        assert!(ran.out.contains(&want), "{price}: {}", ran.out);
        let last = format!("gateway.json: {last}\n");
        assert!(ran.out.ends_with(&last), "{price}: {}", ran.out);
        assert_eq!(ran.code, code, "{price}");
    }
}

#[test]
fn cached_input_without_a_price_is_one_warning() {
    let desk = Desk::new();
    let flat = r#""prices": {"input": "5", "output": "25"}"#;
    let text = format!(
        r#"{{"currency": "USD", "keys": [],
        "groups": [{{"id": "b", "protocol": "B", "multiplier": "1", "cluster": "c", "models": [{{"id": "claude-m-1", {flat}}}, {{"id": "claude-m-2", {flat}}}]}},
            {{"id": "own", "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{{"id": "m", {flat}}}, {{"id": "gpt-4", {flat}}}]}},
            {{"id": "a", "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{{"id": "gpt-6-sol", {flat}}}]}}]}}"#
    );
    desk.write("flat.json", &text);
    let ran = desk.run(&["check", "flat.json"]);
    let want = "flat.json:2: warning: groups: vendors report input that was read from a cache, and these models have no price for it, \
                so it is charged as input: b/claude-m-1, b/claude-m-2, a/gpt-6-sol; give them one (cache_read), in each set of their prices\n";
    assert!(ran.out.starts_with(want), "{}", ran.out);
    assert!(
        ran.out.ends_with("good (3 groups, 0 keys, 1 warning)\n"),
        "{}",
        ran.out
    );
    desk.write(
        "priced.json",
        &text.replace(r#""input": "5""#, r#""input": "5", "cache_read": "0""#),
    );
    let priced = desk.run(&["check", "--strict", "priced.json"]);
    assert_eq!(priced.code, 0, "{}", priced.out);
}
