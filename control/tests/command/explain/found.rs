//! Findings on the way, and changes of a request before it leaves.

use serde_json::{Value, json};

use super::{CHAT, OPUS, VERSION};
use crate::desk::Desk;

#[test]
fn all_that_is_found_and_changed() {
    let desk = Desk::new();
    desk.write("body.json", OPUS);
    let secrets = [
        "-H",
        "Cookie: sk-dont-tell-c",
        "-H",
        "x-trilane-cluster: sk-dont-tell",
    ];
    let args = [
        "explain",
        "--document",
        "gateway.json",
        "--format",
        "json",
        "--key-id",
        "key_b",
        "POST",
        "/v1/messages?key=sk-dont-tell&beta=true",
    ];
    let told = desk
        .run(&[&args, &secrets[..], &VERSION, &["--body", "body.json"]].concat())
        .json();
    for (field, want) in [
        ("method", json!("POST")),
        ("path", json!("/v1/messages")),
        ("endpoint", json!("messages")),
        ("protocol", json!("B")),
        ("key", json!("key_b")),
        ("group", json!("b")),
        ("source", json!("b")),
        ("entry", json!("vb_messages")),
        ("multiplier", json!("2.0000")),
        ("named_model", json!("claude-opus-4.5")),
        ("model", json!("claude-opus-4-5")),
        ("upstream_model", json!("claude-opus-4-5-20251101")),
        (
            "prices",
            json!({"input": "5", "cache_read": "0.5", "output": "25"}),
        ),
        (
            "limits",
            json!({"group": {"requests_per_minute": 60, "budget_per_day": "10.5"}}),
        ),
    ] {
        assert_eq!(told[field], want, "{field}");
    }
    let upstream = &told["upstream"];
    assert_eq!(upstream["cluster"], "source/b");
    assert_eq!(upstream["accounts"], json!(["b1", "b2"]));
    let url = "https://b.example/v1/messages";
    let urls = json!([{"account": "b1", "url": url}, {"account": "b2", "url": url}]);
    assert_eq!(upstream["urls"], urls, "without the query");
    assert_eq!(
        upstream["headers_removed"],
        json!(["cookie", "x-trilane-cluster", "x-api-key"])
    );
    let set = |name: &str| {
        let mut set = upstream["headers_set"].as_array().unwrap().iter();
        set.find(|header| header[0] == name)
            .map(|header| header[1].clone())
    };
    let cluster = set("x-trilane-cluster").unwrap();
    assert!(
        cluster == "account/b/b1" || cluster == "account/b/b2",
        "{cluster}: the first attempt goes straight to an account"
    );
    assert_eq!(set(":path"), Some(json!("/v1/messages?beta=true")));
    let at = OPUS.find("\"claude").unwrap();
    let change = json!([{"at": at, "length": 17, "replacement": "\"claude-opus-4-5-20251101\""}]);
    assert_eq!(upstream["body_changes"], change);
}

#[test]
fn what_it_costs() {
    let desk = Desk::new();
    let chat = r#"{"model":"MODEL","messages":[]}"#;
    let tiers = json!({"input": "1.25", "output": "10", "per_call": {"web_search": "0.01"},
        "tiers": {"priority": {"input": "2.5", "output": "20"}}});
    // (key, model, path, the prices, in words)
    let cases = [
        (
            "key_a",
            "gpt-5.1",
            "/v1/chat/completions",
            tiers.clone(),
            "at input 1.25, output 10; a call: web_search 0.01; priority: input 2.5, output 20",
        ),
        (
            "key_m",
            "gpt-5.1",
            "/v1/responses",
            tiers,
            "at input 1.25, output 10; a call: web_search 0.01; priority: input 2.5, output 20",
        ),
        (
            "key_a",
            "gpt-5.4",
            "/v1/responses",
            json!("free"),
            "free: the document says so",
        ),
        (
            "key_c",
            "gemini-2.5-flash",
            "/v1beta/models/gemini-2.5-flash:generateContent",
            json!({}),
            "without prices: nothing is charged",
        ),
        (
            "key_c",
            "gemini-2.5-flash",
            "/v1beta/models/gemini-2.5-flash:countTokens",
            json!(null),
            "",
        ),
    ];
    for (key, model, path, prices, words) in cases {
        desk.write("body.json", &chat.replace("MODEL", model));
        let args = [
            "explain",
            "--document",
            "gateway.json",
            "--key-id",
            key,
            "--body",
            "body.json",
            "POST",
            path,
        ];
        let told = desk
            .run(&[&args[..], &["--format", "json"]].concat())
            .json();
        assert_eq!(told["decision"], "forwarded", "{model} {path}: {told}");
        assert_eq!(told["prices"], prices, "{model} {path}");
        let out = desk.run(&args).out;
        let line = format!("\n  {words}\n");
        assert_eq!(
            out.contains(&line),
            !words.is_empty(),
            "{model} {path}: {out}"
        );
        assert_eq!(
            out.contains("price"),
            words.contains("price"),
            "{model} {path}: {out}"
        );
    }
}

