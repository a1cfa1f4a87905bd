//! Words for the names of the ledger: outcomes of requests and failures of attempts.

use std::borrow::Cow;

/// The outcome of a request, a `trilane.outcome`.
pub fn outcome(name: &str) -> Cow<'_, str> {
    match name {
        "finished" => t!("finished"),
        "error_event" => t!("error event"),
        "truncated" => t!("truncated"),
        "client_abort" => t!("client abort"),
        "upstream_reset" => t!("upstream reset"),
        "timeout" => t!("timeout"),
        "upstream_error" => t!("upstream error"),
        "upstream_failed" => t!("upstream failed"),
        "refused" => t!("refused"),
        "answered" => t!("answered"),
        "before the filter" => t!("before the filter"),
        other => other.replace('_', " ").into(),
    }
}

/// The failure of an attempt, by its kind.
pub fn failure(kind: &str) -> Cow<'_, str> {
    match kind {
        "rate_limited" => t!("rate limited"),
        "overloaded" => t!("overloaded"),
        "server_error" => t!("server error"),
        "unauthorized" => t!("unauthorized"),
        "no_model" => t!("no model"),
        "redirected" => t!("redirected"),
        "no_credential" => t!("no credential"),
        "connection" => t!("connection"),
        "tls" => "tls".into(),
        "no_host" => t!("no host"),
        "no_answer" => t!("no answer"),
        "no_time" => t!("no time"),
        "body_too_large" => t!("body too large"),
        "account_limit" => t!("account limit"),
        other => other.replace('_', " ").into(),
    }
}

/// The outcome of a test of a credential.
pub fn test(outcome: &str) -> Cow<'_, str> {
    match outcome {
        "works" => t!("works"),
        "unreadable" => t!("unreadable"),
        "credential_refused" => t!("credential refused"),
        "address_refused" => t!("address refused"),
        other => failure(other),
    }
}

#[cfg(test)]
mod tests {
    use trilane::ledger::{AttemptFailure, Ending};

    use super::*;

    #[test]
    fn each_name_has_words() {
        for of in Ending::ALL {
            let name = of.name();
            assert_eq!(outcome(name), name.replace('_', " "), "{name}");
            assert!(matches!(outcome(name), Cow::Borrowed(_)), "{name}");
        }
        for of in AttemptFailure::ALL {
            let name = of.name();
            assert_eq!(failure(name), name.replace('_', " "), "{name}");
        }
    }
}
