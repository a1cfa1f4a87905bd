//! Damaged or missing shared data: never a trap, never a request let through, never a 401 for a key that may be good.

use trilane::keys::{KeyRecord, StoredRecord};

use crate::chaos::Chance;
use crate::documents::{gateway, record_name, sample};
use crate::host::{CallAnswer, Headers, LOOK_MS, Process, Vm, headers};
use crate::stream::{chat, exchange};

const BODY: &[u8] = br#"{"model": "gpt-x"}"#;

/// One generation request of each protocol.
fn requests() -> [(&'static str, Headers, &'static [u8]); 3] {
    let head = |path, pairs: &[(&str, &str)]| {
        let mut head = headers(&[
            (":method", "POST"),
            (":path", path),
            ("content-type", "application/json"),
        ]);
        head.extend(headers(pairs));
        head
    };
    [
        (
            "A",
            head("/v1/responses", &[("authorization", "Bearer key-a")]),
            BODY,
        ),
        (
            "B",
            head(
                "/v1/messages",
                &[("x-api-key", "key-b"), ("vb-version", "2023-06-01")],
            ),
            br#"{"model": "claude-opus-4-5", "max_tokens": 1, "messages": []}"#,
        ),
        (
            "C",
            head(
                "/v1beta/models/gem-flash:generateContent",
                &[("x-vc-api-key", "key-c")],
            ),
            br#"{"contents": []}"#,
        ),
    ]
}

#[test]
fn no_policy_is_503() {
    let process = Process::new();
    let mut vm = Vm::configured(&process, "gateway", "{}");
    for (case, head, body) in requests() {
        let stream = exchange(&mut vm, head, body);
        let reply = stream.reply.as_ref().unwrap();
        assert_eq!(reply.status, 503, "{case}");
        assert!(
            crate::host::header(&reply.headers, "retry-after").is_some(),
            "{case}"
        );
        assert_eq!(stream.upstream.head, None, "{case}");
    }
}

/// Damaged values under the names that a request reads.
#[test]
fn damage_before_the_first_request() {
    let process = Process::new();
    let good = gateway(&process);
    drop(good);
    let policy = process.data("trilane/policy").unwrap();
    let record = process.data(&record_name("key-a")).unwrap();
    let name = record_name("key-a");
    let stranger = KeyRecord {
        id: "ka".into(),
        group: "nobody".into(),
        ..KeyRecord::default()
    };
    let stranger = StoredRecord::plain(9, stranger).encode_named();
    let other_format =
        String::from_utf8(policy.clone())
            .unwrap()
            .replacen("\"format\":1", "\"format\":2", 1);
    let cases: [(&str, &str, Vec<u8>, u32); 10] = [
        (
            "generation of 3 bytes",
            "trilane/generation",
            vec![1, 2, 3],
            503,
        ),
        ("no generation", "trilane/generation", vec![], 503),
        (
            "policy cut",
            "trilane/policy",
            policy[..policy.len() / 2].to_vec(),
            503,
        ),
        ("policy empty", "trilane/policy", vec![], 503),
        (
            "policy of another release",
            "trilane/policy",
            other_format.into_bytes(),
            503,
        ),
        ("policy of bytes", "trilane/policy", vec![0xff; 100], 503),
        (
            "record cut",
            &name,
            record[..record.len() - 1].to_vec(),
            503,
        ),
        (
            "record of another release",
            &name,
            [&[9], &record[1..]].concat(),
            503,
        ),
        ("record of bytes", &name, vec![0xff; 100], 503),
        ("record of an unknown group", &name, stranger, 503),
    ];
    for (case, name, value, want) in cases {
        let process = Process::new();
        let mut vm = gateway(&process);
        process.put(name, &value);
        let stream = exchange(&mut vm, chat("key-a", None), BODY);
        assert_eq!(stream.status(), want, "{case}: {:?}", stream.reply);
        assert_eq!(stream.upstream.head, None, "{case}");
    }
}

/// Once a policy was read it stays in force, whatever becomes of the one in shared data.
#[test]
fn damage_after_the_first_request() {
    for (case, policy) in [
        ("cut", &b"{\"format\""[..]),
        ("bytes", &[0xff; 64]),
        ("gone", b""),
    ] {
        let process = Process::new();
        let mut vm = gateway(&process);
        assert!(
            exchange(&mut vm, chat("key-a", None), BODY)
                .upstream
                .complete,
            "{case}"
        );
        process.put("trilane/policy", policy);
        process.put("trilane/generation", &99_u64.to_le_bytes());
        vm.logs();
        for _ in 0..3 {
            process.pass(LOOK_MS);
            let stream = exchange(&mut vm, chat("key-a", None), BODY);
            assert!(stream.upstream.complete, "{case}: {stream:?}");
        }
        let logs = vm.logs();
        assert_eq!(logs.len(), 1, "{case}: said once: {logs:?}");
    }
}

/// Random bytes under every name, in a gateway and under a loader.
#[test]
fn random_damage() {
    let mut chance = Chance::new(7);
    for round in 0..300 {
        let process = Process::new();
        let mut vm = gateway(&process);
        let mut changed_record = false;
        for name in [
            "trilane/generation",
            "trilane/policy",
            "trilane/epoch",
            "trilane/order",
            "trilane/document",
            &record_name("key-a"),
        ] {
            if chance.below(2) == 0 {
                continue;
            }
            let mut value = process.data(name).unwrap_or_default();
            match chance.below(3) {
                0 => value = chance.bytes(60),
                1 => value.truncate(chance.below(value.len() + 1)),
                _ => {
                    if !value.is_empty() {
                        let at = chance.below(value.len());
                        value[at] ^= 1 << chance.below(8);
                    }
                }
            }
            changed_record |= name.contains("/key/");
            process.put(name, &value);
        }
        process.pass(LOOK_MS);
        // A key that was never there stays out, whatever is damaged.
        let stranger = exchange(&mut vm, chat("key-z", None), BODY);
        assert!(
            matches!(stranger.status(), 401 | 503),
            "round {round}: {stranger:?}"
        );
        assert_eq!(stranger.upstream.head, None, "round {round}");
        let known = exchange(&mut vm, chat("key-a", None), BODY);
        if !changed_record {
            assert_ne!(known.status(), 401, "round {round}: {known:?}");
        }
        // A loader mends everything.
        let mut loader = Vm::configured(&process, "config-loader", crate::documents::LOADER);
        loader.load(CallAnswer::ok(sample().to_string()));
        process.pass(LOOK_MS);
        let mended = exchange(&mut vm, chat("key-a", None), BODY);
        assert!(
            mended.upstream.complete,
            "round {round}: {mended:?} {:?}",
            loader.logs()
        );
    }
}
