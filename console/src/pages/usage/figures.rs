//! The figures of a row: the columns of `trilane usage`.

use crate::cases::usage::UsageView;
use crate::language::translated;
use crate::ledger::Measure;
use crate::pages::{ShownAmount, text};

/// A column of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageFigure {
    /// The amount charged.
    Charge,
    /// The part of it that is estimated.
    EstimatedCharge,
    /// The part of it whose cost is known.
    CostedCharge,
    /// The cost of that part.
    Cost,
    /// The difference of the two.
    Margin,
    /// A number that is added up.
    Count(Measure),
}

/// A figure, with its parts below it.
#[derive(Debug, PartialEq, Eq)]
pub struct FigureCell {
    /// The title of its column.
    pub title: &'static str,
    /// The figure.
    pub text: ShownAmount,
    /// Parts of it, or where it comes from.
    pub parts: Vec<ShownAmount>,
    /// Whether it is of failures, and there are some.
    pub is_bad: bool,
}

impl UsageFigure {
    /// The columns for rows that add up to `totals`: the usual ones with those that have something nobody should overlook, or all
    /// except amounts and rare ones that are empty.
    pub fn shown(totals: &[UsageView], is_wide: bool) -> Vec<Self> {
        let has = |measure: &Measure| count(totals, measure.name()) > 0;
        let has_costs = totals.iter().any(has_cost);
        let mut shown = vec![Self::Charge];
        if is_wide && !estimated(totals).is_empty() {
            shown.push(Self::EstimatedCharge);
        }
        if is_wide && has_costs {
            shown.push(Self::CostedCharge);
        }
        if has_costs {
            shown.extend([Self::Cost, Self::Margin]);
        }
        let measures = Measure::ALL.into_iter().filter(|measure| {
            if is_wide {
                !measure.is_rare() || has(measure)
            } else {
                measure.is_usual() || (measure.matters() && has(measure))
            }
        });
        shown.extend(measures.map(Self::Count));
        shown
    }

    /// Returns the title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Charge => text!("Charge"),
            Self::EstimatedCharge => text!("Estimated charge"),
            Self::CostedCharge => text!("Charge with a known cost"),
            Self::Cost => text!("Cost"),
            Self::Margin => text!("Margin"),
            Self::Count(measure) => measure_title(measure),
        }
    }

    /// The cell of rows with the same values, one for each currency. Without a column of its own a part stands below its whole.
    pub fn cell(self, views: &[UsageView], is_wide: bool) -> FigureCell {
        let mut parts = Vec::new();
        let text = match self {
            Self::Charge => {
                let estimated = estimated(views);
                if !is_wide && !estimated.is_empty() {
                    parts.push(words(&estimated, |amount| {
                        t!("{amount} estimated", amount = amount)
                    }));
                }
                charges(views)
            }
            Self::EstimatedCharge => estimated(views),
            Self::CostedCharge => of_costed(views, |view| view.costed_charge.as_deref()),
            Self::Cost => of_costed(views, |view| view.cost.as_deref()),
            Self::Margin => {
                let is_part = |view: &&UsageView| {
                    has_cost(view) && view.costed_charge.as_ref() != Some(&view.charge)
                };
                if !is_wide && views.iter().any(|view| is_part(&view)) {
                    let costed = of_costed(views, |view| view.costed_charge.as_deref());
                    parts.push(words(&costed, |amount| {
                        t!("of charges of {amount}", amount = amount)
                    }));
                }
                of_costed(views, |view| view.margin.as_deref())
            }
            Self::Count(measure) => {
                let below: &[Measure] = match measure {
                    Measure::Input if !is_wide => &[
                        Measure::CacheRead,
                        Measure::CacheWrite5m,
                        Measure::CacheWrite1h,
                    ],
                    Measure::Output if !is_wide => &[Measure::Reasoning],
                    _ => &[],
                };
                for part in below {
                    let of = count(views, part.name());
                    if of > 0 {
                        let kind = translated(measure_title(*part)).to_lowercase();
                        let shown = t!("{count} {kind}", count = text::count(of), kind = kind);
                        parts.push(ShownAmount::plain(shown));
                    }
                }
                ShownAmount::plain(text::count(count(views, measure.name())))
            }
        };
        FigureCell {
            title: self.title(),
            is_bad: self == Self::Count(Measure::Failed) && text.text != "0",
            text,
            parts,
        }
    }
}

/// Words around an amount.
fn words(amount: &ShownAmount, around: fn(&str) -> String) -> ShownAmount {
    ShownAmount {
        text: around(&amount.text),
        exact: around(&amount.exact),
    }
}

/// Returns the title of a number.
fn measure_title(measure: Measure) -> &'static str {
    match measure {
        Measure::Requests => text!("Requests"),
        Measure::Complete => text!("Complete"),
        Measure::Estimated => text!("Estimated"),
        Measure::Partial => text!("Partial"),
        Measure::None => text!("Without usage"),
        Measure::Failed => text!("Failed"),
        Measure::Input => text!("Input tokens"),
        Measure::Output => text!("Output tokens"),
        Measure::CacheRead => text!("Cache read"),
        Measure::CacheWrite5m => text!("Cache write, 5 min"),
        Measure::CacheWrite1h => text!("Cache write, 1 h"),
        Measure::Reasoning => text!("Reasoning"),
        Measure::ToolUse => text!("Tool use"),
        Measure::InputImage => text!("Image input"),
        Measure::Images => text!("Images"),
        Measure::InputAudio => text!("Audio input"),
        Measure::OutputAudio => text!("Audio output"),
        Measure::OutputImage => text!("Image output"),
        Measure::WebSearch => text!("Web searches"),
        Measure::CodeExecution => text!("Code executions"),
        Measure::FileSearch => text!("File searches"),
        Measure::MapsSearch => text!("Map searches"),
        Measure::EstimatedInput => text!("Estimated input"),
        Measure::EstimatedOutput => text!("Estimated output"),
        Measure::Uncovered => text!("Not covered by prices"),
    }
}

