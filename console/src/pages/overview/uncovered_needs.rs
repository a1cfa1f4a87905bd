//! Usage of today that no price covers.

use trilane::config::some_of;
use trilane::limits::Window;

use crate::cases::paging::PageParams;
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::cases::{Caller, ConsoleState};
use crate::ledger::Measure;
use crate::pages::PageProblem;
use crate::pages::overview::attention::Need;
use crate::pages::text::{count, path_with};

/// The models that are named.
const NAMED: usize = 3;
/// The models that are looked at.
const READ: u16 = 500;

/// The models whose requests of today used what no price covers.
///
/// # Errors
/// Those of the database.
pub async fn read(state: &ConsoleState, caller: &Caller) -> Result<Vec<Need>, PageProblem> {
    let today = state.period(Window::Day).to_string();
    let asked = UsageParams {
        by: "model".to_owned(),
        since: Some(today.clone()),
        ..UsageParams::default()
    };
    let place = PageParams::first(READ);
    let sums = usage::list(state, caller, asked, place).await?.items;
    Ok(need(&sums, &today).into_iter().collect())
}

fn need(sums: &[UsageView], today: &str) -> Option<Need> {
    let mut models: Vec<(&str, u64)> = Vec::new();
    for of in sums {
        let requests = of.count(Measure::Uncovered.name());
        let model = of.values.get("model").map_or("", String::as_str);
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
    let models = some_of(&names, NAMED);
    Some(Need {
        kind: "warn",
        text: if all == 1 {
            t!(
                "1 request of today used what no price covers, of {models}: cached tokens, calls or classes of service that the models’ prices do not name. Their charges may be less than what they cost, or more.",
                models = models
            )
        } else {
            t!(
                "{count} requests of today used what no price covers, of {models}: cached tokens, calls or classes of service that the models’ prices do not name. Their charges may be less than what they cost, or more.",
                count = count(all),
                models = models
            )
        },
        path: path_with("/usage", &[("by", "model"), ("since", today)]),
        link: t!("Usage"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_models_are_named() {
        let sums = |model: &str, currency: &str, requests: u64| UsageView {
            values: [("model".to_owned(), model.to_owned())].into(),
            place: vec![model.to_owned(), currency.to_owned()],
            currency: currency.to_owned(),
            counts: [(Measure::Uncovered.name(), requests)].into(),
            charge: "0".to_owned(),
            estimated_charge: "0".to_owned(),
            costed_charge: None,
            cost: None,
            margin: None,
        };
        let text = |all: &[UsageView]| need(all, "2026-11-28").map(|need| need.text);
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
