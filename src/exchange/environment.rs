//! Surroundings of the exchange: clocks, accounts, a trace of the decision, the heads and ends that the proxy knows of.

use core::net::IpAddr;
use std::rc::Rc;

use serde::Serialize;
use smol_str::SmolStr;

use crate::auth::KeyStore;
use crate::config::account::Accounts;
use crate::failover::{AccountEvent, KeyMark, Move, Moved, RequestAttempts, States, WayMark};
use crate::limits::{Limiter, Quotas, Subject};

/// A clock, read only where a time is needed: each reading is a host call.
pub trait Clock {
    /// Microseconds of a steady clock that all VMs of a process share.
    fn now_us(&self) -> u64;
    /// Microseconds since the Unix epoch, by the wall clock, which may be set forward or back at any time.
    fn wall_us(&self) -> u64;
}

/// The known state of sources with several accounts, and of the attempts at them; by default none.
pub trait AccountStates {
    /// Returns the known state of a source's accounts, which may be a few milliseconds old.
    fn account_states(&self, _source: &str) -> Rc<States> {
        Rc::default()
    }
    /// Notes what became of an attempt at the account with this index.
    fn note(&self, _event: AccountEvent, _source: &str, _accounts: &Accounts, _index: usize) {}
    /// Notes that a key uses a source.
    fn note_use(&self, _source: &str, _key: KeyMark) {}
    /// Returns the limiter that counts the use of accounts.
    fn limiter(&self) -> Option<Rc<Limiter>> {
        None
    }
    /// Returns the number of requests under way at an account.
    fn under_way(&self, _account: &Subject) -> u32 {
        0
    }
    /// Finds out where a conversation has moved.
    fn moved(&self, _conversation: u64) -> Option<Moved> {
        None
    }
    /// Notes where a conversation of a source was answered.
    fn note_move(&self, _change: Move, _source: &str) {}
    /// Remembers the attempts of a request by its id, for those who see them. Gives whether they are.
    fn begin_attempts(&self, _id: &SmolStr, _attempts: &Rc<RequestAttempts>) -> bool {
        true
    }
    /// Whether the filter on the way to the account hop is of this VM, and finds them.
    fn has_hop(&self) -> bool {
        true
    }
    /// Forgets them.
    fn end_attempts(&self, _id: &str) {}
    /// Whether the account of a way takes the option that makes a stream report its usage; `None` where it is not known.
    fn takes_usage_option(&self, _way: WayMark) -> Option<bool> {
        Some(true)
    }
    /// Notes that it refuses the option.
    fn note_usage_refused(&self, _way: WayMark) {}
}

/// The environment while a request is forwarded: clock, quotas, accounts, and a trace of the decision.
pub trait Forwarding: Clock + Quotas + AccountStates + Trace {}

impl<T: Clock + Quotas + AccountStates + Trace> Forwarding for T {}

/// The address from which a request comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAddress {
    /// This one.
    Known(IpAddr),
    /// None that is known, as of a socket in the file system.
    Unknown,
    /// An address that every key allows: the request is only described.
    Any,
}

/// The origin of a request; by default unknown. It is read for a key that has a list of addresses.
pub trait Origin {
    /// Returns the address.
    fn client_address(&self) -> ClientAddress {
        ClientAddress::Unknown
    }
}

/// The known state of the ledger; by default it can be written.
pub trait LedgerState {
    /// Whether it is known that the ledger cannot be written.
    fn ledger_is_unwritable(&self) -> bool {
        false
    }
}

/// The environment of a request: all of it.
pub trait Environment: KeyStore + Forwarding + LedgerState + Origin {}

impl<T: KeyStore + Forwarding + LedgerState + Origin> Environment for T {}

/// The head of a response. Each look at it is a host call.
pub trait ResponseHeaders {
    /// The status.
    fn status(&self) -> u16;
    /// Envoy's response code details: `via_upstream` where the upstream made it, else why Envoy did.
    fn details(&self) -> Vec<u8>;
    /// A header, where it is there and is text.
    fn header(&self, name: &'static str) -> Option<String>;
    /// The names of the headers that are not relayed: see [`is_withheld`](super::is_withheld).
    fn withheld_headers(&self) -> Vec<String>;
}

/// The proxy's knowledge of a stream that is over. Each look is a host call, made only where it is
/// needed.
pub trait StreamEnd {
    /// Envoy's response code details: what ended the stream, where it did not end by itself.
    fn details(&self) -> Vec<u8>;
    /// Returns the number of attempts that Envoy counted.
    fn attempts(&self) -> u64;
}

/// A step of the decision. Each comes from [`Trace::begin`] as it is begun; a rejection ends the last of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Method and path.
    Endpoint,
    /// The key in its place.
    Credential,
    /// Whether the key is good.
    Key,
    /// A list of models.
    List,
    /// From the key's group to a source.
    Route,
    /// The version header of protocol B.
    Version,
    /// The endpoints that the group allows.
    Rights,
    /// The body's head and form.
    Body,
    /// The model and who may use it.
    Model,
    /// The limits of key and group.
    Limits,
}

impl Step {
    /// Returns the name, as JSON has it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::Credential => "credential",
            Self::Key => "key",
            Self::List => "list",
            Self::Route => "route",
            Self::Version => "version",
            Self::Rights => "rights",
            Self::Body => "body",
            Self::Model => "model",
            Self::Limits => "limits",
        }
    }
}

/// Records the steps of a decision, to explain it; by default it records nothing.
pub trait Trace {
    /// Notes that a step begins: the first time, or again with more of the body.
    fn begin(&self, _step: Step) {}
}
