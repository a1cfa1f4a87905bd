//! An Envoy in memory: roots that come and go, a source of documents, and the calls between them.

use std::rc::Rc;

use serde_json::json;

use super::super::*;
use crate::config::snapshot;
use crate::host::fake::{FakeCall, FakeHost, FakeProcess, FakeResponse};

/// The plugin configuration of a root whose document is behind a cluster.
pub(super) const FETCHED: &str = r#"{"source": {"cluster": "source"}}"#;

/// The text of document number `n`, which its policy tells by the size of its window.
pub(super) fn text(n: u32) -> String {
    with_feed(n, None)
}

/// The same with a feed at this path.
pub(super) fn with_feed(n: u32, path: Option<&str>) -> String {
    let feed = path.map(|path| json!({"cluster": "feed", "path": path}));
    json!({
        "inspect_window": 1024 + n,
        "groups": [{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}],
        "keys": [],
        "keys_feed": feed,
    })
    .to_string()
}

/// The plugin configuration of a root that has document number `n` in itself.
pub(super) fn inline(n: u32) -> String {
    format!(r#"{{"inline": {}}}"#, text(n))
}

/// The number of the document in effect.
pub(super) fn in_effect(process: &FakeProcess) -> Option<u32> {
    let bytes = process.shared.get(snapshot::POLICY).0?;
    let policy = snapshot::InForce::read(bytes).unwrap().policy;
    Some(u32::try_from(policy.inspect_window).unwrap() - 1024)
}

/// The generation that workers are told of; 0 before the first one.
pub(super) fn generation(process: &FakeProcess) -> u64 {
    let bytes = process.shared.get(GENERATION).0.unwrap_or_default();
    snapshot::decode_generation(&bytes).unwrap_or_default()
}

/// A root in a VM of its own.
#[derive(Debug)]
pub(super) struct SimulatedRoot {
    pub(super) host: FakeHost,
    pub(super) loader: Loader,
    pub(super) role: LoaderRole,
    pub(super) configuration: String,
}

impl SimulatedRoot {
    /// Starts a root that was configured just now.
    pub(super) fn start(process: &Rc<FakeProcess>, role: LoaderRole, configuration: &str) -> Self {
        let host = FakeHost::of(process);
        let loader = Loader::configure(configuration.as_bytes(), role, &host);
        Self {
            host,
            loader: loader.unwrap().unwrap(),
            role,
            configuration: configuration.to_owned(),
        }
    }

    /// Ticks, and gives the calls that it sends.
    pub(super) fn tick(&mut self) -> Vec<FakeCall> {
        self.loader.on_tick(&self.host);
        self.host.take_calls()
    }

    /// Ticks when its period is over.
    pub(super) fn next_tick(&mut self) -> Vec<FakeCall> {
        let period = self.host.period.get().unwrap();
        let milliseconds = u64::try_from(period.as_millis()).unwrap();
        self.host.process.pass_ms(milliseconds);
        self.tick()
    }

    pub(super) fn respond(&mut self, call: &FakeCall, response: Option<&FakeResponse>) {
        self.loader.on_response(call.id, response, &self.host);
    }
}

/// Returns the response of a source with this document to a request.
pub(super) fn serve(text: &str, request: &FakeCall) -> FakeResponse {
    let etag = format!("{:x?}", &Sha256::digest(text)[..4]);
    if request.header("if-none-match") == Some(etag.as_str()) {
        return FakeResponse::status("304", "");
    }
    FakeResponse::ok(text).with("etag", &etag)
}
