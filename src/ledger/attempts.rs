//! The attempts of one exchange at its upstream accounts.
//!
//! [`failover`](crate::failover) sees how each attempt ends.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::upstream_error::{AccountFault, UpstreamError};

/// Longest reason that is kept, in bytes.
const MAX_REASON: usize = 300;
/// Envoy's details of a response that the account itself gave.
const VIA_UPSTREAM: &str = "via_upstream";

/// The upstream accounts that a request was sent to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// The account of the last attempt; `None` where there was none.
    pub last: Option<SmolStr>,
    /// The number of attempts.
    pub count: u64,
    /// The failed ones, in their order.
    pub failed: Vec<FailedAttempt>,
    /// Whether the last attempt did not fail: the account gave a success, or an error that is the request's fault.
    pub answered: bool,
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// The source of the account, where it is another than the one that the request ended at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SmolStr>,
    /// The account.
    pub account: SmolStr,
    /// The kind of failure.
    pub kind: AttemptFailure,
    /// The status of the response; 0 where there was none.
    pub status: u16,
    /// The reason why the account gave no response, in Envoy's words; empty where it gave one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The fault of the account that the words of its response tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<AccountFault>,
    /// The error in its response, where that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<UpstreamError>,
}

/// The reason why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptFailure {
    /// 429
    RateLimited,
    /// 503, 529
    Overloaded,
    /// 500, 502, 504
    ServerError,
    /// 401, 402, 403, or the same in the words of another error: the account's credential is invalid, its balance used up, or
    /// its rights do not suffice.
    Unauthorized,
    /// The account does not have the model, by the words of its error.
    NoModel,
    /// 3xx: the account's URL leads elsewhere.
    Redirected,
    /// The account has no credential to send.
    NoCredential,
    /// No connection could be made, or it broke before the response.
    Connection,
    /// The TLS handshake failed, or the certificate is not valid for the host.
    Tls,
    /// The account's host has no address, or the account has no cluster yet.
    NoHost,
    /// No response began in time.
    NoAnswer,
    /// No attempt was made: the time for all attempts was over.
    NoTime,
    /// No attempt was made: the body is longer than what Envoy keeps for another one.
    BodyTooLarge,
    /// No attempt was made: the account's own limits, as the document has them, did not allow it.
    AccountLimit,
    /// Any other error: it is the request's fault, so no other account is attempted.
    Request,
}

impl AttemptFailure {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 15] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::ServerError,
        Self::Unauthorized,
        Self::NoModel,
        Self::Redirected,
        Self::NoCredential,
        Self::Connection,
        Self::Tls,
        Self::NoHost,
        Self::NoAnswer,
        Self::NoTime,
        Self::BodyTooLarge,
        Self::AccountLimit,
        Self::Request,
    ];

    /// The name in the ledger and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Unauthorized => "unauthorized",
            Self::NoModel => "no_model",
            Self::Redirected => "redirected",
            Self::NoCredential => "no_credential",
            Self::Connection => "connection",
            Self::Tls => "tls",
            Self::NoHost => "no_host",
            Self::NoAnswer => "no_answer",
            Self::NoTime => "no_time",
            Self::BodyTooLarge => "body_too_large",
            Self::AccountLimit => "account_limit",
            Self::Request => "request",
        }
    }

    /// Whether an attempt was made.
    pub fn is_made(self) -> bool {
        !matches!(self, Self::NoTime | Self::BodyTooLarge | Self::AccountLimit)
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Of an account's own response with a `status` from 300 on.
    pub fn of_status(status: u16) -> Self {
        match status {
            429 => Self::RateLimited,
            503 | 529 => Self::Overloaded,
            500 | 502 | 504 => Self::ServerError,
            401..=403 => Self::Unauthorized,
            300..=399 => Self::Redirected,
            _ => Self::Request,
        }
    }

    /// Of an attempt that Envoy answered itself, by Envoy's report.
    fn of_report(report: &str) -> Self {
        let kinds = [
            ("failed_to_inject_credential", Self::NoCredential),
            // The connection broke in the handshake: nothing was wrong with TLS.
            ("system_library", Self::Connection),
            ("TLS_error", Self::Tls),
            ("no_healthy_upstream", Self::NoHost),
            ("cluster_not_found", Self::NoHost),
        ];
        let found = kinds.into_iter().find(|(words, _)| report.contains(words));
        found.map_or(Self::Connection, |(_, kind)| kind)
    }
}

impl FailedAttempt {
    /// Whether the vendor rejected the account, and the operator has to do something about it. A 402 is told to the client.
    pub fn rejects_account(&self) -> bool {
        match self.kind {
            AttemptFailure::Unauthorized => self.status != 402,
            AttemptFailure::NoModel => true,
            _ => false,
        }
    }

    /// An attempt whose answer, with an error status, tells this in its words.
    pub fn told(account: SmolStr, status: u16, kind: AttemptFailure) -> Self {
        Self {
            source: None,
            account,
            kind,
            status,
            reason: String::new(),
            fault: None,
            error: None,
        }
    }

