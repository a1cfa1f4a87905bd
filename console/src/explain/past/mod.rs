//! Explains a request that is over from its ledger line: [`cause`] has the meaning of each ending and its remedy, [`bill`] the
//! charge by items, and [`past_request`] the whole.

mod bill;
mod cause;
mod line;
mod past_request;
pub mod vendor_error;

pub use bill::{ChargedItem, ItemizedCharge, MultiplierFactor};
pub use cause::{Cause, ending, failure, of as cause_of};
pub use line::LedgerLine;
pub use past_request::{ExplainedPart, PastRequest};
