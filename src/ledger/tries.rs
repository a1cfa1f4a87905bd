//! The tries of one exchange that failed before another account was asked.
//!
//! A filter of its own watches each try where it ends, and hands what it saw over to the exchange's
//! record: as members of a JSON array, one after the other.

use serde::{Deserialize, Serialize};

/// Longest reason that is kept, in bytes.
const MAX_REASON: usize = 300;
/// What Envoy's details say of an answer that the account itself gave.
const VIA_UPSTREAM: &str = "via_upstream";

/// The upstream accounts that a request was sent to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The one that answered, or was asked last; `None` where it never came to asking.
    pub last: Option<String>,
    /// How many tries there were.
    pub tries: u64,
    /// Those of them that failed, in their order.
    pub failed: Vec<FailedTry>,
    /// Whether the last one gave an answer that counts: a good one, or one that finds fault with the request.
    pub answered: bool,
}

/// A try that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTry {
    /// The account that was tried.
    pub account: String,
    /// What went wrong.
    pub kind: Failure,
    /// The status that it answered; 0 where no answer came.
    pub status: u16,
    /// Why no answer of its own came, in Envoy's words; empty where it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Why a try failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// 429
    RateLimited,
    /// 503, 529
    Overloaded,
    /// 500, 502, 504
    ServerError,
    /// 401, 402, 403: the account's credential or its balance is no good.
    Unauthorized,
    /// There is no credential of the account to send.
    NoCredential,
    /// Nobody could be connected to, or the connection broke before the answer.
    Connection,
    /// The other side is not who it should be, or speaks no TLS with us.
    Tls,
    /// The account's host has no address, or the account no cluster yet.
    NoHost,
    /// No answer began within the time that it had.
    NoAnswer,
    /// The account was not asked any more: the time for all tries was over.
    NoTime,
    /// Any other error. It is about the request: no other account was asked.
    Request,
}

impl Failure {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 11] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::ServerError,
        Self::Unauthorized,
        Self::NoCredential,
        Self::Connection,
        Self::Tls,
        Self::NoHost,
        Self::NoAnswer,
        Self::NoTime,
        Self::Request,
    ];

    /// The name in the ledger and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Unauthorized => "unauthorized",
            Self::NoCredential => "no_credential",
            Self::Connection => "connection",
            Self::Tls => "tls",
            Self::NoHost => "no_host",
            Self::NoAnswer => "no_answer",
            Self::NoTime => "no_time",
            Self::Request => "request",
        }
    }

    /// What an account's own answer with an error `status` says.
    pub fn of_status(status: u16) -> Self {
        match status {
            429 => Self::RateLimited,
            503 | 529 => Self::Overloaded,
            500 | 502 | 504 => Self::ServerError,
            401..=403 => Self::Unauthorized,
            _ => Self::Request,
        }
    }

    /// What Envoy's report says of a try that it answered itself.
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

impl FailedTry {
    /// Whether the account itself said that its credential is no good, or not for this.
    pub fn is_refusal(&self) -> bool {
        self.kind == Failure::Unauthorized && matches!(self.status, 401 | 403)
    }

    /// A try that came back with the error `status`, the account's or Envoy's; `report` is what the way to the account said of it:
    /// Envoy's response code details, flags and transport failure, with semicolons between.
    pub fn answered(account: String, status: u16, report: &str) -> Self {
        let details = report.split(';').next().unwrap_or_default();
        if details.is_empty() || details == VIA_UPSTREAM {
            return Self {
                account,
                kind: Failure::of_status(status),
                status,
                reason: String::new(),
            };
        }
        let cut = details
            .char_indices()
            .map(|(at, _)| at)
            .find(|at| *at >= MAX_REASON)
            .unwrap_or(details.len());
        Self {
            account,
            kind: Failure::of_report(report),
            status: 0,
            reason: details.get(..cut).unwrap_or_default().to_owned(),
        }
    }

