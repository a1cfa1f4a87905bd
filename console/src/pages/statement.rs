//! The statement of a month, to be read and printed. Amounts have every digit: they are what is charged.

use std::borrow::Cow;

use askama::Template;
use axum::extract::RawQuery;
use axum::response::IntoResponse as _;
use trilane::limits::SubjectKind;

use super::form::Fields;
use super::usage::{charges, count};
use super::{PageResult, PageShell, ShownAmount, Visit, page, text};
use crate::cases::Caller;
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::statement::{self, StatementParams};
use crate::cases::statement_focus;
use crate::cases::usage::UsageView;
use crate::language::translated;
use crate::ledger::Sum;
use crate::markup::Markup;
use crate::timestamp::moment;

/// The most rows of a part; the file has all.
const ROWS: usize = 200;

/// The counts of a row: the name of the API, and the title.
const COUNTS: [(&str, &str); 4] = [
    ("requests", text!("Requests")),
    ("input", text!("Input tokens")),
    ("output", text!("Output tokens")),
    (IMAGES, text!("Images")),
];
/// The count that is shown where it is not zero: few models make images.
const IMAGES: &str = "images";

/// A row of a part, or the sum of all.
struct StatementRow {
    name: Name,
    charge: String,
    /// The counts, each with its title.
    counts: Vec<(Cow<'static, str>, String)>,
}

/// The statement by one property.
struct StatementPart {
    title: Cow<'static, str>,
    head: Cow<'static, str>,
    rows: Vec<StatementRow>,
    /// The rows that are left to the file.
    left_out: usize,
}

#[derive(Template)]
#[template(path = "statement.html")]
struct StatementPage {
    shell: PageShell,
    month: String,
    team: Option<Name>,
    owner: Option<Name>,
    made_at: String,
    is_over: bool,
    is_empty: bool,
    total: StatementRow,
    estimated: String,
    parts: Vec<StatementPart>,
    usage: String,
    csv: String,
    focus: String,
}

impl StatementPage {
    /// The team or person that it is of.
    fn subject(&self) -> Markup {
        match (&self.owner, &self.team) {
            (Some(owner), Some(team)) => marked!(
                "{person} in the team {team}",
                person = html(owner.markup()),
                team = html(team.markup())
            ),
            (Some(owner), None) => owner.markup(),
            (None, Some(team)) => marked!("The team {team}", team = html(team.markup())),
            (None, None) => Markup::default(),
        }
    }
}

/// The statement that an address asks for: this month's, and of oneself where it names nobody.
fn asked(query: Option<String>, caller: &Caller, today: &str) -> StatementParams {
    let fields = Fields::parse(query.unwrap_or_default().as_bytes());
    let (team, owner) = (fields.given("team"), fields.given("owner"));
    let is_of_nobody = team.is_none() && owner.is_none();
    let month = fields.given("month");
    StatementParams {
        month: month.unwrap_or_else(|| today.get(..7).unwrap_or_default().to_owned()),
        owner: if is_of_nobody {
            Some(caller.id.clone())
        } else {
            owner
        },
        team,
    }
}

/// The path of a statement, in one of its forms.
fn path(page: &str, asked: &StatementParams) -> String {
    let mut pairs = Vec::new();
    pairs.extend(asked.team.as_deref().map(|team| ("team", team)));
    pairs.extend(asked.owner.as_deref().map(|owner| ("owner", owner)));
    pairs.push(("month", &asked.month));
    text::path_with(page, &pairs)
}

fn row(name: Name, views: &[UsageView], has_images: bool) -> StatementRow {
    let shown = COUNTS
        .into_iter()
        .filter(|(of, _)| has_images || *of != IMAGES);
    let counts = shown.map(|(of, title)| (translated(title), text::count(count(views, of))));
    StatementRow {
        name,
        charge: charges(views).exact,
        counts: counts.collect(),
    }
}

/// A part whose rows are those of one property's values, the greatest charge first; days stay in their order.
fn part(
    title: Cow<'static, str>,
    head: Cow<'static, str>,
    column: &str,
    views: Vec<UsageView>,
    names: &Names,
    has_images: bool,
) -> StatementPart {
    let mut groups: Vec<Vec<UsageView>> = Vec::new();
    for view in views {
        match groups.last_mut() {
            Some(group) if group.first().is_some_and(|of| of.values == view.values) => {
                group.push(view)
            }
            _ => groups.push(vec![view]),
        }
    }
    if column != "day" {
        groups.sort_by_key(|group| {
            let mut sum = Sum::default();
            for view in group {
                sum.add_sum(&Sum::parse(&view.charge).unwrap_or_default());
            }
            core::cmp::Reverse(sum)
        });
    }
    let left_out = groups.len().saturating_sub(ROWS);
    let rows = groups.iter().take(ROWS).map(|group| {
        let value = group.first().and_then(|view| view.values.get(column));
        let value = value.map_or("", String::as_str);
        let name = SubjectKind::named(column)
            .map_or_else(|| Name::of_itself(value), |kind| names.of(kind, value));
        row(name, group, has_images)
    });
    StatementPart {
        title,
        head,
        rows: rows.collect(),
        left_out,
    }
}

/// The page.
pub async fn show(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let asked = asked(query, &signed_in.caller, &moment(state.now()));
    let found = statement::get(&state, &signed_in.caller, asked.clone()).await?;
    let mut wanted = WantedNames::default();
    wanted.all(SubjectKind::Team, asked.team.as_deref());
    wanted.all(SubjectKind::Owner, asked.owner.as_deref());
    for (kind, name, views) in [
        (SubjectKind::Owner, "owner", &found.owners),
        (SubjectKind::Key, "key", &found.keys),
    ] {
        let ids = views.iter().filter_map(|view| view.values.get(name));
        wanted.all(kind, ids.map(String::as_str));
    }
    let names = wanted.find(&state, &signed_in.caller).await?;
    let estimated = found
        .totals
        .iter()
        .filter(|view| view.estimated_charge != "0");
    let estimated = estimated.map(|view| (view.currency.as_str(), view.estimated_charge.as_str()));
    let has_images = count(&found.totals, IMAGES) > 0;
    let mut parts = vec![part(
        t!("By model"),
        t!("Model"),
        "model",
        found.models,
        &names,
        has_images,
    )];
    if asked.owner.is_none() {
        parts.push(part(
            t!("By person"),
            t!("Person"),
            "owner",
            found.owners,
            &names,
            has_images,
        ));
    }
    parts.push(part(
        t!("By key"),
        t!("Key"),
        "key",
        found.keys,
        &names,
        has_images,
    ));
    parts.push(part(
        t!("By day"),
        t!("Day (UTC)"),
        "day",
        found.days,
        &names,
        has_images,
    ));
    let usage = {
        let mut pairs = vec![("month", asked.month.as_str())];
        pairs.extend(asked.team.as_deref().map(|team| ("team", team)));
        pairs.extend(asked.owner.as_deref().map(|owner| ("owner", owner)));
        text::path_with("/usage", &pairs)
    };
    page(&StatementPage {
        shell: signed_in.shell(t!("Statement")),
        team: asked.team.as_deref().map(|id| names.team(id)),
        owner: asked.owner.as_deref().map(|id| names.owner(id)),
        made_at: found.made_at,
        is_over: found.is_over,
        estimated: ShownAmount::sum(estimated).exact,
        is_empty: found.totals.is_empty(),
        total: row(Name::default(), &found.totals, has_images),
        parts,
        usage,
        csv: path("/statement.csv", &asked),
        focus: path("/statement.focus.csv", &asked),
        month: found.month,
    })
}

/// The statement for spreadsheets.
pub async fn csv(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let asked = asked(query, &signed_in.caller, &moment(state.now()));
    Ok(statement::csv(&state, &signed_in.caller, asked)
        .await?
        .into_response())
}

/// The statement as a dataset of FOCUS.
pub async fn focus(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let asked = asked(query, &signed_in.caller, &moment(state.now()));
    Ok(statement_focus::csv(&state, &signed_in.caller, asked)
        .await?
        .into_response())
}
