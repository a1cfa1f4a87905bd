//! Callbacks in any order, with any bytes: the filter never traps and never lets an undecided request be complete.

use crate::documents::{gateway, loaded, sample, without_key};
use crate::host::{CallAnswer, Headers, Process, Vm, headers};
use crate::stream::Stream;

/// One step of a generator that is as random as a test needs (splitmix64).
pub fn mix(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) ^ seed.rotate_left(17)
}

/// A seeded source of choices: a failure names its seed and comes again.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = mix(self.0);
        usize::try_from((self.0 >> 11) % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most + 1);
        (0..length)
            .map(|_| self.below(256).to_le_bytes()[0])
            .collect()
    }

    pub fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

fn head(chance: &mut Chance) -> Headers {
    let mut head = Headers::new();
    let names = [
        ":method",
        ":path",
        ":authority",
        "authorization",
        "x-api-key",
        "x-goog-api-key",
        "vb-version",
        "anthropic-version",
        "content-type",
        "content-length",
        "content-encoding",
        "upgrade",
        "x-request-id",
        "x-trilane-cluster",
        "accept-encoding",
        "",
    ];
    let values = [
        "POST",
        "GET",
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/models",
        "/v1/images/edits",
        "/healthz",
        "/v1beta/models/gem-flash:generateContent",
        "/v1beta/models",
        "Bearer key-a",
        "key-b",
        "key-c",
        "2023-06-01",
        "application/json",
        "multipart/form-data; boundary=x",
        "18",
        "gzip",
        "websocket",
        "",
    ];
    for (method, path, name, key) in [
        (
            "POST",
            "/v1/chat/completions",
            "authorization",
            "Bearer key-a",
        ),
        ("POST", "/v1/messages", "x-api-key", "key-b"),
        (
            "POST",
            "/v1beta/models/gem-flash:generateContent",
            "x-goog-api-key",
            "key-c",
        ),
        ("GET", "/v1/models", "authorization", "Bearer key-a"),
    ]
    .into_iter()
    .skip(chance.below(4))
    .take(usize::from(chance.below(5) > 0))
    {
        head.extend(headers(&[
            (":method", method),
            (":path", path),
            (name, key),
            ("vb-version", "2023-06-01"),
        ]));
    }
    let odd = chance.below(2) * chance.below(4);
    for _ in 0..odd {
        let name = chance
            .of::<str>(&names.each_ref().map(|n| *n))
            .as_bytes()
            .to_vec();
        let value = if chance.below(3) == 0 {
            chance.bytes(40)
        } else {
            chance.of::<str>(&values).as_bytes().to_vec()
        };
        head.push((name, value));
    }
    head
}

fn piece(chance: &mut Chance) -> Vec<u8> {
    let pieces: [&[u8]; 12] = [
        br#"{"model": "gpt-x"}"#,
        br#"{"model": "gpt-y", "x": ["#,
        b"{",
        b"}",
        br#""model": "#,
        br#""gpt-y""#,
        br#"{"model": "claude-opus-4-5"}"#,
        br#"{"contents": []}"#,
        b"",
        b"]}",
        b"--x\r\n",
        b"\xff\xfe",
    ];
    if chance.below(5) == 0 {
        chance.bytes(2000)
    } else {
        chance.of(&pieces).to_vec()
    }
}

/// Makes a random callback, in no order at all.
fn step(chance: &mut Chance, vm: &mut Vm, stream: &mut Stream) -> Result<(), String> {
    let end = chance.below(4) == 0;
    match chance.below(9) {
        0 | 1 => stream.head(vm, end),
        2..=4 => {
            let piece = piece(chance);
            stream.body(vm, &piece, end)
        }
        5 => stream.trailers(vm),
        6 => {
            let status = chance.of::<str>(&["200", "401", "403", "500", "503", "", "x"]);
            let details = chance.of::<str>(&["via_upstream", "response_timeout", ""]);
            stream.response_head(vm, headers(&[(":status", status)]), Some(details))
        }
        7 => {
            let piece = piece(chance);
            stream.response_body(vm, &piece, end).map(drop)
        }
        _ => vm
            .call(
                "proxy_on_response_trailers",
                (stream.id, 1),
                crate::host::CallbackScope::default(),
            )
            .map(|_: i32| ()),
    }
}

