//! Explanations of what the gateway would do with a request, or of what happened to a past one, and why.
//!
//! A described `request` goes through the gateway's own state machine ([`crate::gateway`]). Its result, with the reason of
//! each `step` of the decision, makes the `explanation`. A request that is over is explained from its ledger line
//! (`past`), and may be run [`again()`] as it would be decided now.

mod again;
mod explanation;
mod past;
mod request;
mod step;
mod words;

pub use again::again;
pub use explanation::{
    BodyReplacement, ExplainedReply, Explanation, ForwardedRequest, Resolved, Url,
};
pub use past::{
    Cause, ChargedItem, ExplainedPart, ItemizedCharge, LedgerLine, MultiplierFactor, PastRequest,
    cause_of, ending, failure, vendor_error,
};
pub use request::DescribedRequest;
pub use step::{DecisionStep, StepResult};
