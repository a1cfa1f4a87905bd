//! Budgets that are nearly spent.

use trilane::limits::SubjectKind;

use super::attention::Need;
use crate::cases::names::{Names, WantedNames};
use crate::cases::nearly_spent::{self, NearlySpentView};
use crate::cases::paging::PageParams;
use crate::cases::{Caller, ConsoleState};
use crate::pages::PageProblem;
use crate::pages::nearly_spent::path_of;

/// The budgets that are named.
const NAMED: usize = 3;
/// The budgets that are looked at.
const READ: u16 = 20;

/// The first few, and where the others are.
///
/// # Errors
/// Those of the use case.
pub async fn read(state: &ConsoleState, caller: &Caller) -> Result<Vec<Need>, PageProblem> {
    let place = PageParams::first(READ);
    let found = nearly_spent::list(state, caller, place).await?;
    let mut wanted = WantedNames::default();
    for of in found.items.iter().take(NAMED) {
        wanted.add(of.kind, &of.id);
    }
    let names = wanted.find(state, caller).await?;
    Ok(needs(&found.items, found.next.is_some(), &names))
}

fn needs(found: &[NearlySpentView], has_more: bool, names: &Names) -> Vec<Need> {
    let first = found.iter().take(NAMED);
    let mut needs: Vec<Need> = first.map(|of| need(of, names)).collect();
    let others = found.len().saturating_sub(NAMED);
    if others > 0 || has_more {
        needs.push(Need {
            kind: "warn",
            text: match (others, has_more) {
                (1, false) => t!("1 other budget is nearly spent.").into_owned(),
                (_, false) => t!("{count} other budgets are nearly spent.", count = others),
                (_, true) => t!(
                    "{count} or more other budgets are nearly spent.",
                    count = others
                ),
            },
            path: "/nearly-spent".to_owned(),
            link: t!("All of them"),
        });
    }
    needs
}

fn need(of: &NearlySpentView, names: &Names) -> Need {
    let is_of_day = of.period.len() == 10;
    let is_spent = of.percent >= 100;
    let name = names.of(of.kind, &of.id).text;
    // At the beginning of a sentence.
    let subject = match of.kind {
        SubjectKind::Key => t!("Key {name}", name = name),
        SubjectKind::Member => t!("Member {name}", name = name),
        SubjectKind::Owner => t!("Owner {name}", name = name),
        SubjectKind::Team => t!("Team {name}", name = name),
        SubjectKind::Group => t!("Group {name}", name = name),
    };
    let percent = of.percent;
    Need {
        kind: if is_spent { "bad" } else { "warn" },
        text: match (is_of_day, is_spent) {
            (true, true) => t!(
                "{subject} has spent {percent} % of today's budget: requests are refused.",
                subject = subject,
                percent = percent
            ),
            (true, false) => t!(
                "{subject} has spent {percent} % of today's budget: beyond it requests are refused.",
                subject = subject,
                percent = percent
            ),
            (false, true) => t!(
                "{subject} has spent {percent} % of this month's budget: requests are refused.",
                subject = subject,
                percent = percent
            ),
            (false, false) => t!(
                "{subject} has spent {percent} % of this month's budget: beyond it requests are refused.",
                subject = subject,
                percent = percent
            ),
        },
        path: path_of(of.kind, &of.id),
        link: t!("Budget"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(kind: SubjectKind, id: &str, period: &str, percent: u64) -> NearlySpentView {
        NearlySpentView {
            kind,
            id: id.to_owned(),
            period: period.to_owned(),
            budget: "10".to_owned(),
            spent: "9".to_owned(),
            currency: "USD".to_owned(),
            percent,
        }
    }

    #[test]
    fn a_few_and_the_way_to_all() {
        let found = [
            budget(SubjectKind::Key, "k", "2026-11-24", 90),
            budget(SubjectKind::Team, "t s", "2026-11", 100),
            budget(SubjectKind::Group, "g", "2026-11", 250),
            budget(SubjectKind::Member, "ann@t", "2026-11", 99),
        ];
        let names = Names::default();
        for (shown, has_more, want) in [
            (&found[..0], false, vec![]),
            (&found[..2], false, vec!["warn", "bad"]),
            (&found[..4], false, vec!["warn", "bad", "bad", "warn"]),
            (&found[..1], true, vec!["warn", "warn"]),
        ] {
            let kinds: Vec<_> = needs(shown, has_more, &names)
                .iter()
                .map(|need| need.kind)
                .collect();
            assert_eq!(kinds, want);
        }
        let all = needs(&found, false, &names);
        let paths: Vec<_> = all.iter().map(|need| need.path.as_str()).collect();
        let want = [
            "/keys/k",
            "/budgets?kind=team&id=t+s",
            "/groups/g",
            "/nearly-spent",
        ];
        assert_eq!(paths, want);
        assert_eq!(
            all[0].text,
            "Key k has spent 90 % of today's budget: beyond it requests are refused."
        );
        assert_eq!(all[3].text, "1 other budget is nearly spent.");
        let more = needs(&found, true, &names);
        assert_eq!(more[3].text, "1 or more other budgets are nearly spent.");
    }
}
