//! Reading the feed of keys that the document names: which calls are made, whose answers count, what is said.

use serde_json::{Value, json};

use crate::documents::{LOADER, is_of_the_lease, sample, sha256, wait_until_it_asks};
use crate::host::{CallAnswer, HttpCall, LOOK_MS, Process, Vm, header, headers};
use crate::stream::{chat, exchange};

const BEHIND: &str = "trilane_keys_feed_rejections_total;reason=behind;";
const CURSOR: &str = "trilane_keys_feed_rejections_total;reason=cursor;";
const INVALID: &str = "trilane_keys_feed_rejections_total;reason=invalid;";
const OVERSIZE: &str = "trilane_keys_feed_rejections_total;reason=oversize;";
const UNREACHABLE: &str = "trilane_keys_feed_rejections_total;reason=unreachable;";

/// The sample with a feed at this path.
fn document(path: &str) -> Value {
    let mut document = sample();
    document["keys_feed"] =
        json!({"cluster": "key_feed", "path": path, "authority": "keys.internal"});
    document
}

/// A change: `key>group`, or `key` alone where it is removed.
fn change(version: u64, text: &str) -> Value {
    match text.split_once('>') {
        None => json!({"version": version, "sha256": sha256(text.as_bytes()), "removed": true}),
        Some((key, group)) => {
            json!({"version": version, "sha256": sha256(key.as_bytes()), "id": key, "group": group})
        }
    }
}

/// A page whose changes end with this version.
fn page(version: u64, more: bool, changes: &[&str]) -> CallAnswer {
    let first = version + 1 - u64::try_from(changes.len()).unwrap();
    let changes: Vec<Value> = (first..)
        .zip(changes)
        .map(|(v, text)| change(v, text))
        .collect();
    let cursor = format!("c/{version}");
    let page = json!({"feed": "f", "version": version, "cursor": cursor, "more": more, "changes": changes});
    CallAnswer::ok(page.to_string())
}

/// Ticks, gives the document to whoever asks for it, and gives back the calls for pages.
fn tick(vm: &mut Vm, process: &Process, document: &Value) -> Vec<HttpCall> {
    process.pass(500);
    vm.tick();
    answer_documents(vm, document)
}

fn answer_documents(vm: &mut Vm, document: &Value) -> Vec<HttpCall> {
    let mut pages = Vec::new();
    for call in vm.calls() {
        if call.cluster == "config_source" {
            let answer = CallAnswer::ok(document.to_string());
            vm.answer(call.token, answer).unwrap();
        } else {
            pages.push(call);
        }
    }
    pages
}

/// A VM that has the document in force, and asks for its first page.
fn begun(process: &Process, root: &'static str) -> (Vm, HttpCall) {
    let mut vm = Vm::configured(process, root, LOADER);
    assert!(
        tick(&mut vm, process, &document("/keys")).is_empty(),
        "the document comes first"
    );
    let mut calls = tick(&mut vm, process, &document("/keys"));
    assert_eq!(calls.len(), 1, "{calls:?}");
    (vm, calls.remove(0))
}

fn path(call: &HttpCall) -> &str {
    std::str::from_utf8(header(&call.headers, ":path").unwrap()).unwrap()
}

/// Returns the status of a model list request with this key: in protocol A's header, and B's.
fn status(gateway: &mut Vm, key: &str) -> u32 {
    let bearer = format!("Bearer {key}");
    let pairs = [
        (":method", "GET"),
        (":path", "/v1/models"),
        ("authorization", &bearer),
        ("x-api-key", key),
    ];
    exchange(gateway, headers(&pairs), b"").status()
}

fn health(gateway: &mut Vm) -> u32 {
    exchange(
        gateway,
        headers(&[(":method", "GET"), (":path", "/healthz")]),
        b"",
    )
    .status()
}

