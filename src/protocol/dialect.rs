//! In which protocol's shape an answer is written.

use serde_json::{Value, json};

use super::entry::Protocol;
use super::{generate, messages, responses};
use crate::head::Head;
use crate::limits::Window;

/// The shape of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The shape of one protocol.
    Native(Protocol),
    /// One body with the fields of all three, in the words of the protocol that is likeliest:
    /// for unknown paths, and for `/v1/models`, which all three ask for.
    Shared(Protocol),
}

/// The contents of an error, in no protocol's words yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorFacts<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The gateway's own code, such as `model_not_found`.
    pub code: &'static str,
    /// The sentence for people.
    pub message: &'a str,
    /// The request field at fault, where there is one.
    pub param: Option<&'static str>,
    /// The id of the request.
    pub request_id: Option<&'a str>,
    /// The quota that is used up, where that is the reason.
    pub quota: Option<Quota>,
}

/// A quota that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// In how many seconds it will suffice again.
    pub retry_after_s: u64,
    /// The budget that is spent, where it is one: waiting a little does not help.
    pub spent: Option<Window>,
}

impl Dialect {
    /// The dialect for a request whose path does not tell its protocol: the headers of one
    /// protocol's clients speak for it, else A.
    pub fn shared_for(head: &Head) -> Self {
        let has = |names: &[&str]| names.iter().any(|name| head.contains(name));
        Self::Shared(if has(&generate::KEY_HEADERS) {
            Protocol::C
        } else if has(&messages::VERSION_HEADERS) || head.contains(messages::KEY_HEADER) {
            Protocol::B
        } else {
            Protocol::A
        })
    }

    /// The dialect for a request of `protocol`, or a shared one where it is not known.
    pub fn of(protocol: Option<Protocol>, head: &Head) -> Self {
        protocol.map_or_else(|| Self::shared_for(head), Self::Native)
    }

    /// The protocol in whose words messages are written.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Native(protocol) | Self::Shared(protocol) => protocol,
        }
    }

    /// The body of an error.
    pub fn error_body(self, facts: &ErrorFacts<'_>) -> Value {
        match self {
            Self::Native(Protocol::A) => responses::error_body(facts),
            Self::Native(Protocol::B) => messages::error_body(facts),
            Self::Native(Protocol::C) => generate::error_body(facts),
            Self::Shared(protocol) => shared_error_body(protocol, facts),
        }
    }
}

/// A reads `error.message`, `type`, `param`, `code`; B the outer `type`, `error.type`,
/// `error.message`, `request_id`; C `error.message`, `error.status` and the HTTP status.
fn shared_error_body(protocol: Protocol, facts: &ErrorFacts<'_>) -> Value {
    let kind = match protocol {
        Protocol::B => messages::error_type(facts.status),
        Protocol::A | Protocol::C => responses::error_type(facts),
    };
    // The one field that two protocols use differently: a list in C, an object in B.
    let details = match protocol {
        Protocol::C => generate::error_details(facts),
        Protocol::A | Protocol::B => json!({"error_code": facts.code}),
    };
    // C's is a number, and its clients show it as one.
    let code = match protocol {
        Protocol::C => json!(facts.status),
        Protocol::A | Protocol::B => json!(facts.code),
    };
    json!({
        "type": "error",
        "error": {
            "type": kind,
            "message": facts.message,
            "param": facts.param,
            "code": code,
            "status": generate::error_status(facts.status),
            "details": details,
        },
        "request_id": facts.request_id,
    })
}
