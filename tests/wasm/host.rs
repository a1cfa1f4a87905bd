//! Envoy's part: processes, VMs, and what a VM may ask of its host.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use wasmi::{Engine, Instance, Linker, Module, Store, WasmParams, WasmResults};

use crate::abi;
use crate::layout::Layout;

/// After so many milliseconds a worker looks again which policy is in force.
pub const LOOK_MS: u64 = 10;

/// Header names and values, in order.
pub type Headers = Vec<(Vec<u8>, Vec<u8>)>;

/// Headers from text.
pub fn headers(pairs: &[(&str, &str)]) -> Headers {
    pairs
        .iter()
        .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
        .collect()
}

/// The first value of a header.
pub fn header<'a>(headers: &'a Headers, name: &str) -> Option<&'a [u8]> {
    headers
        .iter()
        .find(|(known, _)| known == name.as_bytes())
        .map(|(_, value)| value.as_slice())
}

/// One Envoy: what all its VMs share.
#[derive(Clone, Default)]
pub struct Process(Arc<Mutex<Shared>>);

/// Shared data of one `vm_id`, stats, and the clock.
#[derive(Default)]
pub struct Shared {
    pub data: HashMap<String, (Vec<u8>, u32)>,
    pub last_cas: u32,
    /// Names written, in order, with what was written.
    pub written: Vec<(String, Vec<u8>)>,
    pub metrics: Vec<(String, u64)>,
    /// The wall clock, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// The steady clock, in milliseconds.
    pub steady_ms: u64,
    /// The time that passes while a value of the shared data is written, in milliseconds.
    pub write_ms: u64,
    pub entropy: u64,
    pub last_token: u32,
    /// Names that begin so are changed by another VM between any look at them and any change.
    pub contended: Option<&'static str>,
}

impl Process {
    pub fn new() -> Self {
        let process = Self::default();
        process.lock().now_ms = 1_800_000_000_000;
        process.lock().steady_ms = 5_000_000;
        process
    }

    pub fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap()
    }

    /// Lets time pass.
    pub fn pass(&self, milliseconds: u64) {
        self.lock().pass(milliseconds);
    }

    /// Puts the wall clock forward, or back.
    pub fn step(&self, milliseconds: i64) {
        let mut shared = self.lock();
        shared.now_ms = shared.now_ms.checked_add_signed(milliseconds).unwrap();
    }

    /// A value of the shared data; `None` where the name was never set.
    pub fn data(&self, name: &str) -> Option<Vec<u8>> {
        self.lock().data.get(name).map(|(value, _)| value.clone())
    }

    /// Sets a value of the shared data, as another VM would.
    pub fn put(&self, name: &str, value: &[u8]) {
        self.lock().set(name, value, 0);
    }

    /// The names written since this was asked last.
    pub fn written(&self) -> Vec<String> {
        self.writes().into_iter().map(|(name, _)| name).collect()
    }

    /// The same, with what was written.
    pub fn writes(&self) -> Vec<(String, Vec<u8>)> {
        std::mem::take(&mut self.lock().written)
    }

    /// A stat's value; `None` where it was never defined.
    pub fn metric(&self, name: &str) -> Option<u64> {
        let shared = self.lock();
        let found = shared.metrics.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| *value)
    }

    pub fn generation(&self) -> Option<u64> {
        let bytes = self.data("trilane/generation")?;
        Some(u64::from_le_bytes(bytes.try_into().unwrap()))
    }
}

impl Shared {
    fn pass(&mut self, milliseconds: u64) {
        self.now_ms += milliseconds;
        self.steady_ms += milliseconds;
    }

    /// Sets a value as Envoy does: 0 is unconditional; a version given for a name that was never set does not matter.
    pub fn set(&mut self, name: &str, value: &[u8], cas: u32) -> bool {
        self.pass(self.write_ms);
        if cas != 0 && self.contended.is_some_and(|part| name.starts_with(part)) {
            return false;
        }
        if let Some((_, current)) = self.data.get(name)
            && cas != 0
            && cas != *current
        {
            return false;
        }
        self.last_cas += 1;
        let entry = (value.to_vec(), self.last_cas);
        self.data.insert(name.to_owned(), entry);
        self.written.push((name.to_owned(), value.to_vec()));
        true
    }
}

