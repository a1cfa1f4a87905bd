//! The id that every response has: the upstream's own, or the request's.

use super::*;

/// A response with these ids.
struct Identified {
    /// `x-request-id`.
    usual: Option<&'static str>,
    /// `request-id`, where protocol B has it.
    of_b: Option<&'static str>,
}

impl ResponseHeaders for Identified {
    fn status(&self) -> u16 {
        200
    }

    fn details(&self) -> Vec<u8> {
        UPSTREAM.as_bytes().to_vec()
    }

    fn header(&self, name: &'static str) -> Option<String> {
        let id = match name {
            "x-request-id" => self.usual,
            "request-id" => self.of_b,
            _ => None,
        };
        id.map(str::to_owned)
    }

    fn withheld_headers(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn every_response_has_an_id() {
    let a = (
        "POST /v1/responses",
        ["authorization: Bearer k-a"].as_slice(),
        "gpt-x",
    );
    let b = (
        "POST /v1/messages",
        ["x-api-key: k-b", "anthropic-version: 2023-06-01"].as_slice(),
        "claude-z-2",
    );
    // What the upstream sets, then what is set beside it.
    let cases = [
        (a, Some("up-1"), None, None, None),
        (a, None, None, Some("req-1"), None),
        (a, None, Some("up-2"), Some("req-1"), None),
        (b, Some("up-1"), Some("up-2"), None, None),
        (b, Some("up-1"), None, None, Some("up-1")),
        (b, None, Some("up-2"), Some("req-1"), None),
        (b, None, None, Some("req-1"), Some("req-1")),
    ];
    for ((request, headers, model), usual, of_b, set_usual, set_of_b) in cases {
        let case = format!("{request}: {usual:?}, {of_b:?}");
        let (in_force, world) = setting();
        let mut exchange = Exchange::default();
        exchange.on_request_head(&head(request, headers), false, Some(&in_force), &world);
        let body = json!({"model": model}).to_string();
        exchange.on_request_body(body.as_bytes(), true, &Unlimited);
        let outcome = exchange.on_response_head(&Identified { usual, of_b }, false, &Unlimited);
        let Outcome::Continue(edits) = outcome else {
            panic!("{case}: {outcome:?}");
        };
        assert_eq!(set(&edits, "x-request-id"), set_usual, "{case}");
        assert_eq!(set(&edits, "request-id"), set_of_b, "{case}");
    }
}