#[test]
fn any_order_of_callbacks() {
    let process = Process::new();
    let mut vm = gateway(&process);
    for seed in 0..4000 {
        let mut chance = Chance::new(seed);
        let head = head(&mut chance);
        let mut stream = Stream::new(&mut vm, head);
        if chance.below(3) > 0 {
            stream
                .head(&mut vm, false)
                .unwrap_or_else(|trap| panic!("seed {seed}: {trap}"));
        }
        for _ in 0..chance.below(8) {
            step(&mut chance, &mut vm, &mut stream)
                .unwrap_or_else(|trap| panic!("seed {seed}: {trap}"));
        }
        stream
            .end(&mut vm)
            .unwrap_or_else(|trap| panic!("seed {seed}: {trap}"));
    }
}

/// In Envoy's own order, with any head and body: complete means that the body named a model of the key's group.
#[test]
fn whatever_is_complete_was_approved() {
    let process = Process::new();
    let mut vm = gateway(&process);
    let mut complete = 0;
    for seed in 0..4000 {
        let mut chance = Chance::new(seed);
        let head = head(&mut chance);
        let mut stream = Stream::new(&mut vm, head);
        stream.head(&mut vm, false).unwrap();
        let pieces = 1 + chance.below(3) * chance.below(3);
        for _ in 0..pieces {
            let piece = piece(&mut chance);
            let (start, rest) = piece.split_at(chance.below(piece.len()));
            stream.body(&mut vm, start, false).unwrap();
            stream.body(&mut vm, rest, false).unwrap();
        }
        match chance.below(3) {
            0 => stream.body(&mut vm, &piece(&mut chance), true),
            1 => stream.body(&mut vm, b"", true),
            _ => stream.trailers(&mut vm),
        }
        .unwrap();
        stream.end(&mut vm).unwrap();
        if stream.upstream.complete && stream.reply.is_none() {
            complete += 1;
            let sent = stream.upstream.head.as_ref().unwrap();
            let cluster = crate::host::header(sent, "x-trilane-cluster").unwrap();
            let body: serde_json::Value = serde_json::from_slice(&stream.upstream.body)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}: {stream:?}"));
            let allowed: &[&str] = match cluster {
                b"cluster_a" => &["gpt-x", "a-much-longer-name"],
                b"cluster_b" => &["claude-opus-4-5"],
                _ => &[""],
            };
            let model = body["model"].as_str().unwrap_or_default();
            assert!(allowed.contains(&model), "seed {seed}: {stream:?}");
        }
    }
    assert!(
        complete > 50,
        "of 4000 only {complete} passed: the test says little"
    );
}

/// The loader's callbacks with tokens and answers of any kind.
#[test]
fn any_answers_to_the_loader() {
    for seed in 0..100 {
        let mut chance = Chance::new(seed);
        let process = Process::new();
        let mut loader = loaded(&process);
        let mut open = Vec::new();
        for _ in 0..30 {
            let answer = match chance.below(8) {
                0 => CallAnswer::ok(sample().to_string()),
                1 => CallAnswer::ok(without_key("ka").to_string()).with("etag", "\"x\""),
                2 => CallAnswer::failed(),
                3 => CallAnswer::status("304", ""),
                4 => CallAnswer {
                    headers: vec![(chance.bytes(5), chance.bytes(5))],
                    body: chance.bytes(50),
                },
                5 => CallAnswer::ok(chance.bytes(200)).with("etag", "\u{e9}"),
                6 => CallAnswer {
                    headers: vec![
                        (b":status".to_vec(), b"200".to_vec()),
                        (b"etag".to_vec(), chance.bytes(300)),
                    ],
                    body: without_key("kb").to_string().into(),
                },
                _ => CallAnswer::status("200", ""),
            };
            process.pass(u64::try_from(chance.below(2000)).unwrap());
            loader.tick();
            open.extend(loader.calls());
            if chance.below(3) > 0 && !open.is_empty() {
                let call = open.remove(chance.below(open.len()));
                loader
                    .answer(call.token, answer)
                    .unwrap_or_else(|trap| panic!("seed {seed}: {trap}"));
            }
        }
        assert!(process.generation().is_some(), "seed {seed}");
    }
}