/// A call that the VM made with `dispatch_http_call`.
#[derive(Debug, Clone)]
pub struct HttpCall {
    pub token: u32,
    pub cluster: String,
    pub headers: Headers,
    pub timeout_ms: u32,
}

/// The source's answer to a call.
#[derive(Debug, Clone, Default)]
pub struct CallAnswer {
    /// None at all is how Envoy says that the call failed.
    pub headers: Headers,
    pub body: Vec<u8>,
}

impl CallAnswer {
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::status("200", body)
    }

    pub fn status(status: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            headers: headers(&[(":status", status)]),
            body: body.into(),
        }
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.extend(headers(&[(name, value)]));
        self
    }

    pub fn failed() -> Self {
        Self::default()
    }
}

/// A local reply.
#[derive(Debug, Clone)]
pub struct RecordedReply {
    pub status: u32,
    pub headers: Headers,
    pub body: Vec<u8>,
}

/// The state that a VM may read or change while one of its callbacks runs: any other access is a fault.
#[derive(Default)]
pub struct CallbackScope {
    pub callback: &'static str,
    pub request_headers: Option<Headers>,
    pub response_headers: Option<Headers>,
    pub request_body: Option<Vec<u8>>,
    pub response_body: Option<Vec<u8>>,
    pub call: Option<CallAnswer>,
    pub plugin_configuration: Option<Vec<u8>>,
    pub code_details: Option<Vec<u8>>,
    pub reply: Option<RecordedReply>,
}

/// The state of one VM's host.
pub struct WasmHost {
    pub process: Process,
    pub root_id: &'static str,
    pub scope: CallbackScope,
    pub logs: Vec<(i32, String)>,
    pub tick_ms: Option<u32>,
    pub calls: VecDeque<HttpCall>,
    /// The records that exchanges have left for the access log.
    pub records: Vec<Vec<u8>>,
    /// Whether the cluster of a call is known.
    pub cluster_known: bool,
    /// The memory behind the request body of the stream at hand.
    pub layout: Layout,
    /// The host calls since somebody wanted to know them: each with what it is about.
    pub noted: Option<Vec<String>>,
}

impl WasmHost {
    /// Notes a host call, where somebody wants to know.
    pub fn note(&mut self, call: &str, about: &[u8]) {
        if let Some(noted) = &mut self.noted {
            let about = String::from_utf8_lossy(about).replace('\0', ".");
            noted.push(format!("{call} {about}").trim_end().to_owned());
        }
    }
}

/// One VM with one root context.
pub struct Vm {
    store: Store<WasmHost>,
    instance: Instance,
    last_context: u32,
}

const ROOT: i32 = 1;

/// The result of a callback: an error is a trap, with its reason.
pub type Called<T> = Result<T, String>;

impl Vm {
    /// Starts a VM whose root has this id: `config-loader`, or anything else for the gateway.
    pub fn start(process: &Process, root_id: &'static str) -> Self {
        let (engine, module) = module();
        let host = WasmHost {
            process: process.clone(),
            root_id,
            scope: CallbackScope::default(),
            logs: Vec::new(),
            tick_ms: None,
            calls: VecDeque::new(),
            records: Vec::new(),
            cluster_known: true,
            layout: Layout::default(),
            noted: None,
        };
        let mut store = Store::new(engine, host);
        let mut linker = Linker::new(engine);
        abi::define(&mut linker, module);
        let instance = linker.instantiate_and_start(&mut store, module).unwrap();
        let mut vm = Self {
            store,
            instance,
            last_context: 1,
        };
        vm.call::<(), ()>("_initialize", (), CallbackScope::default())
            .unwrap();
        vm.call::<_, ()>(
            "proxy_on_context_create",
            (ROOT, 0),
            CallbackScope::default(),
        )
        .unwrap();
        let started: i32 = vm
            .call("proxy_on_vm_start", (ROOT, 0), CallbackScope::default())
            .unwrap();
        assert_eq!(started, 1);
        vm
    }

    /// Starts and configures a VM that must take its configuration.
    pub fn configured(process: &Process, root_id: &'static str, configuration: &str) -> Self {
        let mut vm = Self::start(process, root_id);
        assert!(vm.configure(configuration), "{:?}", vm.logs());
        vm
    }

