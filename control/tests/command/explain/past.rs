//! Requests that are over: what their lines of the ledger tell.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::desk::Desk;

const ID: &str = "6f3c1d5e-7a10-4c7e-9d13-df448d0f0f4a";

/// A line of a request through the Mixed group, with these members on top; `null` takes one away.
fn line(more: &Value) -> String {
    let mut line = json!({
        "timestamp": "2026-11-21T19:12:03.201Z", "request_id": ID, "http.response.status_code": 200,
        "duration_ms": 5821, "flags": "-", "details": "via_upstream", "upstream": "127.0.0.1:9101",
        "http.request.method": "POST", "url.path": "/v1/chat/completions", "trilane.outcome": "finished",
        "trilane.usage.status": "complete", "trilane.endpoint": "chat_completions", "trilane.protocol": "A",
        "trilane.key.id": "key_m", "trilane.group": "mixed", "trilane.source": "a", "trilane.entry": "responses",
        "trilane.cluster": "a_up", "trilane.multiplier": "0.3000", "gen_ai.request.model": "gpt-5.1-2025-11-13",
        "trilane.model": "gpt-5.1", "trilane.upstream_model": "gpt-5.1", "trilane.stream": true,
        "http.request.body.size": 72, "trilane.time_to_first_byte_us": 812_345,
        "trilane.upstream_request_id": "req_vendor", "gen_ai.response.id": "chatcmpl-7"
    });
    for (name, value) in more.as_object().unwrap() {
        if value.is_null() {
            line.as_object_mut().unwrap().remove(name);
        } else {
            line[name] = value.clone();
        }
    }
    format!("{line}\n")
}

fn charged() -> Value {
    json!({
        "gen_ai.usage.input_tokens": 1200, "gen_ai.usage.cache_read.input_tokens": 200,
        "gen_ai.usage.output_tokens": 100, "trilane.usage.calls.web_search": 2,
        "trilane.charge": "0.00675", "trilane.currency": "USD",
        "trilane.spent.key.month": "20.5"
    })
}

#[test]
fn all_of_it() {
    let desk = Desk::new();
    let args = ["explain", "-", "--document", "gateway.json"];
    let ran = desk.run_with(&args, line(&charged()).as_bytes());
    let want = "\
POST /v1/chat/completions
  request   6f3c1d5e-7a10-4c7e-9d13-df448d0f0f4a at 2026-11-21T19:12:03.201Z
  who       key key_m, of the group mixed
  asked     chat_completions, of protocol A, for the model gpt-5.1-2025-11-13, as a stream, 72 bytes
  decided   model gpt-5.1, source a, entry responses, multiplier 0.3000
  tried     cluster a_up, at 127.0.0.1:9101
  ended     finished: the answer was relayed whole, after 5821 ms (first byte after 812 ms)
  used      input 1000, cache_read 200, output 100, web_search 2 (complete: as the upstream reported them)
  charged   0.00675 USD, which is
              input: 1000 at 1.25 a million = 0.00125
              cache_read: 200 at 1.25 a million = 0.00025
              output: 100 at 10 a million = 0.001
              web_search: 2 at 0.01 each = 0.02
              together, times 0.3 = 0.00675
  spent     20.5 of the key's month by then, this request included
  now       the key key_m is good, in the group mixed
200
";
    assert_eq!((ran.out.as_str(), ran.code), (want, 0), "{}", ran.err);
    let told = desk.run_with(
        &[&args[..], &["--format", "json"]].concat(),
        line(&charged()).as_bytes(),
    );
    let told = told.json();
    assert_eq!(told["request_id"], ID);
    assert_eq!(told["status"], 200);
    assert_eq!(told["bill"]["as_charged"], true);
    assert_eq!(
        told["bill"]["items"][1],
        json!({"what": "cache_read", "amount": 200, "price": "1.25", "cost": "0.00025"})
    );
    assert_eq!(told["line"]["trilane.charge"], "0.00675");
    assert_eq!(
        told["parts"][0],
        json!({"part": "who", "text": "key key_m, of the group mixed"})
    );
}