#[test]
fn keys_come_change_and_go() {
    let process = Process::new();
    let (mut loader, call) = begun(&process, "config-loader");
    let mut gateway = Vm::configured(&process, "gateway", "{}");
    assert_eq!(call.cluster, "key_feed");
    assert_eq!(path(&call), "/keys?limit=500");
    assert_eq!(
        header(&call.headers, ":authority"),
        Some(&b"keys.internal"[..])
    );
    assert_eq!(header(&call.headers, ":method"), Some(&b"GET"[..]));
    assert_eq!(
        header(&call.headers, "accept"),
        Some(&b"application/json"[..])
    );
    assert_eq!(
        header(&call.headers, "cache-control"),
        Some(&b"no-cache"[..])
    );
    assert_eq!(
        header(&call.headers, "x-trilane-feed-format"),
        Some(&b"2"[..]),
        "the loader announces what it knows"
    );
    assert_eq!(call.timeout_ms, 5000);
    assert_eq!(health(&mut gateway), 503, "nothing is read yet");
    let statuses = |vm: &mut Vm| ["key-a", "one", "two", "three"].map(|key| status(vm, key));
    assert_eq!(statuses(&mut gateway), [200, 503, 503, 503]);

    loader
        .answer(call.token, page(2, true, &["one>a", "two>b"]))
        .unwrap();
    assert!(
        loader.calls().is_empty(),
        "not before requests had their turn"
    );
    process.pass(10);
    loader.tick();
    let next = loader.calls();
    assert_eq!(next.len(), 1, "the next page, and not the document");
    assert_eq!(path(&next[0]), "/keys?limit=500&cursor=c%2F2");
    assert_eq!(statuses(&mut gateway), [200, 200, 200, 503]);
    let generation = process.generation();
    loader
        .answer(next[0].token, page(3, false, &["three>a"]))
        .unwrap();
    assert!(loader.calls().is_empty(), "the rest comes with the ticks");
    process.pass(LOOK_MS);
    assert_eq!(statuses(&mut gateway), [200, 200, 200, 200]);
    assert_eq!(status(&mut gateway, "four"), 401);
    assert_eq!(health(&mut gateway), 200);
    assert!(process.generation() > generation, "the floor is published");
    assert_eq!(
        process.metric("trilane_config_generation"),
        process.generation()
    );
    assert_eq!(process.metric("trilane_keys_feed_version"), Some(3));
    assert_eq!(process.metric("trilane_keys_feed_keys"), Some(3));
    assert_eq!(process.metric("trilane_keys_feed_changes_total"), Some(3));
    let logs = loader.logs().join("\n");
    assert!(logs.contains("keys feed: a full reading begins"), "{logs}");
    assert!(
        logs.contains("keys feed: a full reading is complete: version 3, 3 keys"),
        "{logs}"
    );

    let generation = process.generation();
    let call = tick(&mut loader, &process, &document("/keys")).remove(0);
    assert_eq!(path(&call), "/keys?limit=100&cursor=c%2F3");
    loader
        .answer(call.token, page(5, false, &["one", "two>a"]))
        .unwrap();
    assert_eq!(statuses(&mut gateway), [200, 401, 200, 200]);
    assert_eq!(
        process.generation(),
        generation,
        "a page publishes no policy"
    );
    assert_eq!(process.metric("trilane_keys_feed_keys"), Some(2));
    process.written();
    let call = tick(&mut loader, &process, &document("/keys")).remove(0);
    loader.answer(call.token, page(5, false, &[])).unwrap();
    let mut written = process.written();
    written.retain(|name| !is_of_the_lease(name));
    assert_eq!(written, ["trilane/feed"], "no record");
    process.pass(7000);
    loader.tick();
    assert_eq!(process.metric("trilane_keys_feed_age_ms"), Some(7000));
}

#[test]
fn a_reading_rests_for_as_long_as_its_pages_take() {
    // Its bucket, and how far the reading is: two writes, 2 ms, after which it rests for 4 or 28.
    for (case, is_first, want) in [
        ("the first", true, (5, "/keys?limit=500&cursor=c%2F1")),
        ("a later one", false, (30, "/keys?limit=100&cursor=c%2F2")),
    ] {
        let process = Process::new();
        let (mut loader, mut call) = begun(&process, "config-loader");
        let mut version = 1;
        if !is_first {
            let answer = page(version, false, &["one>a"]);
            loader.answer(call.token, answer).unwrap();
            call = tick(&mut loader, &process, &document("/keys")).remove(0);
            version += 1;
        }
        process.lock().write_ms = 1;
        let answer = page(version, true, &["two>a"]);
        loader.answer(call.token, answer).unwrap();
        let mut asked = Vec::new();
        for rest in (5..=60).step_by(5) {
            process.pass(5);
            loader.tick();
            let calls = loader.calls();
            if !calls.is_empty() {
                asked.push((rest, path(&calls[0]).to_owned()));
            }
        }
        assert_eq!(asked, [(want.0, want.1.to_owned())], "{case}");
    }
}

