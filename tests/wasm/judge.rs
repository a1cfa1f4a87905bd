//! The built judge: which functions it has for Envoy to call, what it takes out of Envoy, and the timer.

use wasmi::{Caller, Engine, Error, Extern, Func, Instance, Linker, Module, Store};

/// Envoy calls a function for each event that a module has one for.
const EXPORTS: [&str; 9] = [
    "_initialize",
    "memory",
    "proxy_abi_version_0_2_1",
    "proxy_on_done",
    "proxy_on_memory_allocate",
    "proxy_on_response_body",
    "proxy_on_response_headers",
    "proxy_on_response_trailers",
    "proxy_on_tick",
];
/// Envoy reads the file and takes its digest for each cluster.
const MAX_BYTES: usize = 200 << 10;
const CONTINUE: i32 = 0;
const PAUSE: i32 = 1;
const RESPONSE_HEADERS: i32 = 2;
const RESPONSE_BODY: i32 = 1;
const LOOKS: usize = 6;
const EVENT: &str = "data: {\"choices\":[]}\n\n";
const OVERLOADED: &str = "data: {\"error\":{\"code\":503}}\n\n";
const START: &str = "data: {\"type\":\"message_start\"}\n\n";
const NO_CREDIT: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#;

/// Envoy's part.
#[derive(Default)]
struct Envoy {
    status: &'static str,
    body: String,
    /// The calls of the judge since they were asked for.
    calls: Vec<String>,
}

type Guest<'a> = Caller<'a, Envoy>;

struct Judge {
    store: Store<Envoy>,
    instance: Instance,
}

impl Judge {
    fn new() -> Self {
        let engine = Engine::default();
        let module = Module::new(&engine, &file()[..]).unwrap();
        let mut linker = Linker::new(&engine);
        define(&mut linker);
        let mut store = Store::new(&engine, Envoy::default());
        let instance = linker.instantiate_and_start(&mut store, &module).unwrap();
        let mut judge = Self { store, instance };
        let function = judge.function("_initialize");
        function
            .typed::<(), ()>(&judge.store)
            .unwrap()
            .call(&mut judge.store, ())
            .unwrap();
        judge
    }

    fn function(&self, name: &str) -> Func {
        self.instance.get_func(&self.store, name).unwrap()
    }

    /// The headers of an answer come.
    fn headers(&mut self, stream: i32, status: &'static str, end: bool) -> i32 {
        self.store.data_mut().status = status;
        self.store.data_mut().body.clear();
        let arguments = (stream, 3, i32::from(end));
        let function = self.function("proxy_on_response_headers");
        function
            .typed::<(i32, i32, i32), i32>(&self.store)
            .unwrap()
            .call(&mut self.store, arguments)
            .unwrap()
    }

    /// More of its body comes.
    fn body(&mut self, stream: i32, more: &str, end: bool) -> i32 {
        self.store.data_mut().body.push_str(more);
        let size = i32::try_from(self.store.data().body.len()).unwrap();
        let function = self.function("proxy_on_response_body");
        let arguments = (stream, size, i32::from(end));
        function
            .typed::<(i32, i32, i32), i32>(&self.store)
            .unwrap()
            .call(&mut self.store, arguments)
            .unwrap()
    }

    fn trailers(&mut self, stream: i32) -> i32 {
        let function = self.function("proxy_on_response_trailers");
        function
            .typed::<(i32, i32), i32>(&self.store)
            .unwrap()
            .call(&mut self.store, (stream, 1))
            .unwrap()
    }

    fn done(&mut self, stream: i32) {
        let function = self.function("proxy_on_done");
        let done = function
            .typed::<i32, i32>(&self.store)
            .unwrap()
            .call(&mut self.store, stream);
        assert_eq!(done.unwrap(), 1);
    }

    fn tick(&mut self) {
        let function = self.function("proxy_on_tick");
        function
            .typed::<i32, ()>(&self.store)
            .unwrap()
            .call(&mut self.store, 1)
            .unwrap();
    }

    /// The calls since this was asked last.
    fn calls(&mut self) -> Vec<String> {
        std::mem::take(&mut self.store.data_mut().calls)
    }
}

fn file() -> Vec<u8> {
    let filter = std::env::var("TRILANE_WASM")
        .unwrap_or_else(|_| "target/wasm32-wasip1/release/trilane.wasm".to_owned());
    let path = std::path::Path::new(&filter).with_file_name("trilane_judge.wasm");
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!(
            "the built judge cannot be read: {}: {error}. Build it with `make build`.",
            path.display()
        )
    })
}

