//! Faults of an account that only the words of its answer tell, where its status says that the request was wrong.
//!
//! Vendors answer 400, 403, 404 or 429 for an account without credit, with a dead key, in a country that they do not serve, or
//! without a model. The words are compared with a [table](table), by type and code, or by a whole message or its fixed
//! beginning. Never by a part of a message: vendors repeat there what clients write.

mod table;
mod usage_refusal;
mod words;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use smol_str::SmolStr;

use crate::ledger::{AccountFault, AttemptFailure, FailedAttempt, UpstreamError};
use table::FAULTS;
use usage_refusal::REFUSALS;
use words::ErrorWords;

/// Bytes of an answer that are read for its words. A longer one tells no fault.
pub const MAX_ANSWER: usize = 8 << 10;

/// The words of an answer that is an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldError {
    /// The fault of the account; `None` where the request is at fault, or nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<AccountFault>,
    /// The members that name the error.
    #[serde(flatten)]
    pub error: UpstreamError,
    /// Whether it refuses the option that makes a stream report its usage.
    #[serde(skip)]
    pub refuses_usage: bool,
}

impl ToldError {
    /// The statuses of answers that may tell a fault in their words. A 402 needs no words, and goes to the client as it is.
    pub const STATUSES: [u16; 5] = [400, 401, 403, 404, 429];

    /// Whether an answer with this status may tell a fault in its words.
    pub fn may_be_told(status: u16) -> bool {
        Self::STATUSES.contains(&status)
    }

    /// Whether an answer with this status may refuse the option that makes a stream report its usage.
    pub fn may_refuse_usage(status: u16) -> bool {
        matches!(status, 400 | 422)
    }

    /// The words of a whole answer; `None` where it is not read.
    pub fn read(status: u16, answer: &[u8]) -> Option<Self> {
        let is_told = Self::may_be_told(status);
        let is_read = is_told || Self::may_refuse_usage(status);
        if !is_read || answer.len() > MAX_ANSWER {
            return None;
        }
        let told = Self::of(ErrorWords::read(answer)?);
        let fault = told.fault.filter(|_| is_told);
        Some(Self { fault, ..told })
    }

    fn of(words: ErrorWords) -> Self {
        let fault = FAULTS.iter().find(|row| row.fits(&words));
        Self {
            fault: fault.map(|row| row.fault),
            refuses_usage: REFUSALS.iter().any(|row| row.fits(&words)),
            error: words.error,
        }
    }
}

/// The failure of an account that the words of its answer tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldFailure {
    /// The kind of failure.
    pub kind: AttemptFailure,
    /// The words.
    pub told: ToldError,
}

impl ToldFailure {
    /// The failure by the words of an answer with an error status; `None` where the request is at fault, or nothing is known.
    pub(super) fn read(status: u16, answer: &[u8]) -> Option<Self> {
        let told = ToldError::read(status, answer)?;
        let by_status = AttemptFailure::of_status(status);
        let is_named = by_status != AttemptFailure::Request && !told.error.is_empty();
        let kind = match told.fault {
            Some(fault) => fault.failure(),
            None => Some(by_status).filter(|_| is_named)?,
        };
        Some(Self { kind, told })
    }

    /// The failure that the error of an event tells; `None` where the request is at fault, or nothing is known.
    pub(super) fn of_event(event: &Value) -> Option<Self> {
        let words = ErrorWords::of(event);
        let of_code = words.codes.iter().find_map(|code| failure_of_code(code));
        let told = ToldError::of(words);
        let kind = told.fault.map(AccountFault::failure).or(of_code)?;
        Some(Self { kind, told })
    }

    /// The attempt that failed so, by an answer with this status.
    pub(super) fn attempt(self, account: SmolStr, status: u16) -> FailedAttempt {
        let ToldError { fault, error, .. } = self.told;
        FailedAttempt::told(account, status, self.kind).with_words(fault, Some(error))
    }

    /// The value of a header that carries it: the kind, and the words as JSON.
    pub fn to_header(&self) -> String {
        let told = serde_json::to_string(&self.told).unwrap_or_default();
        let mut header = self.kind.name().to_owned();
        for character in told.chars() {
            if character.is_ascii() {
                header.push(character);
            } else {
                // A header is ASCII, and so may JSON be.
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    header.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        header
    }

    /// The one that such a header carries.
    pub fn of_header(value: &str) -> Option<Self> {
        let end = value.find('{').unwrap_or(value.len());
        let (kind, told) = value.split_at_checked(end)?;
        Some(Self {
            kind: AttemptFailure::named(kind)?,
            told: serde_json::from_str(told).unwrap_or_default(),
        })
    }
}

impl From<AttemptFailure> for ToldFailure {
    fn from(kind: AttemptFailure) -> Self {
        Self {
            kind,
            told: ToldError::default(),
        }
    }
}

impl AccountFault {
    /// The failure that it is for the attempt.
    pub fn failure(self) -> AttemptFailure {
        match self {
            Self::NoModel => AttemptFailure::NoModel,
            Self::NoCredit | Self::DeadKey | Self::Region | Self::Suspended => {
                AttemptFailure::Unauthorized
            }
        }
    }
}

/// The failure that a type or code stands for, be it a status in figures.
fn failure_of_code(code: &str) -> Option<AttemptFailure> {
    if let Ok(status) = code.parse() {
        return Some(AttemptFailure::of_status(status))
            .filter(|kind| (400..600).contains(&status) && *kind != AttemptFailure::Request);
    }
    Some(match code {
        "overloaded_error" | "overloaded" | "server_is_overloaded" | "UNAVAILABLE" => {
            AttemptFailure::Overloaded
        }
        "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => {
            AttemptFailure::RateLimited
        }
        "api_error"
        | "server_error"
        | "internal_error"
        | "internal_server_error"
        | "timeout_error"
        | "INTERNAL"
        | "DEADLINE_EXCEEDED" => AttemptFailure::ServerError,
        "authentication_error"
        | "permission_error"
        | "billing_error"
        | "UNAUTHENTICATED"
        | "PERMISSION_DENIED" => AttemptFailure::Unauthorized,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