/// Limits come with the key, and count in whatever VM asks.
#[test]
fn limits_of_a_fed_key() {
    let process = Process::new();
    let (mut loader, call) = begun(&process, "config-loader");
    let limited = |version: u64, requests: u32| {
        let mut one = change(version, "one>a");
        one["limits"] = json!({"requests_per_minute": requests});
        let page = json!({"feed": "f", "version": version + 1, "cursor": "c", "more": false,
            "changes": [one, change(version + 1, "two>a")]});
        CallAnswer::ok(page.to_string())
    };
    let body = br#"{"model": "gpt-x", "messages": []}"#;
    let ask = |vm: &mut Vm, key: &str| {
        let stream = exchange(vm, chat(key, Some(body.len())), body);
        assert_eq!(
            stream.upstream.head.is_some(),
            stream.reply.is_none(),
            "{key}"
        );
        stream.status()
    };
    loader.answer(call.token, limited(1, 3)).unwrap();
    let mut first = Vm::configured(&process, "gateway", "{}");
    let mut second = Vm::configured(&process, "gateway", "{}");
    let statuses = [&mut first, &mut second].map(|vm| [0; 2].map(|_| ask(vm, "one")));
    assert_eq!(
        statuses,
        [[0, 0], [0, 429]],
        "three, whoever asks; 0 is forwarded"
    );
    assert_eq!(ask(&mut first, "two"), 0, "another key");
    // A change of nothing but the limits; what was used stays used.
    let call = tick(&mut loader, &process, &document("/keys")).remove(0);
    loader.answer(call.token, limited(3, 4)).unwrap();
    assert_eq!([0; 2].map(|_| ask(&mut second, "one")), [0, 429]);
    let call = tick(&mut loader, &process, &document("/keys")).remove(0);
    loader
        .answer(call.token, page(5, false, &["one>a"]))
        .unwrap();
    assert_eq!(
        [0; 2].map(|_| ask(&mut first, "one")),
        [0, 0],
        "no limits any more"
    );
}

#[test]
fn answers_of_no_use_are_counted_and_logged_once() {
    let mut typo = page(9, false, &["nine>a"]);
    typo.body = String::from_utf8(typo.body)
        .unwrap()
        .replace("group", "groop")
        .into_bytes();
    let cases: [(&str, CallAnswer, &str, &str); 7] = [
        ("none", CallAnswer::failed(), UNREACHABLE, "no answer"),
        (
            "500",
            CallAnswer::status("500", ""),
            UNREACHABLE,
            "status 500",
        ),
        (
            "odd",
            CallAnswer::status("\u{7}", ""),
            UNREACHABLE,
            "status",
        ),
        (
            "no page",
            CallAnswer::ok("<html>"),
            INVALID,
            "not valid JSON",
        ),
        ("a typo", typo, INVALID, "changes[0].groop: unknown field"),
        (
            "too long",
            CallAnswer::ok(vec![b' '; 31_000_001]),
            OVERSIZE,
            "31000001 bytes",
        ),
        (
            "an old one",
            page(1, false, &["one>b"]),
            BEHIND,
            "its version is 1, and it was 3 before",
        ),
    ];
    for (case, answer, counter, said) in cases {
        let process = Process::new();
        let (mut loader, call) = begun(&process, "config-loader");
        loader
            .answer(call.token, page(3, false, &["one>a", "two>a", "three>a"]))
            .unwrap();
        loader.logs();
        for _ in 0..2 {
            let call = tick(&mut loader, &process, &document("/keys")).remove(0);
            loader.answer(call.token, answer.clone()).unwrap();
            assert!(loader.calls().is_empty(), "{case}: not at once");
        }
        assert_eq!(process.metric(counter), Some(2), "{case}");
        let logs = loader.logs();
        assert_eq!(logs.len(), 1, "{case}: {logs:?}");
        assert!(logs[0].contains(said), "{case}: {logs:?}");
        let mut gateway = Vm::configured(&process, "gateway", "{}");
        let statuses = ["one", "two", "nine"].map(|key| status(&mut gateway, key));
        assert_eq!(statuses, [200, 200, 401], "{case}");
        let call = tick(&mut loader, &process, &document("/keys")).remove(0);
        loader
            .answer(call.token, page(4, false, &["nine>a"]))
            .unwrap();
        assert_eq!(status(&mut gateway, "nine"), 200, "{case}: well again");
    }
}

