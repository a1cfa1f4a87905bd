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
//! | [`moved`] | which conversations are elsewhere than at their first account, and for how long |
//! | `active_keys` | whether a source is used by more than one key, so that one alone need not be believed |
//! | `states` | what all workers know of a source's accounts, in shared data |
//! | `request` | the attempts of one request so far, and the account that comes next |
//! | `attempt` | an attempt by way of the hop: made or not, at which account, followed by another or not |
//! | `report` | what Envoy's log of a failed attempt means |
//! | [`judge`] | whether an answer that looks good, or blames the request, is a failure of its account |
//! | `fault` | which faults of an account its answers tell in their words |
//! | `told_wait` | how long a vendor asks to be left alone |
//! | `usage_option` | which accounts take the option that makes a stream report its usage, and which refuse it |
//! | `recent_states` | what one VM has read of that in the last ten milliseconds |
//! | `registry` | what the filters of one VM share: the requests whose attempts are under way, and those readings |
//!
//! An account is asked directly only if it has answered before, reached in the same way. Envoy answers by itself where an
//! account has no cluster, no address or no credential, and makes no other attempt then; on the hop it does.

mod active_keys;
pub mod attempt;
mod ejection;
mod fault;
#[cfg(test)]
mod fixtures;
pub mod judge;
pub mod moved;
mod order;
mod recent_states;
mod registry;
mod report;
mod request;
mod states;
mod told_wait;
mod usage_option;

pub use active_keys::KeyMark;
pub use fault::{MAX_ANSWER, ToldError, ToldFailure};
pub use moved::{Move, Moved};
pub use registry::Registry;
pub use report::{AttemptReport, note_report};
pub use request::{
    AccountPlace, AttemptPlan, Bounds, Dispatch, LaterTerms, PlannedSource, RequestAttempts,
    WholeBody,
};
pub use states::{AccountEvent, ModelMark, States, tell_ejections};
pub use told_wait::told_wait;
pub use usage_option::WayMark;
