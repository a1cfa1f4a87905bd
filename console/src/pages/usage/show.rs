//! The page.

use core::cmp::Reverse;
use std::borrow::Cow;

use askama::Template;
use axum::extract::RawQuery;
use trilane::limits::SubjectKind;
use trilane::money::Amount;
use trilane::protocol::Entry;

use super::asked::{Asked, COLUMNS, FILTERS, GROUPINGS};
use super::charts;
use super::figures::{FigureCell, UsageFigure};
use super::period::PERIODS;
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::language::translated;
use crate::ledger::{LABEL, UsageColumn};
use crate::pages::chart::Chart;
use crate::pages::ledger_words::outcome;
use crate::pages::{PageResult, PageShell, Visit, page};
use crate::text::{hour, path_with};
use crate::timestamp::moment;
use crate::vendors::protocol_style;

/// The rows of a page.
const ROWS: u16 = 100;

/// A value that rows are grouped by, and the page of only those.
struct GroupingValue {
    name: Name,
    narrowed: Option<String>,
}

struct UsageTableRow {
    values: Vec<GroupingValue>,
    figures: Vec<FigureCell>,
}

/// A period to choose: its title, and the page of it.
struct PeriodChoice {
    title: &'static str,
    path: String,
    is_chosen: bool,
}

/// A field to choose one of several values.
struct ChoiceField {
    name: &'static str,
    title: &'static str,
    options: Vec<ChoiceOption>,
}

struct ChoiceOption {
    value: Cow<'static, str>,
    title: Cow<'static, str>,
    is_chosen: bool,
}

fn choice_options(
    all: impl IntoIterator<Item = (&'static str, &'static str)>,
    chosen: &str,
) -> Vec<ChoiceOption> {
    let options = all.into_iter().map(|(value, title)| ChoiceOption {
        value: value.into(),
        title: title.into(),
        is_chosen: value == chosen,
    });
    options.collect()
}

/// The title of a column of rows.
fn column_title(name: &str) -> Cow<'static, str> {
    let column = COLUMNS.iter().find(|(of, _)| *of == name);
    match column {
        Some((_, title)) => (*title).into(),
        None => t!(
            "Label {name}",
            name = name.strip_prefix(LABEL).unwrap_or(name)
        )
        .into(),
    }
}

/// The options of a field of labels.
fn label_options(labels: &[String], chosen: &str) -> Vec<ChoiceOption> {
    let options = labels.iter().map(|name| ChoiceOption {
        title: column_title(name),
        is_chosen: name == chosen,
        value: name.clone().into(),
    });
    options.collect()
}

/// The fields of the columns to group by.
fn groupings(by: &[String], labels: &[String]) -> Vec<ChoiceField> {
    let fields = GROUPINGS.into_iter().enumerate();
    let fields = fields.map(|(place, (name, title))| {
        let nothing = (place > 0).then_some(("", text!("Nothing")));
        let chosen = by.get(place).map_or("", String::as_str);
        let mut options = choice_options(nothing.into_iter().chain(COLUMNS), chosen);
        options.extend(label_options(labels, chosen));
        ChoiceField {
            name,
            title,
            options,
        }
    });
    fields.collect()
}

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    shell: PageShell,
    asked: Asked,
    periods: Vec<PeriodChoice>,
    choices: Vec<ChoiceOption>,
    groupings: Vec<ChoiceField>,
    titles: Vec<Cow<'static, str>>,
    figures: Vec<&'static str>,
    rows: Vec<UsageTableRow>,
    total: Vec<FigureCell>,
    charts: Vec<Chart>,
    next: Option<String>,
    path: String,
    file: String,
    /// The statement of the team or person whose usage is shown.
    statement: Option<String>,
    all: String,
    is_filtered: bool,
    /// The names of what the filters name by an id.
    filtered: Vec<(&'static str, Name)>,
    is_everybodys: bool,
    /// Whether rows are of what requests say of themselves.
    has_rest: bool,
}

impl UsagePage {
    fn filters(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let is_everybodys = self.is_everybodys;
        let filters = FILTERS.into_iter();
        filters.filter(move |(name, _)| is_everybodys || !["owner", "account"].contains(name))
    }
}

/// A row of the table: the API has one for each currency, and one more for what was not charged.
fn row(
    asked: &Asked,
    names: &Names,
    figures: &[UsageFigure],
    views: &[UsageView],
) -> UsageTableRow {
    let values = asked.by.iter().map(|name| {
        let view = views.first();
        let text = view.and_then(|view| view.values.get(name)).cloned();
        let text = text.unwrap_or_default();
        let can_narrow = !text.is_empty() && FILTERS.iter().any(|(of, _)| *of == name);
        let is_session = name == "session" && !text.is_empty();
        GroupingValue {
            narrowed: if is_session {
                Some(path_with("/search", &[("text", &text)]))
            } else {
                can_narrow.then(|| asked.path("/usage", &[(name, &text)]))
            },
            name: match (SubjectKind::named(name), name.as_str()) {
                (Some(kind), _) => names.of(kind, &text),
                (None, "hour") => Name::of_itself(&hour(&text)),
                (None, "entry") => entry_name(text),
                (None, "outcome") => outcome_name(text),
                _ if text.is_empty() && is_dimension(name) => Name::of_itself(&t!("other")),
                _ => Name::of_itself(&text),
            },
        }
    });
    UsageTableRow {
        values: values.collect(),
        figures: cells(asked, figures, views),
    }
}