/// (case, members, what must be told)
type Case = (&'static str, Value, &'static [&'static str]);

#[test]
fn what_happened_and_what_to_do() {
    let refused = |status: u16, code: &str, more: Value| {
        let mut members = json!({
            "http.response.status_code": status, "trilane.outcome": "refused", "trilane.usage.status": "none",
            "error.type": code, "trilane.source": null
        });
        members
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        members
    };
    let cases: [Case; 14] = [
        (
            "an unknown key",
            refused(
                401,
                "invalid_api_key",
                json!({"trilane.key.id": null, "trilane.group": null}),
            ),
            &[
                "who       nobody that is known",
                "why       invalid_api_key: there was no key, or one that nobody knows",
                "x-goog-api-key (Gemini-style)",
                "\n401\n",
            ],
        ),
        (
            "a known key in a header that is not taken",
            refused(
                401,
                "invalid_api_key",
                json!({"trilane.key.found_in": "authorization", "trilane.key.owner": "ann"}),
            ),
            &[
                "who       key key_m of ann, of the group mixed, sent in authorization",
                "the key is known",
                "\"clients\": \"current\"",
            ],
        ),
        (
            "a rate",
            refused(
                429,
                "rate_limit_exceeded",
                json!({"trilane.limit": "output_tokens", "trilane.limit.scope": "group"}),
            ),
            &[
                "rate_limit_exceeded: the limit was used up when the request came (output_tokens of the group)",
                "charged   nothing",
                "max_tokens",
            ],
        ),
        (
            "a budget",
            refused(
                429,
                "insufficient_quota",
                json!({"trilane.limit": "budget_per_month", "trilane.limit.scope": "key"}),
            ),
            &["(budget_per_month of the key)", "raise the budget"],
        ),
        (
            "a model",
            refused(404, "model_not_found", json!({})),
            &[
                "for the model gpt-5.1-2025-11-13",
                "trilane models --document FILE",
            ],
        ),
        (
            "a code of another release",
            refused(418, "teapot", json!({})),
            &[
                "teapot: the gateway refused it",
                "see the message of the answer",
            ],
        ),
        (
            "accounts that all refuse",
            json!({
                "http.response.status_code": 502, "trilane.outcome": "upstream_failed", "trilane.usage.status": "failed",
                "error.type": "bad_gateway", "trilane.account": "b2", "trilane.tries": 2, "trilane.upstream_status": 401,
                "trilane.tries.failed": [
                    {"account": "b1", "kind": "unauthorized", "status": 401},
                    {"account": "b2", "kind": "no_credential", "status": 0, "reason": "no file"}
                ]
            }),
            &[
                "tried     b1 refused its credential, or its balance is used up (401); then b2 has no credential that can be read: nothing was sent: no file\n",
                "bad_gateway: every account that was asked refused its credential; the upstream answered 401",
                "the operator renews",
                "\n502\n",
            ],
        ),
        (
            "another account answers",
            json!({
                "trilane.account": "b2", "trilane.tries": 2,
                "trilane.tries.failed": [{"account": "b1", "kind": "rate_limited", "status": 429}]
            }),
            &["tried     b1 has reached a limit (429); then b2 answered\n"],
        ),
        (
            "no connection",
            json!({
                "http.response.status_code": 502, "trilane.outcome": "upstream_failed", "trilane.usage.status": "failed",
                "error.type": "bad_gateway", "trilane.upstream_failure": "connection refused", "flags": "UF"
            }),
            &[
                "no upstream gave an answer that could be relayed; connection refused",
                "Envoy says UF",
                "The same request may be sent again",
            ],
        ),
        (
            "the vendor limits",
            json!({"http.response.status_code": 429, "trilane.outcome": "upstream_error", "trilane.usage.status": "failed", "error.type": "rate_limit_error"}),
            &[
                "rate_limit_error: the vendor limits our account",
                "another account",
            ],
        ),
        (
            "the client left",
            json!({
                "trilane.outcome": "client_abort", "trilane.usage.status": "estimated", "details": "downstream_remote_disconnect",
                "gen_ai.usage.input_tokens": 18, "gen_ai.usage.output_tokens": 3, "trilane.estimated.input_tokens": 18,
                "trilane.estimated.output_tokens": 3, "trilane.charge": "0.1", "trilane.uncovered": ["tier"],
                "trilane.usage.doubt": "total_tokens is more than its parts", "trilane.usage.reported_cost": "0.2"
            }),
            &[
                "ended     client_abort: the client went away",
                "used      input 18, output 3 (estimated: not all of it was reported, the rest is estimated, 18 input tokens and 3 output tokens of it estimated); in doubt: total_tokens is more than its parts",
                "charged   0.1, the vendor says 0.2, and no price covers tier; --document shows from which prices",
                "the client's timeout",
            ],
        ),
        (
            "before the filter",
            json!({"trilane.outcome": null, "trilane.usage.status": null, "http.response.status_code": 400, "details": "http1.codec_error", "flags": "DPE", "trilane.key.id": null}),
            &[
                "Envoy answered before the filter saw it",
                "Envoy says DPE http1.codec_error",
                "\n400\n",
            ],
        ),
        (
            "no answer",
            json!({"trilane.outcome": "client_abort", "http.response.status_code": 0, "trilane.account": "b1", "trilane.tries": 1}),
            &["tried     b1 was asked last\n", "\nno answer\n"],
        ),
        (
            "a list",
            json!({"trilane.outcome": "answered", "trilane.usage.status": "none", "trilane.source": null}),
            &["answered: the gateway answered itself"],
        ),
    ];
    let desk = Desk::new();
    for (case, members, wanted) in cases {
        let ran = desk.run_with(&["explain", "-"], line(&members).as_bytes());
        assert_eq!(ran.code, 0, "{case}: {}", ran.err);
        for want in wanted {
            assert!(ran.out.contains(want), "{case}: {want}: {}", ran.out);
        }
    }
}

/// Explains by the document in force, which may have changed since.
#[test]
fn by_the_document() {
    let desk = Desk::new();
    let with = |more: Value| {
        let mut members = charged();
        members
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        desk.run_with(
            &["explain", "-", "--document", "gateway.json"],
            line(&members).as_bytes(),
        )
        .out
    };
    let cases: [Case; 7] = [
        (
            "other prices then",
            json!({"trilane.charge": "0.5"}),
            &[
                "0.5 USD; by the document as it is now it would be another amount",
                "= 0.00675\n",
            ],
        ),
        (
            "a class of service",
            json!({"trilane.service_tier": "priority", "trilane.charge": "0.0075"}),
            &[
                "0.0075 USD, which is",
                "input: 1000 at 2.5 a million",
                "together, times 0.3, at the prices of priority = 0.0075\n",
            ],
        ),
        (
            "no such source",
            json!({"trilane.source": "z"}),
            &["the document has no such source now"],
        ),
        (
            "no such model",
            json!({"trilane.model": "z"}),
            &["the document has no such model now"],
        ),
        (
            "no prices",
            json!({"trilane.model": "gpt-4"}),
            &["the document has no prices for the model now"],
        ),
        (
            "a disabled key",
            json!({"trilane.key.id": "key_off"}),
            &["now       the key key_off is disabled, in the group a"],
        ),
        (
            "a key that is gone",
            json!({"trilane.key.id": "key_z"}),
            &["now       the document does not have the key key_z\n"],
        ),
    ];
    for (case, members, wanted) in cases {
        let out = with(members);
        for want in wanted {
            assert!(out.contains(want), "{case}: {want}: {out}");
        }
    }
    let over = with(json!({"trilane.key.id": "key_over"}));
    assert!(
        over.contains("the key key_over is at its end since 2025-01-01T00:00:00Z"),
        "{over}"
    );
}

/// A line shows four decimal places: those of a multiplier of the key's own, or the first of the group's.
#[test]
fn the_multiplier_of_the_line() {
    let desk = Desk::new();
    desk.change(|document| {
        for group in document["groups"].as_array_mut().unwrap() {
            if group["id"] == "mixed" {
                group["entries"]["responses"]["extra_multiplier"] = json!("1.5002");
            }
        }
    });
    for (case, shown, charge, exact) in [
        (
            "the group's, 0.2 times 1.5002",
            "0.3000",
            "0.0067509",
            "0.30004",
        ),
        (
            "the key's own, which looks like the group's",
            "0.3000",
            "0.00675",
            "0.3",
        ),
        ("the key's own", "0.1500", "0.003375", "0.15"),
    ] {
        let mut members = charged();
        members["trilane.multiplier"] = json!(shown);
        members["trilane.charge"] = json!(charge);
        let args = ["explain", "-", "--document", "gateway.json"];
        let out = desk.run_with(&args, line(&members).as_bytes()).out;
        for want in [
            format!("charged   {charge} USD, which is\n"),
            format!("together, times {exact} = {charge}\n"),
        ] {
            assert!(out.contains(&want), "{case}: {want}: {out}");
        }
    }
}

#[test]
fn the_key_of_the_line() {
    let desk = Desk::new();
    let what = ["key", "access", "gateway.json", "--id", "key_m"];
    let own = ["--models", "gpt-5.1", "--multiplier", "0.15"];
    assert_eq!(desk.run(&[&what[..], &own].concat()).code, 0);
    let members = json!({"trilane.key.owner": "ann", "trilane.key.team": "east"});
    let args = ["explain", "-", "--document", "gateway.json"];
    let out = desk.run_with(&args, line(&members).as_bytes()).out;
    for want in [
        "key key_m of ann, of the team east, of the group mixed\n",
        "in the group mixed, with a list of its own of 1 model, with the multiplier 0.1500 of its own\n",
    ] {
        assert!(out.contains(want), "{want}: {out}");
    }
}

#[test]
fn where_it_is_found() {
    let desk = Desk::new();
    let other = line(
        &json!({"request_id": "other", "gen_ai.response.id": "x", "trilane.upstream_request_id": "y"}),
    );
    let both = format!("{other}no JSON {ID}\n{}", line(&json!({})));
    desk.write("plain.jsonl", &both);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(both.as_bytes()).unwrap();
    std::fs::write(desk.path("old.jsonl.gz"), gzip.finish().unwrap()).unwrap();
    let whole = line(&json!({}));
    let in_a_log = format!("envoy-1  | {whole}");
    let cases: [(&str, Vec<&str>, &str); 8] = [
        ("plain", vec![ID, "--ledger", "plain.jsonl"], ""),
        ("gzip", vec![ID, "--ledger", "old.jsonl.gz"], ""),
        (
            "standard input as a ledger",
            vec![ID, "--ledger", "-"],
            &both,
        ),
        (
            "the vendor's id",
            vec!["req_vendor", "--ledger", "plain.jsonl"],
            "",
        ),
        (
            "the id of the answer",
            vec!["chatcmpl-7", "--ledger", "plain.jsonl"],
            "",
        ),
        ("a line", vec![whole.trim_end()], ""),
        ("a line on standard input", vec!["-"], &whole),
        ("behind a log's prefix", vec!["-"], &in_a_log),
    ];
    for (case, args, input) in cases {
        let ran = desk.run_with(&[&["explain"], &args[..]].concat(), input.as_bytes());
        assert_eq!(ran.code, 0, "{case}: {}", ran.err);
        assert_eq!(ran.out.matches(ID).count(), 1, "{case}: {}", ran.out);
    }
    let twice = desk.run(&[
        "explain",
        ID,
        "--ledger",
        "plain.jsonl",
        "--ledger",
        "old.jsonl.gz",
    ]);
    assert_eq!(
        twice.out.matches(ID).count(),
        2,
        "an id that was used twice"
    );
    // Nobody names a ledger.
    let unnamed = |variable: Option<&str>| {
        let mut command = desk.command(&["explain", ID]);
        for name in ["TRILANE_LEDGER", "TRILANE_DATA", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        command.env("HOME", desk.path("home"));
        if let Some(files) = variable {
            command.env("TRILANE_LEDGER", files);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text.matches(ID).count())
    };
    assert_eq!(unnamed(None).1, 0, "not in another gateway of this machine");
    assert_eq!(unnamed(Some("plain.jsonl")), (0, 1));
    desk.write("plain-20261123T120000Z.jsonl", &both);
    desk.write("plain-notes.jsonl", &both);
    assert_eq!(
        unnamed(Some("plain.jsonl")),
        (0, 2),
        "with what was set aside"
    );
    assert_eq!(unnamed(Some("missing.jsonl")).0, 1, "it is not there");
    // A process with the arguments of its Envoy. It ends when its standard input does.
    let script = "while read -r _; do :; done";
    let mut envoy = std::process::Command::new("sh")
        .args(["-c", script, "envoy", "--config-path"])
        .arg(desk.path("running/run/envoy.yaml"))
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    for (count, data, name, whose) in [
        (
            1,
            "running",
            "ledger.jsonl",
            "that of a gateway that runs here",
        ),
        (
            2,
            "home/.local/share/trilane",
            "ledger.jsonl",
            "that of `trilane up`, too",
        ),
        (
            3,
            "home/.local/share/trilane",
            "ledger-20261123T120000Z.jsonl",
            "a rotated one",
        ),
    ] {
        std::fs::create_dir_all(desk.path(data).join("ledger")).unwrap();
        desk.write(&format!("{data}/ledger/{name}"), &both);
        assert_eq!(unnamed(None), (0, count), "{whose}");
    }
    drop(envoy.stdin.take());
    envoy.wait().unwrap();
}

#[test]
fn what_cannot_be_found() {
    let desk = Desk::new();
    desk.write("ledger.jsonl", &line(&json!({})));
    // (case, arguments, input, exit code, what is told)
    let cases: [(&str, &[&str], &str, i32, &str); 8] = [
        (
            "another id",
            &["nothing", "--ledger", "ledger.jsonl"],
            "",
            1,
            "no request with the id nothing in ledger.jsonl",
        ),
        (
            "a part of an id",
            &["6f3c1d5e", "--ledger", "ledger.jsonl"],
            "",
            1,
            "no request with the id",
        ),
        (
            "the name of a file",
            &["gateway.json", "--ledger", "ledger.jsonl"],
            "",
            1,
            "give METHOD and PATH behind it",
        ),
        (
            "no ledger",
            &[ID, "--ledger", "missing"],
            "",
            1,
            "cannot read missing",
        ),
        (
            "no line",
            &["-"],
            "no line\n",
            2,
            "standard input has no ledger line",
        ),
        (
            "not of a request",
            &["{\"timestamp\": \"x\"}"],
            "",
            2,
            "the line has no ledger line",
        ),
        (
            "a key",
            &[ID, "--ledger", "ledger.jsonl", "--key-id", "key_a"],
            "",
            2,
            "for a request that is described",
        ),
        (
            "a ledger",
            &["GET", "/v1/models", "--ledger", "ledger.jsonl"],
            "",
            2,
            "for a request that is over",
        ),
    ];
    for (case, args, input, code, want) in cases {
        let ran = desk.run_with(&[&["explain"], args].concat(), input.as_bytes());
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (code, ""),
            "{case}: {}",
            ran.err
        );
        assert!(ran.err.contains(want), "{case}: {}", ran.err);
    }
}