    /// The same with what the words of its response tell.
    #[must_use]
    pub fn with_words(self, fault: Option<AccountFault>, error: Option<UpstreamError>) -> Self {
        Self {
            fault,
            error: error.filter(|error| !error.is_empty()),
            ..self
        }
    }

    /// An attempt that ended with the error `status`, the account's or Envoy's. `report` is what the account's internal
    /// listener reports: Envoy's response code details, flags and transport failure, with semicolons between.
    pub fn answered(account: SmolStr, status: u16, report: &str) -> Self {
        let details = report.split(';').next().unwrap_or_default();
        if details.is_empty() || details == VIA_UPSTREAM {
            return Self::told(account, status, AttemptFailure::of_status(status));
        }
        Self {
            source: None,
            account,
            kind: AttemptFailure::of_report(report),
            status: 0,
            reason: excerpt(details),
            fault: None,
            error: None,
        }
    }

    /// An attempt whose connection could not be made, or broke before the response; `transport_failure` is Envoy's reason,
    /// empty where there is none.
    pub fn broken(account: SmolStr, transport_failure: &str) -> Self {
        let kind = AttemptFailure::of_report(transport_failure);
        let reason = match transport_failure {
            "" => kind.name().to_owned(),
            failure => excerpt(failure),
        };
        Self {
            source: None,
            account,
            kind,
            status: 0,
            reason,
            fault: None,
            error: None,
        }
    }

    /// An attempt that ended without a response: it took too long, or was aborted.
    pub fn unanswered(account: SmolStr) -> Self {
        Self::without_answer(account, AttemptFailure::NoAnswer)
    }

    /// An attempt that was not made: there was no time left for it.
    pub fn not_made(account: SmolStr) -> Self {
        Self::without_answer(account, AttemptFailure::NoTime)
    }

    /// An attempt that was not made: Envoy has not kept the body.
    pub fn too_large(account: SmolStr) -> Self {
        Self::without_answer(account, AttemptFailure::BodyTooLarge)
    }

    /// An attempt that was not made: the account's own limits did not allow it.
    pub fn over_limit(account: SmolStr) -> Self {
        Self::without_answer(account, AttemptFailure::AccountLimit)
    }

    fn without_answer(account: SmolStr, kind: AttemptFailure) -> Self {
        Self {
            source: None,
            account,
            kind,
            status: 0,
            reason: kind.name().to_owned(),
            fault: None,
            error: None,
        }
    }
}

/// A reason, cut to [`MAX_REASON`].
fn excerpt(reason: &str) -> String {
    let cut = reason
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| *at >= MAX_REASON)
        .unwrap_or(reason.len());
    reason.get(..cut).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong() {
        let reset = "upstream_reset_before_response_started";
        let cases = [
            (429, "via_upstream;-;", AttemptFailure::RateLimited),
            (503, "via_upstream;-;", AttemptFailure::Overloaded),
            (529, "via_upstream;-;", AttemptFailure::Overloaded),
            (500, "via_upstream;-;", AttemptFailure::ServerError),
            (504, "via_upstream;-;", AttemptFailure::ServerError),
            (401, "via_upstream;-;", AttemptFailure::Unauthorized),
            (402, "via_upstream;-;", AttemptFailure::Unauthorized),
            (403, "via_upstream;-;", AttemptFailure::Unauthorized),
            (300, "via_upstream;-;", AttemptFailure::Redirected),
            (304, "via_upstream;-;", AttemptFailure::Redirected),
            (308, "via_upstream;-;", AttemptFailure::Redirected),
            (399, "", AttemptFailure::Redirected),
            (400, "via_upstream;-;", AttemptFailure::Request),
            (501, "via_upstream;-;", AttemptFailure::Request),
            (404, "", AttemptFailure::Request),
            (
                401,
                "failed_to_inject_credential;-;",
                AttemptFailure::NoCredential,
            ),
            (
                503,
                &format!("{reset}{{x}};UF;"),
                AttemptFailure::Connection,
            ),
            (
                503,
                &format!("{reset}{{y}};UF;TLS_error:|x"),
                AttemptFailure::Tls,
            ),
            (
                503,
                &format!(
                    "{reset}{{z}};UF;TLS_error:|33554536:system_library:OPENSSL_internal:Connection_reset_by_peer"
                ),
                AttemptFailure::Connection,
            ),
            (503, "no_healthy_upstream;UH;", AttemptFailure::NoHost),
            (503, "cluster_not_found;NC;", AttemptFailure::NoHost),
            (
                502,
                &format!("{reset}{{protocol_error}};UPE;"),
                AttemptFailure::Connection,
            ),
        ];
        for (status, report, want) in cases {
            let failed = FailedAttempt::answered(String::new().into(), status, report);
            assert_eq!(failed.kind, want, "{status} {report}");
        }
        for kind in AttemptFailure::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn a_reason_is_cut_between_characters() {
        for text in ["x".repeat(500), "\u{20ac}".repeat(500)] {
            let failed = FailedAttempt::answered("a".into(), 503, &text);
            assert!(failed.reason.len() <= MAX_REASON + 3 && text.starts_with(&failed.reason));
            assert!(failed.reason.len() >= MAX_REASON);
        }
    }
}
