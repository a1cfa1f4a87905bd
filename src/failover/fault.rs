//! Faults of an account that only the words of its answer tell, where its status says that the request was wrong.
//!
//! Vendors answer 400, 403 or 404 for an account without credit, with a dead key, in a country that they do not serve, or
//! without a model. The words are compared with a [table](table), by type and code, or by a whole message or its fixed
//! beginning. Never by a part of a message: vendors repeat there what clients write.

mod table;
mod words;

use serde_json::Value;

use crate::ledger::AttemptFailure;
use table::FAULTS;
use words::ErrorWords;

/// Bytes of an answer that are read for its words. A longer one tells no fault.
pub const MAX_ANSWER: usize = 8 << 10;

/// A fault of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountFault {
    /// Its credit, or the spending limit that its owner set, is used up.
    NoCredit,
    /// Its credential is unknown, expired or revoked.
    DeadKey,
    /// The vendor does not serve the place that the request came from.
    Region,
    /// The vendor has closed the account.
    Suspended,
    /// It does not have the model. That says nothing of its other models.
    NoModel,
}

impl AccountFault {
    /// Whether an answer with this status may tell a fault in its words.
    pub fn may_be_told(status: u16) -> bool {
        matches!(status, 400 | 403 | 404)
    }

    /// The fault that a whole answer tells; `None` where the request is at fault, or nothing is known.
    pub fn told_by(status: u16, answer: &[u8]) -> Option<Self> {
        if !Self::may_be_told(status) || answer.len() > MAX_ANSWER {
            return None;
        }
        let words = ErrorWords::read(answer)?;
        let row = FAULTS.iter().find(|row| row.fits(&words))?;
        Some(row.fault)
    }

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

/// The failure of the account that the error of an event tells; `None` where the request is at fault, or nothing is known.
pub(super) fn failure_told_by(event: &Value) -> Option<AttemptFailure> {
    let words = ErrorWords::of(event);
    let fault = FAULTS.iter().find(|row| row.fits(&words));
    fault
        .map(|row| row.fault.failure())
        .or_else(|| words.codes.iter().find_map(|code| failure_of_code(code)))
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
