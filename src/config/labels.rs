//! The labels of requests: names for the ledger, and the headers that have their values.

use smol_str::SmolStr;

/// A label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The name in the ledger.
    pub name: SmolStr,
    /// The name of the header, in lower case.
    pub header: SmolStr,
}
