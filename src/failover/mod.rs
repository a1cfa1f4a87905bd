//! Failover: which account of a source a request goes to, which one after a failure, and which are ejected.
//!
//! A request to a source with several accounts goes straight to the cluster of the account that its conversation
//! prefers. If that attempt fails, Envoy makes the next ones by way of the *account hop*, an internal listener where an
//! attempt is a request of its own with the host, TLS and credential of its account; [`attempt`] chooses that account.
//!
//! | file | what it decides |
//! |---|---|
//! | `order` | in which order a conversation asks the accounts: by priority, then by weighted rendezvous hashing |
//! | `ejection` | when an account is ejected, and for how long |
//! | `active_keys` | whether a source is used by more than one key, so that one alone need not be believed |
//! | `states` | what all workers know of a source's accounts, in shared data |
//! | `request` | the attempts of one request so far |
//! | `attempt` | an attempt by way of the hop: made or not, at which account, followed by another or not |
//! | `report` | what Envoy's log of a failed attempt means |
//! | `recent_states` | what one VM has read of that in the last ten milliseconds |
//! | `registry` | what the filters of one VM share: the requests whose attempts are under way, and those readings |
//!
//! An account is asked directly only if it has answered before, reached in the same way. Envoy answers by itself where an
//! account has no cluster, no address or no credential, and makes no other attempt then; on the hop it does.

mod active_keys;
pub mod attempt;
mod ejection;
#[cfg(test)]
mod fixtures;
mod order;
mod recent_states;
mod registry;
mod report;
mod request;
mod states;

pub use active_keys::KeyMark;
pub use registry::Registry;
pub use report::{AttemptReport, note_report};
pub use request::{AttemptPlan, Bounds, Dispatch, RequestAttempts};
pub use states::{AccountEvent, States, tell_ejections};
