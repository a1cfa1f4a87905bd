//! Usage of today that no price covers.

use trilane::config::some_of;

use crate::api::{ApiProblem, ConsoleState};
use crate::ledger::Measure;
use crate::pages::PageProblem;
use crate::pages::overview::attention::Need;
use crate::pages::text::{count, path_with};
use crate::store::usage_hours::{self, UsageColumn, UsageQuery, UsageSums};
use crate::timestamp::moment;

/// The models that are named.
const NAMED: usize = 3;
/// The models that are looked at.
const READ: i64 = 500;

/// The models whose requests of today used what no price covers.
///
/// # Errors
/// Those of the database.
pub async fn read(state: &ConsoleState) -> Result<Vec<Need>, PageProblem> {
    let now = moment(state.now());
    let today = now.get(..10).unwrap_or_default();
    let query = UsageQuery {
        by: vec![UsageColumn::Model],
        since: Some(format!("{today}T00")),
        limit: READ,
        ..UsageQuery::default()
    };
    let mut transaction = state.store.read().await.map_err(ApiProblem::from)?;
    let sums = usage_hours::sums(&mut transaction, &query).await;
    transaction.rollback().await;
    Ok(need(&sums.map_err(ApiProblem::from)?, today)
        .into_iter()
        .collect())
}

fn need(sums: &[UsageSums], today: &str) -> Option<Need> {
    let uncovered = |of: &UsageSums| of.counts.get(Measure::Uncovered as usize).copied();
    let mut models: Vec<(&str, u64)> = Vec::new();
    for of in sums {
        let requests = uncovered(of).unwrap_or_default();
        let model = of.values.first().map_or("", String::as_str);
        match models.last_mut() {
            // The next row is of another currency.
            Some((last, all)) if *last == model => *all = all.saturating_add(requests),
            _ => models.push((model, requests)),
        }
    }
    models.retain(|(_, requests)| *requests > 0);
    models.sort_by_key(|(_, requests)| core::cmp::Reverse(*requests));
    let all = models
        .iter()
        .map(|(_, requests)| *requests)
        .fold(0, u64::saturating_add);
    if all == 0 {
        return None;
    }
    let names: Vec<&str> = models.iter().map(|(model, _)| *model).collect();
    let of = if all == 1 {
        "1 request"
    } else {
        &format!("{} requests", count(all))
    };
    Some(Need {
        kind: "warn",
        text: format!(
            "{of} of today used what no price covers, of {}: cached tokens, calls or classes of service that the models’ prices do not name. Their charges may be less than what they cost, or more.",
            some_of(&names, NAMED)
        ),
        path: path_with("/usage", &[("by", "model"), ("since", today)]),
        link: "Usage",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Sum;

    #[test]
    fn which_models_are_named() {
        let sums = |model: &str, currency: &str, requests: u64| {
            let mut counts = vec![0; Measure::ALL.len()];
            counts[Measure::Uncovered as usize] = requests;
            UsageSums {
                values: vec![model.to_owned()],
                currency: currency.to_owned(),
                counts,
                charge: Sum::default(),
                estimated_charge: Sum::default(),
                costed_charge: Sum::default(),
                cost: Sum::default(),
            }
        };
        let text = |all: &[UsageSums]| need(all, "2026-11-28").map(|need| need.text);
        assert_eq!(text(&[sums("a", "USD", 0)]), None, "all is covered");
        let one = text(&[sums("a", "USD", 1), sums("b", "USD", 0)]).unwrap();
        assert!(
            one.starts_with("1 request of today used what no price covers, of a: "),
            "{one}"
        );
        let all = [
            sums("a", "EUR", 1),
            sums("a", "USD", 1),
            sums("b", "USD", 2000),
            sums("c", "USD", 3),
            sums("d", "USD", 4),
        ];
        let many = text(&all).unwrap();
        assert!(
            many.starts_with(
                "2,009 requests of today used what no price covers, of b, d, c and 1 more: "
            ),
            "{many}"
        );
    }
}
