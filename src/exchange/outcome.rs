//! Next step for the part of the exchange that just came, and the changes that it goes on with.

use core::ops::Range;
use std::borrow::Cow;

use crate::limits::service::Descriptors;
use crate::reply::Reply;

/// The next step for the part of the exchange that just came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Let it go on, changed like this.
    Continue(Edits),
    /// Hold it, with what was held before.
    Pause,
    /// Answer now.
    Reply(Reply),
}

impl Outcome {
    /// Let it go on unchanged.
    pub fn pass() -> Self {
        Self::Continue(Edits::default())
    }
}

/// The header by which Envoy's route finds the cluster. Envoy takes it off again.
pub const CLUSTER_HEADER: &str = "x-trilane-cluster";
/// The header with the path of a request less its version, for Envoy to put behind an account's URL that has a version of
/// its own. The account's cluster takes it off.
pub const PATH_HEADER: &str = "x-trilane-path";
/// The header that tells Envoy how long one account may take until its response begins, in milliseconds.
/// Envoy's own, taken off again; a client's is removed before the filter sees it.
pub const ATTEMPT_TIMEOUT_HEADER: &str = "x-envoy-upstream-rq-per-try-timeout-ms";
/// The header that tells Envoy how many attempts may follow the first. Envoy's own, taken off again; a client's is removed
/// before the filter sees it.
pub const NO_RETRY_HEADER: &str = "x-envoy-max-retries";
/// The header of a response after which Envoy makes no other attempt, whatever the status. Envoy's own; the filter of
/// attempts sets it, and an account's is removed.
pub const FINAL_HEADER: &str = "x-envoy-ratelimited";
/// The header of a request whose answer is to be judged in the account's cluster, because another account may be asked.
pub const JUDGE_HEADER: &str = "x-trilane-judge";
/// The header of a response in which the judge found a fault of the account: its name. Envoy then asks another account. An
/// account's own is removed.
pub const JUDGED_HEADER: &str = "x-trilane-judged";
/// The header that keeps a probe out of Envoy's access log. A client's is removed before the filter sees it.
pub const PROBE_HEADER: &str = "x-trilane-probe";
/// The header by which the account hop finds an account's cluster. Envoy takes it off again.
pub const ACCOUNT_HEADER: &str = "x-trilane-account";

/// One change to a header block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderEdit {
    /// Sets a header, in place of all of that name.
    Set(&'static str, Vec<u8>),
    /// Takes every header of that name out.
    Remove(Cow<'static, str>),
}

/// The bytes of the body that change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyEdit {
    /// The place of these bytes in those that Envoy holds at this moment.
    pub span: Range<usize>,
    /// The bytes that stand there instead.
    pub bytes: Vec<u8>,
}

/// The changes before a part of the request goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    /// Header changes, in order.
    pub headers: Vec<HeaderEdit>,
    /// Body changes, in the order of their places, which do not overlap.
    pub body: Vec<BodyEdit>,
    /// The number of bytes at the end of those that Envoy holds that are not released yet. The next bytes of the body follow them.
    pub withheld: usize,
    /// The descriptors that the limits service counts the request under, where it is asked.
    pub descriptors: Option<Descriptors>,
}