/// A count of rows that are shown as one.
pub fn count<'a>(views: impl IntoIterator<Item = &'a UsageView>, name: &str) -> u64 {
    let counts = views.into_iter().map(|view| view.count(name));
    counts.fold(0_u64, u64::saturating_add)
}

/// Charges of rows that are shown as one: each currency has its own.
pub fn charges<'a>(views: impl IntoIterator<Item = &'a UsageView>) -> ShownAmount {
    let charged = views.into_iter().filter(|view| !view.currency.is_empty());
    ShownAmount::sum(charged.map(|view| (view.currency.as_str(), view.charge.as_str())))
}

/// The estimated parts of them.
fn estimated(views: &[UsageView]) -> ShownAmount {
    let estimated = views
        .iter()
        .filter(|view| !view.currency.is_empty() && view.estimated_charge != "0");
    ShownAmount::sum(estimated.map(|view| (view.currency.as_str(), view.estimated_charge.as_str())))
}

/// Whether the cost of anything is known.
fn has_cost(view: &UsageView) -> bool {
    let is_some = |amount: &Option<String>| amount.as_deref().is_some_and(|amount| amount != "0");
    is_some(&view.cost) || is_some(&view.costed_charge)
}

/// An amount of those whose cost is known; nothing where there are none.
fn of_costed(views: &[UsageView], amount: fn(&UsageView) -> Option<&str>) -> ShownAmount {
    let known = views.iter().filter(|view| has_cost(view));
    ShownAmount::sum(known.filter_map(|view| Some((view.currency.as_str(), amount(view)?))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::view;
    use super::*;

    fn costing(charge: &str, [costed, cost, margin]: [&str; 3]) -> UsageView {
        UsageView {
            costed_charge: Some(costed.to_owned()),
            cost: Some(cost.to_owned()),
            margin: Some(margin.to_owned()),
            ..view("a", "USD", charge, 1)
        }
    }

    #[test]
    fn costs_are_shown_where_they_are_known() {
        for (case, view, want) in [
            ("not known", costing("2", ["0", "0", "0"]), None),
            (
                "all of it",
                costing("2", ["2", "1.5", "0.5"]),
                Some(["$1.50", "$0.50", ""]),
            ),
            (
                "a part, at a loss",
                costing("9", ["2", "3", "-1"]),
                Some(["$3.00", "$−1.00", "of charges of $2.00"]),
            ),
            (
                "for nothing",
                costing("2", ["2", "0", "2"]),
                Some(["$0.00", "$2.00", ""]),
            ),
            (
                "charged nothing",
                costing("0", ["0", "3", "-3"]),
                Some(["$3.00", "$−3.00", ""]),
            ),
        ] {
            let views = [view];
            let is_shown = UsageFigure::shown(&views, false).contains(&UsageFigure::Cost);
            assert_eq!(is_shown, want.is_some(), "{case}");
            let Some([cost, margin, part]) = want else {
                continue;
            };
            assert_eq!(
                UsageFigure::Cost.cell(&views, false).text.text,
                cost,
                "{case}"
            );
            let cell = UsageFigure::Margin.cell(&views, false);
            assert_eq!(
                (
                    cell.text.text.as_str(),
                    cell.parts.first().map_or("", |part| part.text.as_str())
                ),
                (margin, part),
                "{case}"
            );
        }
    }

    #[test]
    fn columns() {
        let titles = |views: &[UsageView], is_wide| {
            let shown = UsageFigure::shown(views, is_wide).into_iter();
            shown.map(UsageFigure::title).collect::<Vec<_>>().join(", ")
        };
        let mut of = view("a", "USD", "2", 1);
        of.counts = [
            ("requests", 3),
            ("failed", 0),
            ("reasoning", 7),
            ("output", 9),
        ]
        .into();
        assert_eq!(
            titles(&[of.clone()], false),
            "Charge, Requests, Input tokens, Output tokens"
        );
        let wide = titles(&[of.clone()], true);
        assert!(wide.starts_with("Charge, Requests, Complete"), "{wide}");
        assert!(
            !wide.contains("Cost") && !wide.contains("searches"),
            "{wide}"
        );
        let estimated = UsageView {
            estimated_charge: "1".to_owned(),
            ..of.clone()
        };
        let wide = titles(&[estimated], true);
        assert!(wide.starts_with("Charge, Estimated charge"), "{wide}");
        let output = UsageFigure::Count(Measure::Output);
        assert_eq!(
            output.cell(&[of.clone()], false).parts,
            [ShownAmount::plain("7 reasoning")]
        );
        assert!(output.cell(&[of.clone()], true).parts.is_empty());
        of.counts
            .extend([("failed", 2), ("uncovered", 1), ("web_search", 1)]);
        assert_eq!(
            titles(&[of.clone()], false),
            "Charge, Requests, Failed, Input tokens, Output tokens, Not covered by prices"
        );
        assert!(titles(&[of.clone()], true).contains("Web searches"));
        assert!(
            UsageFigure::Count(Measure::Failed)
                .cell(&[of], false)
                .is_bad
        );
    }
}