/// The host calls of the judge.
fn define(linker: &mut Linker<Envoy>) {
    let env = "env";
    linker
        .func_wrap(
            env,
            "proxy_get_header_map_value",
            |mut guest: Guest<'_>, map: i32, name: i32, length: i32, data: i32, size: i32| {
                assert_eq!(
                    (map, text(&guest, name, length).as_str()),
                    (RESPONSE_HEADERS, ":status")
                );
                let status = guest.data().status;
                guest.data_mut().calls.push("status".to_owned());
                give(&mut guest, status.as_bytes(), data, size)
            },
        )
        .unwrap();
    linker
        .func_wrap(
            env,
            "proxy_get_buffer_bytes",
            |mut guest: Guest<'_>, kind: i32, start: i32, most: i32, data: i32, size: i32| {
                assert_eq!((kind, start), (RESPONSE_BODY, 0));
                let body = guest.data().body.clone();
                let most = usize::try_from(most).unwrap().min(body.len());
                guest.data_mut().calls.push("body".to_owned());
                give(&mut guest, &body.as_bytes()[..most], data, size)
            },
        )
        .unwrap();
    linker
        .func_wrap(
            env,
            "proxy_replace_header_map_value",
            |mut guest: Guest<'_>, map: i32, name: i32, length: i32, value: i32, size: i32| {
                assert_eq!(map, RESPONSE_HEADERS);
                let call = format!(
                    "{}: {}",
                    text(&guest, name, length),
                    text(&guest, value, size)
                );
                guest.data_mut().calls.push(call);
                0
            },
        )
        .unwrap();
    linker
        .func_wrap(
            env,
            "proxy_set_tick_period_milliseconds",
            |mut guest: Guest<'_>, period: i32| {
                guest.data_mut().calls.push(format!("tick {period}"));
                0
            },
        )
        .unwrap();
    linker
        .func_wrap(
            env,
            "proxy_set_effective_context",
            |mut guest: Guest<'_>, id: i32| {
                guest.data_mut().calls.push(format!("become {id}"));
                0
            },
        )
        .unwrap();
    linker
        .func_wrap(
            env,
            "proxy_continue_stream",
            |mut guest: Guest<'_>, half: i32| {
                guest.data_mut().calls.push(format!("resume {half}"));
                0
            },
        )
        .unwrap();
    let wasi = "wasi_snapshot_preview1";
    linker
        .func_wrap(wasi, "environ_get", |_: i32, _: i32| 0)
        .unwrap();
    linker
        .func_wrap(wasi, "environ_sizes_get", |_: i32, _: i32| 0)
        .unwrap();
    linker
        .func_wrap(wasi, "fd_write", |_: i32, _: i32, _: i32, _: i32| 0)
        .unwrap();
    linker
        .func_wrap(wasi, "proc_exit", |_: i32| -> Result<(), Error> {
            Err(Error::new("the judge ends its VM"))
        })
        .unwrap();
}

fn memory(guest: &Guest<'_>) -> wasmi::Memory {
    guest
        .get_export("memory")
        .and_then(Extern::into_memory)
        .unwrap()
}