    /// A try that ended without an answer: it took too long, or was broken off.
    pub fn unanswered(account: String) -> Self {
        Self::without_answer(account, Failure::NoAnswer)
    }

    /// A try that was not made: there was no time left for it.
    pub fn not_made(account: String) -> Self {
        Self::without_answer(account, Failure::NoTime)
    }

    fn without_answer(account: String, kind: Failure) -> Self {
        Self {
            account,
            kind,
            status: 0,
            reason: kind.name().to_owned(),
        }
    }

    /// Adds it to those that were handed over before.
    pub fn hand_over(&self, mut before: Vec<u8>) -> Vec<u8> {
        // Writing strings and a number into memory cannot fail.
        let Ok(this) = serde_json::to_vec(self) else {
            return before;
        };
        if !before.is_empty() {
            before.push(b',');
        }
        before.extend_from_slice(&this);
        before
    }

    /// All that were handed over; none where that cannot be read.
    pub fn take_over(handed: &[u8]) -> Vec<Self> {
        let list = [b"[", handed, b"]"].concat();
        serde_json::from_slice(&list).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_handed_over_in_their_order() {
        let tries = [
            FailedTry::answered("a1".to_owned(), 429, "via_upstream;-;"),
            FailedTry::answered("a2".to_owned(), 503, "quoted\"{};UF;refused"),
            FailedTry::unanswered("a3".to_owned()),
            FailedTry::not_made("a4".to_owned()),
        ];
        let handed = tries
            .iter()
            .fold(Vec::new(), |before, failed| failed.hand_over(before));
        let taken = FailedTry::take_over(&handed);
        assert_eq!(taken, tries);
        let reasons: Vec<&str> = taken.iter().map(|t| t.reason.as_str()).collect();
        assert_eq!(reasons, ["", "quoted\"{}", "no_answer", "no_time"]);
        assert_eq!(FailedTry::take_over(b""), [], "none");
        assert_eq!(FailedTry::take_over(b"{"), [], "unreadable");
    }

    #[test]
    fn what_went_wrong() {
        let reset = "upstream_reset_before_response_started";
        let cases = [
            (429, "via_upstream;-;", Failure::RateLimited),
            (503, "via_upstream;-;", Failure::Overloaded),
            (529, "via_upstream;-;", Failure::Overloaded),
            (500, "via_upstream;-;", Failure::ServerError),
            (504, "via_upstream;-;", Failure::ServerError),
            (401, "via_upstream;-;", Failure::Unauthorized),
            (402, "via_upstream;-;", Failure::Unauthorized),
            (403, "via_upstream;-;", Failure::Unauthorized),
            (400, "via_upstream;-;", Failure::Request),
            (501, "via_upstream;-;", Failure::Request),
            (404, "", Failure::Request),
            (401, "failed_to_inject_credential;-;", Failure::NoCredential),
            (503, &format!("{reset}{{x}};UF;"), Failure::Connection),
            (503, &format!("{reset}{{y}};UF;TLS_error:|x"), Failure::Tls),
            (
                503,
                &format!(
                    "{reset}{{z}};UF;TLS_error:|33554536:system_library:OPENSSL_internal:Connection_reset_by_peer"
                ),
                Failure::Connection,
            ),
            (503, "no_healthy_upstream;UH;", Failure::NoHost),
            (503, "cluster_not_found;NC;", Failure::NoHost),
            (
                502,
                &format!("{reset}{{protocol_error}};UPE;"),
                Failure::Connection,
            ),
        ];
        for (status, report, want) in cases {
            let failed = FailedTry::answered(String::new(), status, report);
            assert_eq!(failed.kind, want, "{status} {report}");
        }
        for kind in Failure::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn a_reason_is_cut_between_characters() {
        for text in ["x".repeat(500), "\u{20ac}".repeat(500)] {
            let failed = FailedTry::answered("a".to_owned(), 503, &text);
            assert!(failed.reason.len() <= MAX_REASON + 3 && text.starts_with(&failed.reason));
            assert!(failed.reason.len() >= MAX_REASON);
        }
    }
}