#[test]
fn multipliers_limits_and_long_bodies() {
    let desk = Desk::new();
    desk.write("chat.json", CHAT);
    let explain = |key: &str, body: &str| {
        let args = [
            "explain",
            "--document",
            "gateway.json",
            "--format",
            "json",
            "--key-id",
            key,
            "--body",
            body,
        ];
        desk.run(&[&args[..], &["POST", "/v1/chat/completions"]].concat())
    };
    let mixed = explain("key_m", "chat.json").json();
    assert_eq!(mixed["multiplier"], "0.3000");
    let route = mixed["steps"][3]["reason"].as_str().unwrap();
    assert!(
        route.ends_with("multiplier 0.3000 (the source's 0.2000 times the entry's extra)"),
        "{route}"
    );
    let usage = &mixed["upstream"]["body_changes"][0]["replacement"];
    assert!(usage.as_str().unwrap().contains("include_usage"), "{mixed}");
    let limited = explain("key_spent", "chat.json").json();
    assert_eq!(
        limited["limits"],
        json!({"key": {"concurrent_requests": 3, "budget_per_month": "5"}})
    );
    assert_eq!(
        limited["steps"].as_array().unwrap().last().unwrap()["step"],
        "limits"
    );
    desk.change(|document| {
        let now = "2099-01-01T00:00:00Z";
        document["keys"][6]["limits"]["budget"]["spent"] = json!({"at": now, "in_month": "5"});
        document["max_body"] = json!(1_000_000);
    });
    // Broken far behind the model, when the head has left.
    let long = format!(r#"{{"model":"gpt-5.1","a":"{}"}}]"#, "x".repeat(600_000));
    desk.write("long.json", &long);
    let broken = explain("key_a", "long.json");
    let told = broken.json();
    assert_eq!((broken.code, &told["decision"]), (1, &json!("refused")));
    let verdicts: Vec<_> = told["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (&step["step"], &step["result"]))
        .collect();
    assert!(
        verdicts.contains(&(&json!("body"), &json!("refused"))),
        "{verdicts:?}"
    );
    assert!(
        verdicts.contains(&(&json!("model"), &json!("good"))),
        "{verdicts:?}"
    );
    assert_eq!(told["upstream"]["cluster"], "a_up", "the head had left");
}

#[test]
fn a_change_behind_what_has_gone() {
    let desk = Desk::new();
    let body = format!(
        r#"{{"model":"gpt-5.1","a":"{}","stream":true}}"#,
        "x".repeat(40_000)
    );
    desk.change(|document| document["max_body"] = json!(1_000_000));
    desk.write("body.json", &body);
    let args = [
        "explain",
        "--document",
        "gateway.json",
        "--format",
        "json",
        "--key-id",
        "key_a",
        "--body",
        "body.json",
    ];
    let told = desk
        .run(&[&args[..], &["POST", "/v1/chat/completions"]].concat())
        .json();
    let change = &told["upstream"]["body_changes"][0];
    let (at, length) = (
        change["at"].as_u64().unwrap(),
        change["length"].as_u64().unwrap(),
    );
    let (at, length) = (
        usize::try_from(at).unwrap(),
        usize::try_from(length).unwrap(),
    );
    let changed = [
        &body[..at],
        change["replacement"].as_str().unwrap(),
        &body[at + length..],
    ]
    .concat();
    let changed: Value =
        serde_json::from_str(&changed).expect("the place is that of the whole body");
    assert_eq!(changed["stream_options"]["include_usage"], true);
}

#[test]
fn keys_of_a_feed() {
    let desk = Desk::new();
    desk.change(|document| document["keys_feed"] = json!({"cluster": "feed"}));
    let args = [
        "explain",
        "--document",
        "gateway.json",
        "--key",
        "sk-dont-tell-fed",
        "GET",
        "/v1/models",
    ];
    let ran = desk.run(&args);
    let want =
        "does not know this key, and what its feed knows is not known here (--group stands for";
    assert!(ran.code == 1 && ran.out.contains(want), "{ran:?}");
    let ran = desk.run(&[
        "explain",
        "--document",
        "gateway.json",
        "--format",
        "json",
        "--group",
        "a",
        "GET",
        "/v1/models",
    ]);
    assert_eq!(
        (ran.code, &ran.json()["key"]),
        (0, &Value::Null),
        "nobody in particular"
    );
}

#[test]
fn a_budget_that_is_spent() {
    let desk = Desk::new();
    desk.write("chat.json", CHAT);
    let now = time_now();
    desk.change(|document| {
        document["keys"][6]["limits"]["budget"]["spent"] = json!({"at": now, "in_month": "5"});
    });
    let args = [
        "explain",
        "--document",
        "gateway.json",
        "--format",
        "json",
        "--key-id",
        "key_spent",
        "--body",
        "chat.json",
    ];
    let ran = desk.run(&[&args[..], &["POST", "/v1/chat/completions"]].concat());
    let told = ran.json();
    assert_eq!(
        (ran.code, &told["answer"]["code"]),
        (1, &json!("insufficient_quota")),
        "{ran:?}"
    );
    let last = told["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["step"], &last["result"]),
        (&json!("limits"), &json!("refused"))
    );
}

fn time_now() -> String {
    let output = std::process::Command::new("date")
        .args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