    /// Calls an export with what it may ask for; the scope comes back in `host().scope`.
    pub fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        name: &'static str,
        arguments: P,
        scope: CallbackScope,
    ) -> Called<R> {
        self.store.data_mut().scope = CallbackScope {
            callback: name,
            ..scope
        };
        let function = self.instance.get_typed_func::<P, R>(&self.store, name);
        let result = function.unwrap().call(&mut self.store, arguments);
        result.map_err(|trap| format!("{name}: {trap}; the last logs: {:?}", self.last_logs()))
    }

    pub fn host(&mut self) -> &mut WasmHost {
        self.store.data_mut()
    }

    pub fn configure(&mut self, configuration: &str) -> bool {
        let scope = CallbackScope {
            plugin_configuration: Some(configuration.as_bytes().to_vec()),
            ..CallbackScope::default()
        };
        let size = i32::try_from(configuration.len()).unwrap();
        let taken: i32 = self
            .call("proxy_on_configure", (ROOT, size), scope)
            .unwrap();
        taken == 1
    }

    pub fn tick(&mut self) {
        self.call::<_, ()>("proxy_on_tick", ROOT, CallbackScope::default())
            .unwrap();
    }

    /// The host calls that `act` makes.
    pub fn noted(&mut self, act: impl FnOnce(&mut Self)) -> Vec<String> {
        self.host().noted = Some(Vec::new());
        act(self);
        self.host().noted.take().unwrap()
    }

    /// The root is over, as when Envoy replaces the plugin.
    pub fn end(&mut self) {
        let done: i32 = self
            .call("proxy_on_done", ROOT, CallbackScope::default())
            .unwrap();
        assert_eq!(done, 1, "nothing is left to wait for");
        self.call::<_, ()>("proxy_on_delete", ROOT, CallbackScope::default())
            .unwrap();
    }

    /// The calls made since this was asked last.
    pub fn calls(&mut self) -> Vec<HttpCall> {
        self.host().calls.drain(..).collect()
    }

    /// The one call that a tick makes.
    pub fn tick_and_call(&mut self) -> HttpCall {
        self.tick();
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "calls of one tick: {calls:?}");
        calls.remove(0)
    }

    /// Hands an answer over.
    pub fn answer(&mut self, token: u32, answer: CallAnswer) -> Called<()> {
        let count = i32::try_from(answer.headers.len()).unwrap();
        let size = i32::try_from(answer.body.len()).unwrap();
        let token = i32::try_from(token).unwrap();
        let scope = CallbackScope {
            call: Some(answer),
            ..CallbackScope::default()
        };
        self.call(
            "proxy_on_http_call_response",
            (ROOT, token, count, size, 0),
            scope,
        )
    }

    /// One round: tick, fetch, answer.
    pub fn load(&mut self, answer: CallAnswer) -> HttpCall {
        let call = self.tick_and_call();
        self.answer(call.token, answer).unwrap();
        call
    }

    /// A new stream's context id.
    pub fn create_stream(&mut self) -> i32 {
        self.last_context += 1;
        let id = i32::try_from(self.last_context).unwrap();
        self.call::<_, ()>(
            "proxy_on_context_create",
            (id, ROOT),
            CallbackScope::default(),
        )
        .unwrap();
        id
    }

    /// The lines logged since this was asked last.
    pub fn logs(&mut self) -> Vec<String> {
        let logs = std::mem::take(&mut self.host().logs);
        logs.into_iter().map(|(_, line)| line).collect()
    }

    fn last_logs(&self) -> Vec<&str> {
        let logs = self.store.data().logs.iter().rev().take(3);
        logs.map(|(_, line)| line.as_str()).collect()
    }
}

/// The filter, read and translated once.
fn module() -> &'static (Engine, Module) {
    static MODULE: OnceLock<(Engine, Module)> = OnceLock::new();
    MODULE.get_or_init(|| {
        let path = std::env::var("TRILANE_WASM")
            .unwrap_or_else(|_| "target/wasm32-wasip1/release/trilane.wasm".to_owned());
        let bytes = std::fs::read(&path).unwrap_or_else(|error| {
            panic!(
                "the built filter cannot be read: {path}: {error}. Build it with `make build`, or name it in TRILANE_WASM."
            )
        });
        let engine = Engine::default();
        let module = Module::new(&engine, &bytes[..]).unwrap();
        (engine, module)
    })
}
