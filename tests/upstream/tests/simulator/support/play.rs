//! Asks a form of answer for a scenario and reads its events.

use serde_json::Value;

use super::usage::UsageCall;
use super::{Http, ReceivedResponse, Simulator, request, send, sse};

const VERSION: &str = "anthropic-version: 2023-06-01";

pub async fn play(
    simulator: &Simulator,
    form: UsageCall,
    stream: bool,
    headers: &[&str],
) -> ReceivedResponse {
    let headers = [&[VERSION], headers].concat();
    let request = request(form.line(stream), &headers, form.body(stream));
    send(Http::One, simulator.first, request).await
}

pub async fn scene(
    simulator: &Simulator,
    form: UsageCall,
    stream: bool,
    scenario: &str,
) -> ReceivedResponse {
    let steer = format!("x-sim-scenario: {scenario}");
    play(simulator, form, stream, &[&steer]).await
}

/// The events, without the number of the request.
pub fn events(answer: &ReceivedResponse) -> Vec<(Option<String>, Value)> {
    let id = answer.header("x-request-id").replace('-', "");
    let parse = |data: String| match data.as_str() {
        "[DONE]" => Value::from("[DONE]"),
        json => serde_json::from_str(&json.replace(&id, "sim")).unwrap(),
    };
    sse::parse(&answer.body)
        .into_iter()
        .map(|(name, data)| (name, parse(data)))
        .collect()
}
