//! The judge of answers among the filters of an account's cluster, for groups with several accounts.
//!
//! It runs for requests that the gateway's filter marks, because another account may be asked, and for answers that may be
//! other than their status says. All others pay for a look at two headers.
//!
//! It is a module of its own, and small, since Envoy reads the file and takes its digest for each cluster.

use serde_json::{Value, json};
use trilane::exchange::JUDGE_HEADER;
use trilane::failover::ToldError;

use super::envoy::{any, extension};

/// The name of the filter.
const JUDGE: &str = "judge";

/// The filter, in the file `wasm` as Envoy sees it.
pub fn judge(wasm: &str) -> Value {
    let wasm = extension(
        "filters.http.wasm",
        any(
            "extensions.filters.http.wasm.v3.Wasm",
            json!({"config": {
                "name": JUDGE,
                // Without this it never sees the body of an answer that it holds.
                "allow_on_headers_stop_iteration": true,
                "failure_policy": "FAIL_RELOAD",
                "reload_config": {"backoff": {"base_interval": "0.1s"}},
                "vm_config": {
                    "vm_id": "trilane-judge",
                    "runtime": "envoy.wasm.runtime.v8",
                    "code": {"local": {"filename": wasm}},
                },
            }}),
        ),
    );
    let delegate = json!({
        "@type": "type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher",
        "extension_config": wasm,
        "xds_matcher": {"matcher_list": {"matchers": plain().map(skipped)}},
    });
    let filters = json!([{"name": JUDGE, "typed_config": delegate}]);
    let run = any(
        "extensions.filters.http.composite.v3.ExecuteFilterAction",
        json!({"filter_chain": {"typed_config": filters}}),
    );
    extension(
        "filters.http.composite",
        any(
            "extensions.filters.http.composite.v3.Composite",
            json!({"matcher": {"matcher_list": {"matchers": [{
                "predicate": header("Request", JUDGE_HEADER, json!({"exact": "1"})),
                "on_match": {"action": {"name": JUDGE, "typed_config": run}},
            }]}}}),
        ),
    )
}

/// The answers that are as their status says, the most usual ones first: each look at a header costs.
fn plain() -> [Value; 2] {
    let status = |status: &str| header("Response", ":status", json!({"exact": status}));
    let stream = header(
        "Response",
        "content-type",
        json!({"prefix": "text/event-stream"}),
    );
    let empty = header("Response", "content-length", json!({"exact": "0"}));
    let not = |predicate: Value| json!({"not_matcher": predicate});
    let told = ToldError::STATUSES.map(|told| status(&told.to_string()));
    let suspect: Vec<Value> = [status("200")].into_iter().chain(told).collect();
    [
        json!({"and_matcher": {"predicate": [status("200"), not(stream), not(empty)]}}),
        not(json!({"or_matcher": {"predicate": suspect}})),
    ]
}

/// The judge is left out for these answers.
fn skipped(predicate: Value) -> Value {
    let skip = any(
        "extensions.filters.common.matcher.action.v3.SkipFilter",
        json!({}),
    );
    json!({"predicate": predicate, "on_match": {"action": {"name": "skip", "typed_config": skip}}})
}

/// A header of the `side` (`Request`, `Response`) has a value.
fn header(side: &str, name: &str, value: Value) -> Value {
    let input = format!("type.matcher.v3.Http{side}HeaderMatchInput");
    json!({"single_predicate": {
        "input": {"name": name, "typed_config": any(&input, json!({"header_name": name}))},
        "value_match": value,
    }})
}
