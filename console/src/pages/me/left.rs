//! The remaining limits and budgets of a key, as pages show them.

use std::borrow::Cow;

use trilane::limits::{SubjectKind, member_parts};

use crate::cases::holder::{KeyRemaining, RemainingBudget, RequestsState};
use crate::cases::names::Names;
use crate::language::{self, translated};
use crate::markup::Markup;
use crate::pages::{ShownAmount, text};

/// The remaining limits and budgets of a key.
pub struct LeftShown {
    /// The name of the key for people: its label, or its id.
    pub name: String,
    /// The diagnosis of requests: its kind for the eye, and a sentence.
    pub requests: (&'static str, Markup),
    /// The advice what to do about it; empty: none.
    pub advice: Cow<'static, str>,
    /// The budgets that bind the key.
    pub budgets: Vec<LeftBudget>,
    /// The limits that bind the key: their subject, and their values.
    pub limits: Vec<(String, String)>,
}

/// A budget.
pub struct LeftBudget {
    /// The subject of the budget, in words.
    pub whose: String,
    /// `day` or `month`.
    pub window: &'static str,
    /// The rest; of a budget that others use as well, whether there is any.
    pub left: ShownAmount,
    /// The part that is used, where that is told.
    pub used: Option<UsedBudget>,
    /// The time at which the next window begins.
    pub renews_at: String,
    /// Whether it has the least left of several, as far as amounts are told.
    pub tightest: bool,
}

/// The reader of a page about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Its owner, who is signed in.
    Owner,
    /// Somebody who has the key.
    Anybody,
}

/// The part of a budget that is used.
pub struct UsedBudget {
    /// The amount spent, with its currency.
    pub used: ShownAmount,
    /// The amount that may be spent, with its currency.
    pub allowed: ShownAmount,
    /// The part that is used, in whole percent.
    pub percent: u64,
    /// `warn` or `bad` where little is left.
    pub kind: &'static str,
}

impl UsedBudget {
    fn of(budget: &RemainingBudget, currency: &str) -> Option<Self> {
        let (used, allowed) = (budget.used.as_deref()?, budget.allowed.as_deref()?);
        let percent = text::percent(used, allowed);
        Some(Self {
            used: ShownAmount::of(currency, used),
            allowed: ShownAmount::of(currency, allowed),
            percent,
            kind: text::fullness(percent),
        })
    }
}

/// The sentence of the diagnosis, with its time as the table of the budgets has it: in the reader's zone.
fn diagnosis(remaining: &KeyRemaining) -> Markup {
    let requests = &remaining.requests;
    let with_moment = requests.renews_at.as_deref().and_then(|at| {
        let (before, after) = requests.text.split_once(&text::utc(at))?;
        let mut sentence = Markup::text(before);
        sentence.push(&Markup::moment(at));
        sentence.push(&Markup::text(after));
        Some(sentence)
    });
    with_moment.unwrap_or_else(|| Markup::text(&requests.text))
}

impl LeftShown {
    /// Describes the remaining limits and budgets of the key with this name.
    pub fn of(name: &str, remaining: &KeyRemaining, names: &Names, holder: Holder) -> Self {
        let currency = remaining.currency.as_deref().unwrap_or_default();
        let kind = match remaining.requests.state {
            RequestsState::Served => "good",
            RequestsState::SomeFail => "warn",
            RequestsState::Fail => "bad",
        };
        let whose = |kind: SubjectKind, id: &str| match kind {
            SubjectKind::Key => t!("This key").into_owned(),
            SubjectKind::Member if holder == Holder::Owner => {
                let team = member_parts(id).map_or(id, |(_, team)| team);
                t!(
                    "All your keys of the team {team}",
                    team = names.team(team).text
                )
            }
            SubjectKind::Member => names.of(kind, id).text,
            SubjectKind::Owner if holder == Holder::Owner => t!("All your keys").into_owned(),
            SubjectKind::Owner => t!("Owner {name}", name = names.owner(id).text),
            SubjectKind::Team => t!("Team {name}", name = names.team(id).text),
            SubjectKind::Group => t!("Group {name}", name = names.group(id).text),
        };
        let mut shown = Self {
            name: name.to_owned(),
            requests: (kind, diagnosis(remaining)),
            advice: translated(remaining.requests.advice.unwrap_or_default()),
            budgets: Vec::new(),
            limits: Vec::new(),
        };
        let budgets = remaining.subjects.iter().map(|of| of.budgets.len());
        let has_several = budgets.sum::<usize>() > 1;
        for subject in &remaining.subjects {
            let whose = whose(subject.kind, &subject.id);
            for budget in &subject.budgets {
                let left = budget.left.as_deref();
                shown.budgets.push(LeftBudget {
                    whose: whose.clone(),
                    window: budget.window,
                    left: match (left, budget.exhausted) {
                        (Some(left), _) => ShownAmount::of(currency, left),
                        (None, true) => ShownAmount::plain(t!("nothing")),
                        (None, false) => ShownAmount::plain(t!("not spent")),
                    },
                    used: UsedBudget::of(budget, currency),
                    renews_at: budget.renews_at.clone(),
                    tightest: budget.tightest && has_several,
                });
            }
            let each = subject.limits.iter().map(|of| {
                let allowed = text::number(&of.allowed.into());
                match of.limit {
                    "requests_per_minute" => t!("{count} requests a minute", count = allowed),
                    "input_tokens_per_minute" => {
                        t!("{count} input tokens a minute", count = allowed)
                    }
                    "output_tokens_per_minute" => {
                        t!("{count} output tokens a minute", count = allowed)
                    }
                    _ => t!("{count} requests at once", count = allowed),
                }
            });
            let each: Vec<String> = each.collect();
            if !each.is_empty() {
                shown.limits.push((whose, language::list(&each)));
            }
        }
        shown
    }
}
