//! The singleton loader: fetch, compare, publish, and keep what is good.

use trilane::config::snapshot::InForce;
use trilane::keys::KeyDigest;

use crate::documents::{LOADER, is_of_the_lease, loaded, sample, sha256, without_key};
use crate::host::{CallAnswer, Process, Vm, header, headers};
use crate::stream::{chat, exchange};

const INVALID: &str = "trilane_config_rejections_total;reason=invalid;";
const UNREACHABLE: &str = "trilane_config_rejections_total;reason=unreachable;";
const OVERSIZE: &str = "trilane_config_rejections_total;reason=oversize;";

fn loader(process: &Process) -> Vm {
    Vm::configured(process, "config-loader", LOADER)
}

#[test]
fn a_document_comes_into_force() {
    let process = Process::new();
    let mut loader = loader(&process);
    assert_eq!(process.generation(), None);
    let call = loader.load(CallAnswer::ok(sample().to_string()));
    assert_eq!(call.cluster, "config_source");
    assert_eq!(call.timeout_ms, 5000);
    assert_eq!(header(&call.headers, ":path"), Some(&b"/gateway.json"[..]));
    assert_eq!(header(&call.headers, "if-none-match"), None);

    assert_eq!(process.generation(), Some(1));
    let policy = process.data("trilane/policy").unwrap();
    let text = String::from_utf8_lossy(&policy).into_owned();
    let in_force = InForce::read(policy).unwrap();
    assert_eq!(in_force.policy.groups().len(), 3);
    for (key, group) in [("key-a", "a"), ("key-b", "b"), ("key-c", "c")] {
        let found = in_force.keys.get(&KeyDigest::of(key.as_bytes()));
        assert_eq!(found.unwrap().unwrap().group, group, "{key}");
        // No worker parses them with the policy.
        assert!(!text.contains(&sha256(key.as_bytes())), "{key}: {text}");
    }
    assert_eq!(process.metric("trilane_config_generation"), Some(1));
    assert_eq!(process.metric("trilane_config_keys"), Some(3));
    let names = process.written();
    assert_eq!(
        names.iter().rfind(|name| !is_of_the_lease(name)).unwrap(),
        "trilane/generation"
    );
}

/// Until a new process has its first document it refuses everything, so it looks more often; its source may be a
/// listener of its own, which is no failure while that opens.
#[test]
fn a_first_document_is_looked_for_more_often() {
    for (case, answered_ms) in [("at once", 0), ("soon", 60), ("not so soon", 5000)] {
        let process = Process::new();
        let mut loader = loader(&process);
        assert_eq!(loader.host().tick_ms, Some(20), "{case}");
        let mut waited = 0;
        while waited < answered_ms {
            let call = loader.tick_and_call();
            loader
                .answer(call.token, CallAnswer::status("503", ""))
                .unwrap();
            let period = loader.host().tick_ms.unwrap();
            assert_eq!(
                period,
                if waited < 1000 { 20 } else { 500 },
                "{case}: {waited} ms"
            );
            process.pass(period.into());
            waited += u64::from(period);
        }
        let counted = process.metric(UNREACHABLE).unwrap_or_default();
        assert_eq!(
            counted > 0,
            answered_ms > 1000,
            "{case}: {counted} failures"
        );
        assert_eq!(loader.logs().is_empty(), counted == 0, "{case}");
        loader.load(CallAnswer::ok(sample().to_string()));
        assert_eq!(process.generation(), Some(1), "{case}");
        loader.tick();
        assert_eq!(loader.host().tick_ms, Some(500), "{case}: there is one now");
    }
}

#[test]
fn an_unchanged_document_costs_nothing() {
    let cases = [
        ("the same bytes", CallAnswer::ok(sample().to_string())),
        ("304", CallAnswer::status("304", "")),
    ];
    for (case, answer) in cases {
        let process = Process::new();
        let mut loader = loader(&process);
        loader.load(CallAnswer::ok(sample().to_string()).with("etag", "\"one\""));
        process.written();
        process.pass(60_000);
        let call = loader.load(answer);
        assert_eq!(
            header(&call.headers, "if-none-match"),
            Some(&b"\"one\""[..]),
            "{case}"
        );
        let written = process.written();
        assert!(
            written.iter().all(|name| is_of_the_lease(name)),
            "{case}: {written:?}"
        );
        process.pass(500);
        loader.tick();
        assert_eq!(
            process.metric("trilane_config_age_seconds"),
            Some(0),
            "{case}: confirmed"
        );
    }
}