fn text(guest: &Guest<'_>, at: i32, length: i32) -> String {
    let (at, length) = (
        usize::try_from(at).unwrap(),
        usize::try_from(length).unwrap(),
    );
    let bytes = &memory(guest).data(guest)[at..at + length];
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Hands bytes over as Envoy does, in memory that the judge allocates.
fn give(guest: &mut Guest<'_>, bytes: &[u8], data: i32, size: i32) -> i32 {
    let length = i32::try_from(bytes.len()).unwrap();
    let mut at = 0;
    if length > 0 {
        let allocate = guest
            .get_export("proxy_on_memory_allocate")
            .and_then(Extern::into_func)
            .unwrap();
        let allocate = allocate.typed::<i32, i32>(&*guest).unwrap();
        at = allocate.call(&mut *guest, length).unwrap();
        assert_ne!(at, 0, "there is memory");
    }
    let memory = memory(guest);
    for (place, bytes) in [
        (at, bytes),
        (data, &at.to_le_bytes()),
        (size, &length.to_le_bytes()),
    ] {
        memory
            .write(&mut *guest, usize::try_from(place).unwrap(), bytes)
            .unwrap();
    }
    0
}

#[test]
fn only_responses_call_it() {
    let file = file();
    assert!(file.len() <= MAX_BYTES, "{} bytes", file.len());
    let module = Module::new(&Engine::default(), &file[..]).unwrap();
    let mut exports: Vec<_> = module.exports().map(|export| export.name()).collect();
    exports.sort_unstable();
    assert_eq!(exports, EXPORTS);
}

/// Whole answers, and the calls that each takes: one for its bytes, and one for its status only where that matters.
#[test]
fn answers() {
    // (case, status, the parts of the body, what becomes of each, the calls)
    type Case = (
        &'static str,
        &'static str,
        &'static [&'static str],
        &'static [i32],
        &'static [&'static str],
    );
    let cases: [Case; 6] = [
        (
            "a stream",
            "200",
            &[EVENT, EVENT],
            &[CONTINUE, CONTINUE],
            &["body"],
        ),
        (
            "a preamble",
            "200",
            &[START, EVENT],
            &[PAUSE, CONTINUE],
            &["body", "body"],
        ),
        (
            "an overloaded account",
            "200",
            &[OVERLOADED],
            &[CONTINUE],
            &["body", "status", "x-trilane-judged: overloaded{}"],
        ),
        (
            "no credit",
            "400",
            &[NO_CREDIT],
            &[CONTINUE],
            &[
                "body",
                "status",
                r#"x-trilane-judged: unauthorized{"fault":"no_credit","type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}"#,
            ],
        ),
        (
            "the request's fault",
            "400",
            &[r#"{"error":{"type":"invalid_request_error","message":"x"}}"#],
            &[CONTINUE],
            &["body", "status"],
        ),
        (
            "another status",
            "500",
            &["{}"],
            &[CONTINUE],
            &["body", "status"],
        ),
    ];
    for (number, (case, status, parts, becomes, calls)) in (7..).zip(cases) {
        let mut judge = Judge::new();
        assert_eq!(
            judge.headers(number, status, false),
            PAUSE,
            "{case}: the head is held"
        );
        assert_eq!(
            judge.calls(),
            ["tick 50"],
            "{case}: nothing is taken out for the head"
        );
        let mut got = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            got.push(judge.body(number, part, at + 1 == parts.len()));
        }
        assert_eq!(got, becomes, "{case}");
        let made: Vec<_> = judge.calls().iter().map(|call| words_only(call)).collect();
        let calls: Vec<_> = calls.iter().map(|call| words_only(call)).collect();
        assert_eq!(made, calls, "{case}");
        assert_eq!(judge.body(number, "more", false), CONTINUE, "{case}: later");
        assert_eq!(judge.calls(), [""; 0], "{case}: nothing more is looked at");
    }
}

/// A call without what the header says beside the kind of failure, which natively run tests look at.
fn words_only(call: &str) -> String {
    call.split('{').next().unwrap_or_default().to_owned()
}

#[test]
fn what_has_nothing_in_it() {
    let mut judge = Judge::new();
    assert_eq!(judge.headers(7, "200", true), CONTINUE);
    assert_eq!(judge.calls().len(), 2, "its status, and the judgement");
    assert_eq!(judge.headers(8, "404", true), CONTINUE);
    assert_eq!(judge.calls(), ["status"]);
    // Trailers are the end too.
    assert_eq!(judge.headers(9, "200", false), PAUSE);
    assert_eq!(judge.trailers(9), CONTINUE);
    let calls = judge.calls();
    assert!(
        calls
            .iter()
            .any(|call| call.starts_with("x-trilane-judged: server_error")),
        "{calls:?}"
    );
}

/// An answer that was held for 300 ms goes on, and no other; without one that is held the timer ends.
#[test]
fn time() {
    let mut judge = Judge::new();
    judge.headers(7, "200", false);
    judge.headers(8, "200", false);
    judge.headers(9, "200", false);
    assert_eq!(judge.calls(), ["tick 50"], "one timer for all");
    assert_eq!(judge.body(8, EVENT, false), CONTINUE);
    judge.done(9);
    judge.calls();
    for look in 1..LOOKS {
        judge.tick();
        assert_eq!(judge.calls(), [""; 0], "look {look}");
    }
    judge.tick();
    assert_eq!(judge.calls(), ["become 7", "resume 1"]);
    assert_eq!(
        judge.body(7, OVERLOADED, true),
        CONTINUE,
        "it is not judged any more"
    );
    assert_eq!(judge.calls(), [""; 0]);
    let mut looks = 0;
    while judge.calls() != ["tick 0"] {
        looks += 1;
        assert!(looks < 100, "the timer ends");
        judge.tick();
    }
    judge.headers(10, "200", false);
    assert_eq!(judge.calls(), ["tick 50"], "it begins anew");
}