fn cells(asked: &Asked, figures: &[UsageFigure], views: &[UsageView]) -> Vec<FigureCell> {
    let cells = figures
        .iter()
        .map(|figure| figure.cell(views, asked.is_wide));
    cells.collect()
}

/// Whether an empty value of a column is the rest of others.
fn is_dimension(name: &str) -> bool {
    UsageColumn::of(name).is_some_and(|column| column.is_dimension())
}

/// An entry by the API style of its protocol.
fn entry_name(id: String) -> Name {
    let style = Entry::from_name(&id).map(|entry| protocol_style(entry.protocol()));
    Name {
        text: style.map_or_else(|| id.clone(), |style| translated(style).into_owned()),
        id,
        ..Name::default()
    }
}

/// An outcome in words.
fn outcome_name(id: String) -> Name {
    Name {
        text: outcome(&id).into_owned(),
        id,
        ..Name::default()
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

/// Puts the greatest charge first, unless rows are of times.
fn greatest_first(rows: &mut [Vec<UsageView>], asked: &Asked) {
    let is_time = |name: &String| matches!(name.as_str(), "hour" | "day" | "month");
    if asked.by.iter().any(is_time) {
        return;
    }
    let charge = |views: &Vec<UsageView>| {
        let charges = views.iter().map(|view| Amount::read(&view.charge));
        charges.filter_map(Result::ok).max()
    };
    rows.sort_by_key(|views| Reverse(charge(views)));
}

/// Lists the subjects among the values of rows and filters.
fn named<'a>(
    asked: &'a Asked,
    groups: &'a [Vec<UsageView>],
) -> impl Iterator<Item = (SubjectKind, &'a str)> {
    let rows = groups.iter().filter_map(|views| views.first());
    let values = rows.flat_map(|view| {
        view.values
            .iter()
            .map(|(name, id)| (name.as_str(), id.as_str()))
    });
    let filters = FILTERS
        .into_iter()
        .map(|(name, _)| (name, asked.fields.get(name)));
    values
        .chain(filters)
        .filter_map(|(name, id)| Some((SubjectKind::named(name)?, id)))
}

/// The path of the statement of the team or owner that an address names, or of a member; of the month that is shown, if it is one.
fn statement(asked: &Asked, member: Option<&str>) -> Option<String> {
    let of = ["team", "owner"].map(|name| (name, asked.fields.get(name)));
    let mut pairs: Vec<_> = of.into_iter().filter(|(_, id)| !id.is_empty()).collect();
    if pairs.is_empty() {
        pairs.push(("owner", member?));
    }
    pairs.extend(asked.period.month().map(|month| ("month", month)));
    Some(path_with("/statement", &pairs))
}

/// Usage as asked for.
pub async fn show(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let now = moment(state.now());
    let asked = Asked::parse(&query.unwrap_or_default(), &now);
    let place = PageParams::at(asked.fields.given("cursor"), ROWS);
    let found = usage::list(&state, &signed_in.caller, asked.params.clone(), place);
    let (mut groups, next) = together(found.await?);
    if next.is_none() && !asked.fields.is_set("cursor") {
        greatest_first(&mut groups, &asked);
    }
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
    let titles = asked.by.iter().map(|name| column_title(name));
    let mut labels = usage::labels(&state, &signed_in.caller).await?;
    // A document before may have had others.
    let chosen = asked.by.iter().filter(|name| name.starts_with(LABEL));
    labels.extend(chosen.cloned());
    labels.sort_unstable();
    labels.dedup();
    let figures = UsageFigure::shown(&totals, asked.is_wide);
    let periods = PERIODS.into_iter();
    let periods = periods.filter(|(name, _)| !matches!(*name, "of-month" | "dates"));
    page(&UsagePage {
        shell: signed_in.shell(t!("Usage")),
        periods: periods
            .map(|(name, title)| PeriodChoice {
                title,
                path: asked.path("/usage", &[("period", name)]),
                is_chosen: asked.period.name == name,
            })
            .collect(),
        choices: choice_options(PERIODS, asked.period.name),
        groupings: groupings(&asked.by, &labels),
        titles: titles.collect(),
        figures: figures.iter().map(|figure| figure.title()).collect(),
        rows: groups
            .iter()
            .map(|views| row(&asked, &names, &figures, views))
            .collect(),
        total: cells(&asked, &figures, &totals),
        charts: charts::charts(&state, &signed_in.caller, &asked.params, &now).await?,
        next,
        path: format!("{}&", asked.path("/usage", &[])),
        file: asked.path("/usage.csv", &[]),
        statement: statement(&asked, signed_in.caller.only_owner()),
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
        has_rest: asked.by.iter().any(|name| is_dimension(name)),
        asked,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::view;
    use super::*;

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
            let figures = UsageFigure::shown(&found[0], false);
            let row = row(&asked, &Names::default(), &figures, &found[0]);
            let cells: Vec<_> = row
                .figures
                .iter()
                .map(|cell| cell.text.text.as_str())
                .collect();
            assert_eq!(cells, ["0.00 EUR + $2.50", "7", "3", "0", "0"], "{case}");
            assert!(row.figures[2].is_bad && !row.figures[1].is_bad);
        }
    }

    #[test]
    fn an_entry_has_the_name_of_its_style() {
        for (id, want) in [
            ("responses", "OpenAI-style"),
            ("vb_messages", "Anthropic-style"),
            ("vc_generate_content", "Gemini-style"),
            ("", ""),
            ("other", "other"),
        ] {
            let name = entry_name(id.to_owned());
            assert_eq!((name.text.as_str(), name.id.as_str()), (want, id));
        }
    }
}
