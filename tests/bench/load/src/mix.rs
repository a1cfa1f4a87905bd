//! Requests of many kinds, mixed, up to a number: for what many requests leave behind in a gateway.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::cli::Mixture;
use crate::client::{Client, Slowness};
use crate::request::Request;

/// A kind of request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestKind {
    name: String,
    /// The weight of the kind in the draw, beside the others' weights.
    weight: u64,
    method: Option<String>,
    path: String,
    #[serde(default)]
    headers: Vec<String>,
    body: Option<PathBuf>,
    /// After so many milliseconds the client leaves, unless the answer is there.
    abort_after_ms: Option<u64>,
    /// The expected ending: a status, or the words of a failure.
    #[serde(default = "good")]
    expect: ExpectedEnding,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
enum ExpectedEnding {
    Status(u16),
    Fails(String),
}

fn good() -> ExpectedEnding {
    ExpectedEnding::Status(200)
}

/// The outcome of a request that the client abandoned.
const LEFT: &str = "left";

/// The progress after a number of requests.
#[derive(Debug, Default, Serialize)]
struct MixProgress {
    requests: u64,
    failed: u64,
    /// Kind and how it ended, where that was not as expected.
    failures: BTreeMap<String, u64>,
    /// Kind -> how many there were; only in the end.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    kinds: BTreeMap<String, u64>,
}

/// Sends them all, and prints how it stands.
///
/// # Errors
/// The file with the kinds, or one that it names, cannot be read.
pub async fn run(mixture: &Mixture) -> Result<(), String> {
    let file = &mixture.kinds;
    let text = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let kinds: Vec<RequestKind> =
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut requests = Vec::new();
    for kind in &kinds {
        let (method, body) = (kind.method.as_deref(), kind.body.as_deref());
        requests.push(Request::of(method, &kind.path, &kind.headers, body)?);
    }
    let weights: u64 = kinds.iter().map(|kind| kind.weight).sum();
    if weights == 0 {
        return Err(format!("{}: no kind has a weight", file.display()));
    }
    let shared = Rc::new(MixRun {
        counts: kinds.iter().map(|_| Cell::new(0)).collect(),
        kinds,
        weights,
        left: Cell::new(mixture.requests),
        every: mixture.every,
        standing: RefCell::default(),
    });
    let mut workers = JoinSet::new();
    for number in 0..mixture.connections {
        let client = Client::new(mixture.to.clone(), Slowness::default());
        let (shared, requests) = (Rc::clone(&shared), requests.clone());
        let draw = number as u64 + 1;
        workers.spawn_local(async move { shared.work(client, requests, draw).await });
    }
    while workers.join_next().await.is_some() {}
    let standing = &mut *shared.standing.borrow_mut();
    for (kind, count) in shared.kinds.iter().zip(&shared.counts) {
        standing.kinds.insert(kind.name.clone(), count.get());
    }
    tell(standing);
    Ok(())
}

struct MixRun {
    kinds: Vec<RequestKind>,
    counts: Vec<Cell<u64>>,
    weights: u64,
    /// Requests that are still to be sent.
    left: Cell<u64>,
    every: u64,
    standing: RefCell<MixProgress>,
}

impl MixRun {
    /// One connection, exchange after exchange.
    async fn work(&self, mut client: Client, mut requests: Vec<Request>, mut draw: u64) {
        while let Some(left) = self.left.get().checked_sub(1) {
            self.left.set(left);
            // Knuth's generator, as for the keys.
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = self.kind((draw >> 24) % self.weights);
            let kind = &self.kinds[at];
            let exchange = client.exchange(requests[at].next(), |_, _| ());
            let ended = match kind.abort_after_ms {
                None => exchange.await,
                Some(time) => {
                    match tokio::time::timeout(Duration::from_millis(time), exchange).await {
                        Ok(ended) => ended,
                        Err(_) => {
                            client.hang_up();
                            Err(LEFT.to_owned())
                        }
                    }
                }
            };
            self.counts[at].set(self.counts[at].get() + 1);
            self.count(
                kind,
                ended.map_or_else(ExpectedEnding::Fails, ExpectedEnding::Status),
            );
        }
    }

    /// The kind that a number below the sum of the weights stands for.
    fn kind(&self, mut number: u64) -> usize {
        for (at, kind) in self.kinds.iter().enumerate() {
            match number.checked_sub(kind.weight) {
                None => return at,
                Some(rest) => number = rest,
            }
        }
        0
    }

    fn count(&self, kind: &RequestKind, ended: ExpectedEnding) {
        let standing = &mut *self.standing.borrow_mut();
        standing.requests += 1;
        if ended != kind.expect {
            standing.failed += 1;
            let what = match ended {
                ExpectedEnding::Status(status) => format!("{}: status {status}", kind.name),
                ExpectedEnding::Fails(how) => format!("{}: {how}", kind.name),
            };
            *standing.failures.entry(what).or_default() += 1;
        }
        if standing.requests.is_multiple_of(self.every) {
            tell(standing);
        }
    }
}

fn tell(standing: &MixProgress) {
    println!("{}", serde_json::to_string(standing).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_say_how_they_end() {
        let text = r#"[{"name": "a", "weight": 3, "path": "/"},
            {"name": "b", "weight": 1, "path": "/", "abort_after_ms": 5, "expect": "left"},
            {"name": "c", "weight": 1, "path": "/", "expect": 401}]"#;
        let kinds: Vec<RequestKind> = serde_json::from_str(text).unwrap();
        let expected: Vec<_> = kinds.iter().map(|kind| &kind.expect).collect();
        let left = ExpectedEnding::Fails(LEFT.to_owned());
        assert_eq!(
            expected,
            [
                &ExpectedEnding::Status(200),
                &left,
                &ExpectedEnding::Status(401)
            ]
        );
        let shared = MixRun {
            counts: vec![],
            kinds,
            weights: 5,
            left: Cell::new(0),
            every: 1,
            standing: RefCell::default(),
        };
        let drawn: Vec<_> = (0..5).map(|number| shared.kind(number)).collect();
        assert_eq!(drawn, [0, 0, 0, 1, 2]);
    }
}
