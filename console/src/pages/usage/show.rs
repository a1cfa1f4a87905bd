//! The page.

use askama::Template;
use axum::extract::RawQuery;
use trilane::limits::SubjectKind;

use super::asked::{Asked, COLUMNS, FILTERS};
use super::charts;
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::pages::chart::Chart;
use crate::pages::form::Fields;
use crate::pages::{PageResult, PageShell, ShownAmount, Visit, page, text};
use crate::timestamp::moment;

/// The rows of a page.
const ROWS: u16 = 100;

/// A count: the API's name, and the title.
type CountName = (&'static str, &'static str);

/// The counts of every row, each with its parts, which are shown below it.
const COUNTS: [(CountName, &[CountName]); 5] = [
    (
        ("requests", "Requests"),
        &[("uncovered", "not covered by prices")],
    ),
    (("failed", "Failed"), &[]),
    (
        ("input", "Input tokens"),
        &[
            ("cache_read", "cache read"),
            ("cache_write_5m", "cache write, 5 min"),
            ("cache_write_1h", "cache write, 1 h"),
        ],
    ),
    (("output", "Output tokens"), &[("reasoning", "reasoning")]),
    (("images", "Images"), &[]),
];

/// A count with its parts.
struct CountCell {
    text: String,
    parts: Vec<String>,
    /// Whether it is of failures, and there are some.
    is_bad: bool,
}

/// A value that rows are grouped by, and the page of only those.
struct GroupingValue {
    name: Name,
    narrowed: Option<String>,
}

struct UsageTableRow {
    values: Vec<GroupingValue>,
    counts: Vec<CountCell>,
    charge: ShownAmount,
    estimated: Option<ShownAmount>,
    /// Cost and margin, where they are known and shown.
    costs: Vec<ShownAmount>,
}

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    shell: PageShell,
    fields: Fields,
    by: Vec<&'static str>,
    titles: Vec<&'static str>,
    rows: Vec<UsageTableRow>,
    total: UsageTableRow,
    charts: Vec<Chart>,
    next: Option<String>,
    path: String,
    file: String,
    all: String,
    is_filtered: bool,
    /// The names of what the filters name by an id.
    filtered: Vec<(&'static str, Name)>,
    is_everybodys: bool,
}

impl UsagePage {
    fn columns(&self) -> [(&'static str, &'static str); COLUMNS.len()] {
        COLUMNS
    }

    fn filters(&self) -> [(&'static str, &'static str); FILTERS.len()] {
        FILTERS
    }

