//! Damaged or missing shared data: never a trap, never a request let through, never a 401 for a key that may be good.

use trilane::keys::KeyDigest;

use crate::chaos::Chance;
use crate::documents::{gateway, sample};
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
    let damaged = |at: usize, byte: u8| {
        let mut policy = policy.clone();
        assert_ne!(policy[at], byte, "{at}");
        policy[at] = byte;
        policy
    };
    // Flags, expiry, group and id of each key; `key-a` is somewhere in the sequence of their digests.
    let record = policy.windows(4).position(|bytes| bytes == b"\x01a\x02k");
    let group = record.unwrap() + 1;
    let digest = KeyDigest::of(b"key-a");
    let index = policy.windows(32).position(|bytes| bytes == digest.bytes());
    let end = index.unwrap() + 32;
    let cases: [(&str, &str, Vec<u8>, u32); 12] = [
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
            damaged(0, 3),
            503,
        ),
        (
            "policy of a release before",
            "trilane/policy",
            policy[5..].to_vec(),
            503,
        ),
        ("policy of bytes", "trilane/policy", vec![0xff; 100], 503),
        (
            "keys cut",
            "trilane/policy",
            policy[..policy.len() - 1].to_vec(),
            503,
        ),
        (
            "record of another release",
            "trilane/policy",
            damaged(group - 10, 2),
            503,
        ),
        (
            "record that ends elsewhere",
            "trilane/policy",
            damaged(end, 200),
            503,
        ),
        (
            "record of a longer group",
            "trilane/policy",
            damaged(group - 1, 200),
            503,
        ),
        (
            "record of an unknown group",
            "trilane/policy",
            damaged(group, b'z'),
            503,
        ),
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
        ("cut", &b"\x02\x20\x00\x00\x00{\"generation\""[..]),
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
        let mut changed_keys = false;
        for name in [
            "trilane/generation",
            "trilane/policy",
            "trilane/epoch",
            "trilane/order",
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
            changed_keys |= name == "trilane/policy";
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
        // A digest that was damaged is that of another key.
        if !changed_keys {
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