#[test]
fn a_document_is_published_in_one_value() {
    let process = Process::new();
    let mut loader = loaded(&process);
    process.written();
    loader.load(CallAnswer::ok(without_key("kb").to_string()));
    let mut written = process.written();
    written.retain(|name| !is_of_the_lease(name));
    assert_eq!(written, ["trilane/policy", "trilane/generation"]);
    assert_eq!(process.generation(), Some(2));
    let logs = loader.logs().join("\n");
    assert!(logs.contains("2 keys, 1 key records changed"), "{logs}");
}

#[test]
fn the_last_good_policy_stays() {
    let mut problems = sample();
    problems["groups"][0]["multiplier"] = "cheap".into();
    problems["groups"][1]["cluster"] = "".into();
    problems["keys"][2]["group"] = "nobody".into();
    let big = format!("{}{}", sample(), " ".repeat(5000));
    let mut wrong_form = sample();
    wrong_form["groups"][1]["multiplier"] = 2.into();
    wrong_form["groups"][2]["colour"] = "red".into();
    let cases: [(&str, CallAnswer, &str, &[&str]); 11] = [
        (
            "a wrong form",
            CallAnswer::ok(wrong_form.to_string()),
            INVALID,
            &["groups[1].multiplier: must be a string (`trilane check` lists every problem)"],
        ),
        ("no JSON", CallAnswer::ok("{"), INVALID, &["not valid JSON"]),
        ("empty", CallAnswer::ok(""), INVALID, &["not valid JSON"]),
        (
            "an empty object",
            CallAnswer::ok("{}"),
            INVALID,
            &["groups: is missing", "keys: is missing"],
        ),
        (
            "problems",
            CallAnswer::ok(problems.to_string()),
            INVALID,
            &["groups[0].multiplier", "groups[1].cluster", "keys[2].group"],
        ),
        (
            "bytes",
            CallAnswer::ok(vec![0xff; 300]),
            INVALID,
            &["not valid JSON"],
        ),
        (
            "status 500",
            CallAnswer::status("500", sample().to_string()),
            UNREACHABLE,
            &["status 500"],
        ),
        (
            "redirect",
            CallAnswer::status("302", "").with("location", "/x"),
            UNREACHABLE,
            &["status 302"],
        ),
        (
            "odd status",
            CallAnswer::status("\u{7}", ""),
            UNREACHABLE,
            &[],
        ),
        (
            "no answer",
            CallAnswer::failed(),
            UNREACHABLE,
            &["no answer"],
        ),
        (
            "too long",
            CallAnswer::ok(big),
            OVERSIZE,
            &["4000 are allowed"],
        ),
    ];
    for (case, answer, counter, said) in cases {
        let process = Process::new();
        let configuration = r#"{"source": {"cluster": "config_source", "max_bytes": 4000}}"#;
        let mut loader = Vm::configured(&process, "config-loader", configuration);
        loader.load(CallAnswer::ok(sample().to_string()));
        assert_eq!(process.generation(), Some(1), "{case}: {:?}", loader.logs());
        loader.logs();
        process.written();

        process.pass(500);
        loader.load(answer.clone());
        process.pass(3000);
        loader.load(answer);
        let logs = loader.logs();
        assert_eq!(logs.len(), 1, "{case}: said once: {logs:?}");
        for part in said {
            assert!(logs[0].contains(part), "{case}: {logs:?}");
        }
        let written = process.written();
        assert!(
            written.iter().all(|name| is_of_the_lease(name)),
            "{case}: {written:?}"
        );
        let counted = process.metric(counter).unwrap();
        // A document is judged once; a fetch fails each time.
        let want = if counter == INVALID { 1 } else { 2 };
        assert_eq!(counted, want, "{case}");
        process.pass(1000);
        loader.tick();
        assert_eq!(
            process.metric("trilane_config_age_seconds"),
            Some(4),
            "{case}: it grows"
        );
        let token = loader.calls()[0].token;
        loader
            .answer(token, CallAnswer::ok(sample().to_string()))
            .unwrap();
        loader.tick();
        assert_eq!(
            process.metric("trilane_config_age_seconds"),
            Some(0),
            "{case}: good again"
        );
    }
}

