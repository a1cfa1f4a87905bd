//! Words for the names of the ledger: outcomes of requests and failures of attempts.

use std::borrow::Cow;

use crate::language::translated;

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

/// The details that Envoy has of a failed attempt, in words; those that have none, without underscores.
pub fn detail(reason: &str) -> Cow<'_, str> {
    let known = [
        ("Connection_refused", text!("connection refused")),
        ("connection_timeout", text!("connection timed out")),
        ("connection_failure", text!("no connection")),
        ("connection_termination", text!("connection closed")),
        ("remote_reset", text!("stream reset by the vendor")),
    ];
    let mut known = known.into_iter();
    let found = known.find(|(code, _)| reason.contains(code));
    found.map_or_else(
        || reason.replace('_', " ").into(),
        |(_, words)| translated(words),
    )
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
    fn details_of_envoy_have_words() {
        let refused = "upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}";
        for (reason, want) in [
            ("remote_connection_failure", "no connection"),
            (refused, "connection refused"),
            ("something_else", "something else"),
            ("", ""),
        ] {
            assert_eq!(detail(reason), want);
        }
    }

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