    fn counts(&self) -> [&'static str; COUNTS.len()] {
        COUNTS.map(|((_, title), _)| title)
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

/// Cost and margin, each currency for itself; nothing where no cost is known.
fn costs(views: &[UsageView]) -> Vec<ShownAmount> {
    let known = views.iter().filter_map(|view| {
        let (charge, cost) = (view.costed_charge.as_ref()?, view.cost.as_ref()?);
        let margin = view.margin.as_ref()?;
        if cost == "0" && charge == "0" {
            return None;
        }
        Some(ShownAmount::said(|write| {
            let amount = |value: &str| write(&view.currency, value);
            let of = if *charge == view.charge {
                String::new()
            } else {
                format!(" of {}", amount(charge))
            };
            format!("cost {}, margin {}{of}", amount(cost), amount(margin))
        }))
    });
    known.collect()
}

/// A row of the table: the API has one for each currency, and one more for what was not charged.
fn row(asked: &Asked, names: &Names, views: &[UsageView], by: &[&'static str]) -> UsageTableRow {
    let values = by.iter().map(|name| {
        let view = views.first();
        let text = view.and_then(|view| view.values.get(name)).cloned();
        let text = text.unwrap_or_default();
        let can_narrow = !text.is_empty() && FILTERS.iter().any(|(of, _)| of == name);
        GroupingValue {
            narrowed: can_narrow.then(|| asked.path("/usage", &[(name, &text)])),
            name: match SubjectKind::named(name) {
                Some(kind) => names.of(kind, &text),
                None if *name == "hour" => Name::of_itself(&text.replace('T', " ")),
                None => Name::of_itself(&text),
            },
        }
    });
    let counts = COUNTS.iter().map(|((name, _), parts)| {
        let all = count(views, name);
        let parts = parts
            .iter()
            .map(|(part, title)| (count(views, part), title));
        let parts = parts.filter(|(count, _)| *count > 0);
        CountCell {
            text: text::count(all),
            parts: parts
                .map(|(count, title)| format!("{} {title}", text::count(count)))
                .collect(),
            is_bad: *name == "failed" && all > 0,
        }
    });
    let estimated = estimated(views);
    UsageTableRow {
        values: values.collect(),
        counts: counts.collect(),
        charge: charges(views),
        estimated: (!estimated.is_empty()).then_some(estimated),
        costs: costs(views),
    }
}

/// Rows with the same values, together. Where another page follows, the last of them may go on there: then they are left to it.
fn together(page: ItemPage<UsageView>) -> (Vec<Vec<UsageView>>, Option<String>) {
    let mut groups: Vec<Vec<UsageView>> = Vec::new();
    for view in page.items {
        match groups.last_mut() {
            Some(group) if group.first().is_some_and(|of| of.values == view.values) => {
                group.push(view);
            }
            _ => groups.push(vec![view]),
        }
    }
    if page.next.is_none() || groups.len() < 2 {
        return (groups, page.next);
    }
    groups.pop();
    let last = groups.last().and_then(|group| group.last());
    let next = last.map(UsageView::cursor);
    (groups, next)
}

/// Lists the subjects among the values of rows and filters.
fn named<'a>(
    asked: &'a Asked,
    groups: &'a [Vec<UsageView>],
) -> impl Iterator<Item = (SubjectKind, &'a str)> {
    let rows = groups.iter().filter_map(|views| views.first());
    let values = rows.flat_map(|view| view.values.iter().map(|(name, id)| (*name, id.as_str())));
    let filters = FILTERS
        .into_iter()
        .map(|(name, _)| (name, asked.fields.get(name)));
    values
        .chain(filters)
        .filter_map(|(name, id)| Some((SubjectKind::named(name)?, id)))
}

/// Usage as asked for.
pub async fn show(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let now = moment(state.now());
    let asked = Asked::parse(&query.unwrap_or_default(), &now);
    let place = PageParams::at(asked.fields.given("cursor"), ROWS);
    let found = usage::list(&state, &signed_in.caller, asked.params.clone(), place);
    let (groups, next) = together(found.await?);
    let in_all = UsageParams {
        by: String::new(),
        ..asked.params.clone()
    };
    let totals = usage::list(&state, &signed_in.caller, in_all, PageParams::default());
    let totals = totals.await?.items;
    let mut wanted = WantedNames::default();
    for (kind, id) in named(&asked, &groups) {
        wanted.add(kind, id);
    }
    let names = wanted.find(&state, &signed_in.caller).await?;
    let titles = asked.by.iter().map(|name| {
        let column = COLUMNS.iter().find(|(of, _)| of == name);
        column.map_or(*name, |(_, title)| *title)
    });
    page(&UsagePage {
        shell: signed_in.shell("Usage"),
        titles: titles.collect(),
        rows: groups
            .iter()
            .map(|views| row(&asked, &names, views, &asked.by))
            .collect(),
        total: row(&asked, &names, &totals, &[]),
        charts: charts::charts(&state, &signed_in.caller, &asked.params, &now).await?,
        next,
        path: format!("{}&", asked.path("/usage", &[])),
        file: asked.path("/usage.csv", &[]),
        all: asked.path("/usage", &FILTERS.map(|(name, _)| (name, ""))),
        is_filtered: asked.is_filtered(),
        filtered: FILTERS
            .into_iter()
            .filter_map(|(name, title)| {
                let of = names.of(SubjectKind::named(name)?, asked.fields.get(name));
                (of.text != of.id).then_some((title, of))
            })
            .collect(),
        is_everybodys: signed_in.caller.only_owner().is_none(),
        by: asked.by,
        fields: asked.fields,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(model: &str, currency: &str, charge: &str, requests: u64) -> UsageView {
        UsageView {
            values: [("model", model.to_owned())].into(),
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

    #[test]
    fn a_value_is_one_row() {
        let views = || {
            vec![
                view("a", "", "0", 1),
                view("a", "EUR", "0", 2),
                view("a", "USD", "2.5", 4),
                view("b", "", "0", 1),
            ]
        };
        let next = Some("there".to_owned());
        for (case, next, groups, left) in [
            ("the last page", None, 2, None),
            (
                "what may go on",
                next,
                1,
                Some(view("a", "USD", "2.5", 4).cursor()),
            ),
        ] {
            let page = ItemPage {
                items: views(),
                next,
            };
            let (found, next) = together(page);
            assert_eq!((found.len(), next), (groups, left), "{case}");
            let asked = Asked::parse("by=model&since=", "2026-11-25");
            let row = row(&asked, &Names::default(), &found[0], &["model"]);
            assert_eq!(row.charge.text, "0.00 EUR + $2.50", "{case}");
            let counts: Vec<_> = row.counts.iter().map(|count| count.text.as_str()).collect();
            assert_eq!(counts, ["7", "3", "0", "0", "0"], "{case}");
            assert!(row.costs.is_empty(), "{case}");
            assert!(row.counts[1].is_bad && !row.counts[0].is_bad && row.estimated.is_none());
        }
    }

    #[test]
    fn costs_are_shown_where_they_are_known() {
        let costing = |charge: &str, [costed, cost, margin]: [&str; 3]| UsageView {
            costed_charge: Some(costed.to_owned()),
            cost: Some(cost.to_owned()),
            margin: Some(margin.to_owned()),
            ..view("a", "USD", charge, 1)
        };
        for (case, view, want) in [
            ("not known", costing("2", ["0", "0", "0"]), &[][..]),
            (
                "all of it",
                costing("2", ["2", "1.5", "0.5"]),
                &["cost $1.50, margin $0.50"],
            ),
            (
                "a part, at a loss",
                costing("9", ["2", "3", "-1"]),
                &["cost $3.00, margin $−1.00 of $2.00"],
            ),
            (
                "for nothing",
                costing("2", ["2", "0", "2"]),
                &["cost $0.00, margin $2.00"],
            ),
            (
                "charged nothing",
                costing("0", ["0", "3", "-3"]),
                &["cost $3.00, margin $−3.00"],
            ),
        ] {
            assert_eq!(
                costs(&[view]),
                want.iter()
                    .copied()
                    .map(ShownAmount::plain)
                    .collect::<Vec<_>>(),
                "{case}"
            );
        }
    }
}
