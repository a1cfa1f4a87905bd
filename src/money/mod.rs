//! Money: exact decimals, and what is counted in them.
//!
//! [`Price`]s × [`Usage`](crate::usage::Usage) × [`Multiplier`] is a [`Charge`]; a [`Bill`] is what all models that worked on
//! one answer cost; an [`Amount`] is a sum of charges. No float, and nothing is ever rounded but where it is displayed.

mod amount;
mod bill;
mod charge;
pub mod decimal;
mod gap;
mod multiplier;
mod price;
mod prices;
mod schedule;
mod tier;

pub use amount::Amount;
pub use bill::{Bill, PricedUsage, bill, unpriced};
pub use charge::Charge;
pub use gap::{Gap, Uncovered};
pub use multiplier::Multiplier;
pub use price::Price;
pub use prices::Prices;
pub use schedule::{Hours, PricedInstant, RequestTimes, Schedule, Weekdays};
pub use tier::is_ordinary;
