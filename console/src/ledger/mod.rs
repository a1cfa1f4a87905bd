//! Lines of the ledger (docs/ledger.md): what one says, and exact sums over many.

mod bounds;
mod charge;
mod measure;
pub mod owner_member;
mod record;
mod signed_sum;
mod totals;
mod usage_column;

pub use charge::Sum;
pub use measure::Measure;
pub use record::{LedgerRecord, Unread};
pub use signed_sum::SignedSum;
pub use totals::UsageTotals;
pub use usage_column::{LABEL, UsageColumn};
