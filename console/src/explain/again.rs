//! The decision that the gateway would make now about a past request.

use serde_json::json;
use trilane::config::Compiled;
use trilane::keys::KeyRecord;
use trilane::protocol::Protocol;

use super::explanation::Explanation;
use super::past::LedgerLine;
use super::request::DescribedRequest;
use crate::gateway::{self, CredentialPlace, KeyHolder, LocalGateway};

/// The version that clients of protocol B name.
const VERSION: &[u8] = b"2023-06-01";

/// Runs the request of a line again, as far as the line tells it: with the same key, path and model, and a body that says no
/// more than the model. Nothing is sent.
///
/// # Errors
/// The reason that the line does not suffice.
pub fn again(
    line: &LedgerLine,
    compiled: Compiled,
    record: KeyRecord,
) -> Result<Explanation, &'static str> {
    let method = line.text("http.request.method");
    let path = line.text("url.path");
    let (Some(method), Some(path)) = (method, path) else {
        return Err(text!("Envoy answered before the filter saw it."));
    };
    if path.ends_with('…') {
        return Err(text!("The ledger has only the beginning of its path."));
    }
    if line.text("trilane.endpoint") == Some("images_edits") {
        return Err(text!("Its body was a form, of which nothing is kept."));
    }
    let protocol = [Protocol::A, Protocol::B, Protocol::C]
        .into_iter()
        .find(|known| Some(known.to_string().as_str()) == line.text("trilane.protocol"));
    let holder = KeyHolder::of_record(record);
    let local = LocalGateway::new(compiled, Some(&holder));
    let place = match line.text("trilane.key.found_in") {
        Some("authorization") => CredentialPlace::Authorization,
        Some("x-api-key") => CredentialPlace::XApiKey,
        Some("x-goog-api-key") => CredentialPlace::XGoogApiKey,
        Some("x-vc-api-key") => CredentialPlace::XVcApiKey,
        Some("query") => CredentialPlace::Query,
        _ => CredentialPlace::of(protocol.unwrap_or_else(|| {
            gateway::protocol_of(local.group(holder.value()).map(AsRef::as_ref))
        })),
    };
    let mut headers = vec![("content-type".to_owned(), b"application/json".to_vec())];
    if protocol == Some(Protocol::B) {
        headers.push(("anthropic-version".to_owned(), VERSION.to_vec()));
    }
    let mut target = path.as_bytes().to_vec();
    place.put(holder.value(), &mut target, &mut headers);
    let named = line.text("gen_ai.request.model");
    let body = match named.or_else(|| line.text("trilane.model")) {
        _ if method == "GET" => Vec::new(),
        Some(model) if protocol != Some(Protocol::C) => {
            json!({ "model": model }).to_string().into_bytes()
        }
        _ => b"{}".to_vec(),
    };
    let request = DescribedRequest::new(method.as_bytes(), &target, headers, body);
    let ran = gateway::run(&local, &request.head, &request.body);
    Ok(Explanation::new(&local, &request, Some(&holder), &ran))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use trilane::config::{Document, compile};

    use super::*;

    const DOCUMENT: &str = r#"{"currency": "USD", "groups": [{"id": "g", "protocol": "B", "multiplier": "1.0000",
        "cluster": "c", "models": [{"id": "m"}]}], "keys": []}"#;

    fn run(key: &Value, line: &Value) -> Result<(String, Option<String>), &'static str> {
        let mut document: Value = serde_json::from_str(DOCUMENT).expect("JSON");
        let mut whole = json!({"id": "k", "sha256": "0".repeat(64), "group": "g"});
        let members = whole.as_object_mut().expect("an object");
        members.extend(key.as_object().expect("an object").clone());
        document["keys"] = json!([whole]);
        let document = Document::parse(document.to_string().as_bytes()).expect("a document");
        let compiled = compile(&document).expect("a valid one");
        let mut all = json!({"timestamp": "2026-11-25T10:00:00Z", "http.response.status_code": 200, "http.request.method": "POST",
            "url.path": "/v1/messages", "trilane.protocol": "B", "trilane.key.id": "k", "gen_ai.request.model": "m"});
        let members = all.as_object_mut().expect("an object");
        members.extend(line.as_object().expect("an object").clone());
        let line = LedgerLine::parse(all.to_string().as_bytes()).expect("a line");
        let record = compiled.keys[0].1.clone();
        again(&line, compiled, record).map(|explanation| {
            let code = explanation.answer.and_then(|answer| answer.code);
            (explanation.decision.to_owned(), code)
        })
    }

    #[test]
    fn what_would_happen_now() {
        let refused = |code: &str| Ok(("refused".to_owned(), Some(code.to_owned())));
        for (case, key, line, want) in [
            (
                "as it was",
                json!({}),
                json!({}),
                Ok(("forwarded".to_owned(), None)),
            ),
            (
                "a disabled key",
                json!({"disabled": true}),
                json!({}),
                refused("invalid_api_key"),
            ),
            (
                "another model",
                json!({}),
                json!({"gen_ai.request.model": "x"}),
                refused("model_not_found"),
            ),
            (
                "another protocol",
                json!({}),
                json!({"url.path": "/v1/responses", "trilane.protocol": "A"}),
                refused("protocol_not_allowed"),
            ),
            (
                "a line with the canonical name alone",
                json!({}),
                json!({"gen_ai.request.model": null, "trilane.model": "m"}),
                Ok(("forwarded".to_owned(), None)),
            ),
            (
                "a list",
                json!({}),
                json!({"http.request.method": "GET", "url.path": "/v1/models"}),
                Ok(("answered".to_owned(), None)),
            ),
            (
                "the key in a wrong place",
                json!({}),
                json!({"trilane.key.found_in": "x-goog-api-key"}),
                refused("invalid_api_key"),
            ),
            (
                "a long path",
                json!({}),
                json!({"url.path": "/v1/…"}),
                Err("The ledger has only the beginning of its path."),
            ),
        ] {
            assert_eq!(run(&key, &line), want, "{case}");
        }
    }
}