#[test]
fn a_cursor_that_is_not_known_and_a_cluster_that_is_not_there() {
    let process = Process::new();
    let (mut loader, call) = begun(&process, "config-loader");
    loader
        .answer(call.token, page(2, false, &["one>a", "two>a"]))
        .unwrap();
    let call = tick(&mut loader, &process, &document("/keys")).remove(0);
    loader
        .answer(call.token, CallAnswer::status("410", ""))
        .unwrap();
    assert_eq!(process.metric(CURSOR), Some(1));
    let mut gateway = Vm::configured(&process, "gateway", "{}");
    assert_eq!(status(&mut gateway, "one"), 200, "until all is read");
    let call = tick(&mut loader, &process, &document("/keys")).remove(0);
    assert_eq!(path(&call), "/keys?limit=100");
    loader
        .answer(call.token, page(5, false, &["two>a"]))
        .unwrap();
    assert_eq!(
        ["one", "two"].map(|key| status(&mut gateway, key)),
        [401, 200]
    );
    loader.host().cluster_known = false;
    loader.logs();
    tick(&mut loader, &process, &document("/keys"));
    tick(&mut loader, &process, &document("/keys"));
    let logs = loader.logs().join("\n");
    assert_eq!(logs.matches("keys feed").count(), 1, "said once: {logs}");
    assert_eq!(process.metric(UNREACHABLE), Some(2));
    assert_eq!(status(&mut gateway, "two"), 200);
}

#[test]
fn one_call_at_a_time_and_no_answer_but_its_own() {
    let process = Process::new();
    let (mut loader, call) = begun(&process, "config-loader");
    for _ in 0..3 {
        assert!(tick(&mut loader, &process, &document("/keys")).is_empty());
    }
    // The document names another feed: what the first one says is not wanted any more.
    process.pass(500);
    loader.tick();
    answer_documents(&mut loader, &document("/other"));
    loader
        .answer(call.token, page(1, false, &["one>a"]))
        .unwrap();
    assert_eq!(
        process.metric("trilane_keys_feed_changes_total"),
        Some(0),
        "the former feed's"
    );
    let other = tick(&mut loader, &process, &document("/other")).remove(0);
    assert_eq!(path(&other), "/other?limit=500");
    // And then none.
    process.pass(500);
    loader.tick();
    answer_documents(&mut loader, &sample());
    loader
        .answer(other.token, page(1, false, &["one>a"]))
        .unwrap();
    assert!(tick(&mut loader, &process, &sample()).is_empty());
    let mut gateway = Vm::configured(&process, "gateway", "{}");
    assert_eq!(
        ["key-a", "one"].map(|key| status(&mut gateway, key)),
        [200, 401]
    );
    assert_eq!(health(&mut gateway), 200);
}

/// A bad document takes nothing from the feed of the good one before it.
#[test]
fn a_document_that_is_refused_changes_nothing() {
    let process = Process::new();
    let (mut loader, call) = begun(&process, "config-loader");
    let mut bad = document("/other");
    bad["groups"] = json!([]);
    process.pass(500);
    loader.tick();
    answer_documents(&mut loader, &bad);
    loader
        .answer(call.token, page(1, false, &["one>a"]))
        .unwrap();
    let call = tick(&mut loader, &process, &bad).remove(0);
    assert_eq!(path(&call), "/keys?limit=100&cursor=c%2F1");
    let mut gateway = Vm::configured(&process, "gateway", "{}");
    assert_eq!(status(&mut gateway, "one"), 200);
}