#[test]
fn a_slow_answer_is_awaited() {
    let process = Process::new();
    let mut loader = loader(&process);
    let call = loader.tick_and_call();
    loader.tick();
    loader.tick();
    assert!(loader.calls().is_empty(), "one call at a time");
    loader.answer(call.token, CallAnswer::failed()).unwrap();
    let call = loader.tick_and_call();
    loader
        .answer(call.token, CallAnswer::ok(sample().to_string()))
        .unwrap();
    assert_eq!(process.generation(), Some(1));
}

#[test]
fn an_unknown_cluster_is_asked_again() {
    let process = Process::new();
    let mut loader = loader(&process);
    loader.host().cluster_known = false;
    process.pass(1000);
    loader.tick();
    loader.tick();
    assert_eq!(loader.logs().len(), 1, "said once");
    assert_eq!(process.metric(UNREACHABLE), Some(2));
    loader.host().cluster_known = true;
    loader.load(CallAnswer::ok(sample().to_string()));
    assert_eq!(process.generation(), Some(1));
}

/// Before a real root there is a canary, configured and thrown away: it must leave nothing wrong.
#[test]
fn a_canary_does_no_harm() {
    let process = Process::new();
    let mut canary = loader(&process);
    let mut real = loader(&process);
    drop(canary.calls());
    drop(canary);
    real.load(CallAnswer::ok(sample().to_string()));
    assert_eq!(process.generation(), Some(1));
}

#[test]
fn an_inline_document_is_there_from_the_start() {
    let process = Process::new();
    let configuration = format!(r#"{{"inline": {}}}"#, sample());
    let mut canary = Vm::configured(&process, "config-loader", &configuration);
    assert_eq!(process.generation(), Some(1), "{:?}", canary.logs());
    let mut real = Vm::configured(&process, "config-loader", &configuration);
    assert_eq!(process.generation(), Some(1), "published once");
    real.tick();
    assert!(real.calls().is_empty(), "there is nothing to fetch");
    process.pass(60_000);
    real.tick();
    assert_eq!(process.metric("trilane_config_age_seconds"), Some(0));
}

#[test]
fn configurations_that_are_refused() {
    let document = sample().to_string();
    let cases = [
        (
            "nothing",
            "config-loader",
            String::new(),
            "needs source or inline",
        ),
        (
            "no source",
            "config-loader",
            "{}".to_owned(),
            "needs source or inline",
        ),
        ("no JSON", "config-loader", "tick".to_owned(), "expected"),
        (
            "typo",
            "config-loader",
            r#"{"sauce": {}}"#.to_owned(),
            "unknown field",
        ),
        (
            "inline with problems",
            "config-loader",
            r#"{"inline": {"groups": []}}"#.to_owned(),
            "groups: is missing or empty",
        ),
        (
            "inline with a typo",
            "config-loader",
            format!(r#"{{"inline": {{"querykey": 1, {}}}"#, &document[1..]),
            "unknown field",
        ),
        ("filter, no JSON", "gateway", "\u{1}".to_owned(), "expected"),
        (
            "filter, inline with problems",
            "gateway",
            r#"{"inline": {}}"#.to_owned(),
            "groups: is missing",
        ),
    ];
    for (case, root, configuration, want) in cases {
        let process = Process::new();
        let mut vm = Vm::start(&process, root);
        assert!(!vm.configure(&configuration), "{case}");
        let logs = vm.logs();
        assert!(
            logs.iter().any(|line| line.contains(want)),
            "{case}: {logs:?}"
        );
        assert_eq!(process.generation(), None, "{case}");
    }
}

#[test]
fn a_new_loader_leaves_nothing_of_an_earlier_one() {
    let process = Process::new();
    drop(loaded(&process));
    let mut second = loader(&process);
    second.load(CallAnswer::ok(without_key("kb").to_string()));
    assert_eq!(process.generation(), Some(2));
    let mut gateway = Vm::configured(&process, "gateway", "{}");
    let body = br#"{"model": "gpt-x"}"#;
    for (key, want) in [("key-a", 200), ("key-b", 401)] {
        let head = headers(&[
            (":method", "GET"),
            (":path", "/v1/models"),
            ("authorization", &format!("Bearer {key}")),
            ("x-api-key", key),
        ]);
        let stream = exchange(&mut gateway, head, b"");
        assert_eq!(stream.status(), want, "{key}");
    }
    let stream = exchange(&mut gateway, chat("key-a", None), body);
    assert!(stream.upstream.complete, "{stream:?}");
}
