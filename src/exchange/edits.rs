//! What changes in a request before it leaves: headers, and at most two places of the body.

use core::ops::Range;

/// The header by which Envoy's route finds the cluster. Envoy takes it off again.
pub const CLUSTER_HEADER: &str = "x-trilane-cluster";
/// What the names of this gateway's own headers begin with; no client may send them.
pub const INTERNAL_PREFIX: &str = "x-trilane-";

/// One change to a header block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderEdit {
    /// Sets a header, in place of all of that name.
    Set(&'static str, Vec<u8>),
    /// Takes every header of that name out.
    Remove(String),
}

/// The bytes of the body that change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyEdit {
    /// Where they stand in the bytes that Envoy holds at this moment.
    pub span: Range<usize>,
    /// What stands there instead.
    pub bytes: Vec<u8>,
}

/// What changes before a part of the request goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    /// Header changes, in order.
    pub headers: Vec<HeaderEdit>,
    /// Body changes, in the order of their places, which do not overlap.
    pub body: Vec<BodyEdit>,
}
