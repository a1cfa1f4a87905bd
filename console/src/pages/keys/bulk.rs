//! One change of all keys that the filters of the list find.

use std::borrow::Cow;

use askama::Template;
use trilane::limits::SubjectKind;

use super::list::{FILTERS, state_named};
use super::{name_of, path_of, terms};
use crate::cases::ConsoleState;
use crate::cases::key_bulk::{self, KeyBulkBody, KeyBulkChange, KeyBulkFilter};
use crate::cases::keys::{self, KeyListParams};
use crate::cases::names::{Name, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::language::choices;
use crate::markup::Markup;
use crate::pages::form::Fields;
use crate::pages::owner_field::{OWNER, OwnerField, TEAM, is_search};
use crate::pages::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
    limit_fields,
};

/// The keys that are shown.
const ROWS: u16 = 10;
/// The acts, and their titles.
const ACTS: [(&str, &str); 8] = [
    ("", text!("Choose")),
    ("disable", text!("Disable")),
    ("enable", text!("Enable")),
    ("owner", text!("Give to an owner")),
    ("team", text!("Move to a team")),
    ("expires_at", text!("Set when they expire")),
    ("addresses", text!("Set from where they may be used")),
    ("limits", text!("Set limits and budget")),
];

#[derive(Template)]
#[template(path = "keys_change.html")]
struct BulkPage {
    shell: PageShell,
    /// The filters: names and values.
    filters: Vec<(&'static str, Name)>,
    back: String,
    found: u32,
    /// Some of the keys: names and paths.
    some: Vec<(String, String)>,
    acts: Vec<(&'static str, Cow<'static, str>)>,
    numbers: Vec<(String, &'static str)>,
    budgets: Vec<(String, &'static str)>,
    owner: OwnerField,
    team: OwnerField,
    fields: Fields,
    problems: FieldProblems,
}

impl BulkPage {
    /// The filters in words: `owner ann, state active`.
    fn filtered_by(&self) -> Markup {
        let mut all = Markup::default();
        for (place, (filter, value)) in self.filters.iter().enumerate() {
            if place > 0 {
                all.push(&Markup::text(", "));
            }
            let filter = match *filter {
                "owner" => t!("owner"),
                "group" => t!("group"),
                "team" => t!("team"),
                "search" => t!("search"),
                "state" => t!("the state"),
                other => other.into(),
            };
            all.push(&Markup::text(&format!("{filter} ")));
            all.push(&Markup::strong(&value.markup()));
        }
        all
    }
}

fn filter(fields: &Fields) -> KeyBulkFilter {
    KeyBulkFilter {
        owner: fields.given("filter.owner"),
        group: fields.given("filter.group"),
        team: fields.given("filter.team"),
        search: fields.given("filter.search"),
        state: state_named(fields.get("filter.state")),
    }
}

/// The filters of an address, as the form has them: beside the fields of the change.
fn as_in_form(asked: &Fields) -> Fields {
    FILTERS.into_iter().fold(Fields::default(), |fields, name| {
        fields.with(&format!("filter.{name}"), asked.get(name))
    })
}

fn as_in_address(fields: &Fields) -> Fields {
    FILTERS.into_iter().fold(Fields::default(), |asked, name| {
        asked.with(name, fields.get(&format!("filter.{name}")))
    })
}

async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let caller = &signed_in.caller;
    let filter = filter(&fields);
    let count = KeyBulkBody {
        filter: filter.clone(),
        ..KeyBulkBody::default()
    };
    let mut problems = problems;
    let found = match key_bulk::change(state, caller, &count).await {
        Ok(outcome) => outcome.found,
        Err(problem) => {
            problems = FieldProblems::of(problem)?;
            0
        }
    };
    let of_filter = KeyListParams {
        owner: filter.owner,
        group: filter.group,
        team: filter.team,
        search: filter.search,
        state: filter.state,
        with: None,
    };
    let some = keys::list(state, caller, of_filter, PageParams::first(ROWS)).await?;
    let some = some.items.iter().take(usize::from(ROWS));
    let asked = as_in_address(&fields);
    let given = FILTERS.map(|name| (name, asked.get(name)));
    let given = given.into_iter().filter(|(_, value)| !value.is_empty());
    let given = given.map(|(name, value)| (name, SubjectKind::named(name), value));
    let mut wanted = WantedNames::default();
    for (_, kind, value) in given.clone() {
        wanted.all(kind.unwrap_or(SubjectKind::Group), kind.map(|_| value));
    }
    let names = wanted.find(state, caller).await?;
    let failed = !problems.is_empty();
    let owner = OwnerField::of(state, caller, OWNER, &fields, &problems).await?;
    let team = OwnerField::of(state, caller, TEAM, &fields, &problems).await?;
    form_page(
        &BulkPage {
            shell: signed_in.shell(t!("Change keys")),
            filters: given
                .map(|(name, kind, value)| match kind {
                    Some(kind) => (name, names.of(kind, value)),
                    None => (name, Name::of_itself(value)),
                })
                .collect(),
            back: back(&fields),
            found,
            some: some
                .map(|key| (name_of(key).to_owned(), path_of(&key.id)))
                .collect(),
            acts: choices(&ACTS),
            numbers: limit_fields::numbers(),
            budgets: limit_fields::budgets(),
            owner,
            team,
            fields,
            problems,
        },
        failed,
    )
}

/// The path of the list with the same filters.
fn back(fields: &Fields) -> String {
    let (path, _) = as_in_address(fields).filtered("/keys", FILTERS);
    path.trim_end_matches(['&', '?']).to_owned()
}

/// Asks how keys are to be changed, and counts them.
pub async fn ask_change(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let fields = as_in_form(&asked);
    show(&state, &signed_in, fields, FieldProblems::default()).await
}

/// The change that a form asks for.
fn change(fields: &Fields, problems: &mut FieldProblems) -> KeyBulkChange {
    let mut change = KeyBulkChange::default();
    match fields.get("act") {
        "disable" => change.disabled = Some(true),
        "enable" => change.disabled = Some(false),
        "owner" => {
            change.owner = Some(fields.given("owner"));
            change.new_owner = fields.is_set("new_owner");
        }
        "team" => {
            change.team = Some(fields.given("team"));
            change.new_team = fields.is_set("new_team");
        }
        "expires_at" => change.expires_at = Some(terms::expires_at(fields)),
        "addresses" => change.addresses = Some(terms::addresses(fields)),
        "limits" => change.limits = Some(terms::limits(fields, None, problems)),
        _ => problems.push("act", text!("choose one")),
    }
    change
}

/// Changes the keys.
pub async fn change_all(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let mut problems = FieldProblems::default();
    if is_search(&fields) {
        return show(&state, &signed_in, fields, problems).await;
    }
    let change = change(&fields, &mut problems);
    if problems.is_empty() {
        let asked = KeyBulkBody {
            filter: filter(&fields),
            change,
            expected: Some(fields.get("expected").parse().unwrap_or_default()),
        };
        match key_bulk::change(&state, &signed_in.caller, &asked).await {
            Ok(_) => return Ok(done(&back(&fields), Notice::KeysChanged)),
            Err(problem) => problems = FieldProblems::of(problem)?,
        }
    }
    show(&state, &signed_in, fields, problems).await
}