#[test]
fn filters_read_it_where_nobody_else_does() {
    let process = Process::new();
    let (mut first, call) = begun(&process, "gateway");
    assert_eq!(path(&call), "/keys?limit=500");
    first.answer(call.token, page(1, true, &["one>a"])).unwrap();
    process.pass(10);
    first.tick();
    let late = first.calls().remove(0);
    let mut second = Vm::configured(&process, "gateway", LOADER);
    assert!(
        tick(&mut second, &process, &document("/keys")).is_empty(),
        "the lease is the other's"
    );
    // The first one sleeps; the second takes over, and goes on where the first one was.
    wait_until_it_asks(&mut second, &process);
    answer_documents(&mut second, &document("/keys"));
    let call = tick(&mut second, &process, &document("/keys")).remove(0);
    assert_eq!(path(&call), "/keys?limit=500&cursor=c%2F1");
    second
        .answer(call.token, page(3, false, &["two>a", "one"]))
        .unwrap();
    process.written();
    first
        .answer(late.token, page(2, false, &["two>b"]))
        .unwrap();
    assert_eq!(process.written(), [""; 0], "a former holder's answer");
    // A policy is used for so long before its generation is read again.
    process.pass(10);
    for vm in [&mut first, &mut second] {
        assert_eq!(
            ["one", "two", "six"].map(|key| status(vm, key)),
            [401, 200, 401]
        );
    }
    // The first one comes back, when the second is gone.
    drop(second);
    wait_until_it_asks(&mut first, &process);
    answer_documents(&mut first, &document("/keys"));
    let call = tick(&mut first, &process, &document("/keys")).remove(0);
    assert_eq!(path(&call), "/keys?limit=100&cursor=c%2F3");
}

#[test]
fn the_feed_of_an_inline_document() {
    for root in ["config-loader", "gateway"] {
        let process = Process::new();
        let configuration = format!(r#"{{"inline": {}}}"#, document("/keys"));
        // The canary publishes the document, and is thrown away.
        drop(Vm::configured(&process, root, &configuration));
        assert_eq!(process.generation(), Some(1), "{root}");
        let mut vm = Vm::configured(&process, root, &configuration);
        assert_eq!(process.generation(), Some(1), "{root}");
        wait_until_it_asks(&mut vm, &process);
        let call = vm.calls().remove(0);
        vm.answer(call.token, page(1, false, &["one>a"])).unwrap();
        assert_eq!(process.generation(), Some(2), "{root}: the floor");
        let mut gateway = Vm::configured(&process, "gateway", "{}");
        let statuses = ["key-a", "one", "two"].map(|key| status(&mut gateway, key));
        assert_eq!(statuses, [200, 200, 401], "{root}");
        // The next VM goes on.
        drop(vm);
        let mut vm = Vm::configured(&process, root, &configuration);
        wait_until_it_asks(&mut vm, &process);
        let call = vm.calls().remove(0);
        assert!(
            path(&call).ends_with("&cursor=c%2F1"),
            "{root}: {}",
            path(&call)
        );
        vm.answer(call.token, page(2, false, &["one"])).unwrap();
        assert_eq!(status(&mut gateway, "one"), 401, "{root}");
        assert_eq!(process.generation(), Some(2), "{root}");
    }
}

/// Shared data is what anybody may have written.
#[test]
fn damage() {
    for value in [&b""[..], b"{", &[0xff; 60], br#"{"format": 7}"#] {
        let process = Process::new();
        let (mut loader, call) = begun(&process, "config-loader");
        loader
            .answer(call.token, page(2, false, &["one>a", "two>a"]))
            .unwrap();
        drop(loader);
        let name = process.written();
        let record = name
            .iter()
            .find(|name| name.starts_with("trilane/feed/"))
            .unwrap();
        process.put(record, if value.is_empty() { b"\x02" } else { value });
        process.put("trilane/feed", value);
        let mut gateway = Vm::configured(&process, "gateway", "{}");
        assert_eq!(
            ["one", "two", "six"].map(|key| status(&mut gateway, key)),
            [503, 200, 401]
        );
        let mut loader = Vm::configured(&process, "config-loader", LOADER);
        tick(&mut loader, &process, &document("/keys"));
        let call = tick(&mut loader, &process, &document("/keys")).remove(0);
        assert_eq!(path(&call), "/keys?limit=100", "anew");
        assert_eq!(
            ["one", "two", "six"].map(|key| status(&mut gateway, key)),
            [503, 200, 401]
        );
        loader
            .answer(call.token, page(2, false, &["one>a", "two>a"]))
            .unwrap();
        // So long a record is used that was read.
        process.pass(10);
        assert_eq!(
            ["one", "two", "six"].map(|key| status(&mut gateway, key)),
            [200, 200, 401]
        );
    }
}
