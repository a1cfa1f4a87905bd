//! Models without a price that stop somebody: budgets cannot count them.

use std::collections::BTreeMap;

use trilane::ledger::Ending;
use trilane::limits::Window;

use super::attention::Need;
use crate::cases::paging::PageParams;
use crate::cases::requests::{self, RequestParams, RequestView};
use crate::cases::{Caller, ConsoleState};
use crate::pages::PageProblem;
use crate::pages::text::{count, in_path};

/// The models that are named.
const NAMED: usize = 3;
/// The refused requests that are looked at, the latest first.
const READ: u16 = 500;
/// The error code of a request whose model has no price.
const CODE: &str = "model_not_priced";

/// The models for whose lack of a price requests of today were refused.
///
/// # Errors
/// Those of the database.
pub async fn read(state: &ConsoleState, caller: &Caller) -> Result<Vec<Need>, PageProblem> {
    let asked = RequestParams {
        outcome: Some(Ending::Refused.name().to_owned()),
        status: Some("403".to_owned()),
        since: Some(format!("{}T00:00:00Z", state.period(Window::Day))),
        ..RequestParams::default()
    };
    let found = requests::list(state, caller, asked, PageParams::first(READ)).await?;
    Ok(needs(&found.items))
}

fn needs(refused: &[RequestView]) -> Vec<Need> {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for request in refused {
        let text = |name: &str| request.line.get(name).and_then(|of| of.as_str());
        if text("error.type") != Some(CODE) {
            continue;
        }
        let model = text("trilane.model").or_else(|| text("gen_ai.request.model"));
        if let (Some(model), Some(group)) = (model, text("trilane.group")) {
            let of_model = counts.entry((model, group)).or_default();
            *of_model = of_model.saturating_add(1);
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, requests)| core::cmp::Reverse(*requests));
    let needs = counts
        .into_iter()
        .take(NAMED)
        .map(|((model, group), requests)| Need {
            kind: "bad",
            text: if requests == 1 {
                t!(
                    "{model} of the group {group} has no price, so a budget cannot count it: 1 request of today was refused.",
                    model = model,
                    group = group
                )
            } else {
                t!(
                    "{model} of the group {group} has no price, so a budget cannot count it: {count} requests of today were refused.",
                    model = model,
                    group = group,
                    count = count(requests)
                )
            },
            path: format!("/groups/{}", in_path(group)),
            link: t!("Give it a price"),
        });
    needs.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn models_whose_lack_of_a_price_stops_somebody() {
        let refused = |code: &str, model: &str| RequestView {
            id: String::new(),
            envoy: String::new(),
            line: json!({"error.type": code, "gen_ai.request.model": model, "trilane.group": "a b"}),
        };
        let all = [
            refused(CODE, "x"),
            refused("model_not_found", "z"),
            refused(CODE, "y"),
            refused(CODE, "y"),
        ];
        let found = needs(&all);
        let told: Vec<_> = found.iter().map(|need| need.text.as_str()).collect();
        let said = "of the group a b has no price, so a budget cannot count it:";
        let want = [
            format!("y {said} 2 requests of today were refused."),
            format!("x {said} 1 request of today was refused."),
        ];
        assert_eq!(told, want);
        assert_eq!(found[0].path, "/groups/a%20b");
        assert!(needs(&all[1..2]).is_empty());
    }
}
