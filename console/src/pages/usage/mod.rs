//! Usage: sums by what one wants to know, as a table, as charts, and as a file.

mod asked;
pub(super) mod charts;
mod csv;
mod figures;
mod period;
mod show;

pub use csv::table;
pub use figures::{charges, count};
pub use show::show;

#[cfg(test)]
mod tests {
    use crate::cases::usage::UsageView;

    /// Usage of a model, half of it failed.
    pub fn view(model: &str, currency: &str, charge: &str, requests: u64) -> UsageView {
        UsageView {
            values: [("model".to_owned(), model.to_owned())].into(),
            place: vec![model.to_owned(), currency.to_owned()],
            currency: currency.to_owned(),
            counts: [("requests", requests), ("failed", requests / 2)].into(),
            charge: charge.to_owned(),
            estimated_charge: "0".to_owned(),
            costed_charge: None,
            cost: None,
            margin: None,
        }
    }
}
