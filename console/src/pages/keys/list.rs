//! The list of keys.

use askama::Template;
use trilane::limits::SubjectKind;

use super::{BudgetMeter, budget_of_day, meter_of, name_of, path_of, spent_text, state_of};
use crate::cases::keys::{self, KeyListParams, KeyView};
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::rights;
use crate::cases::{ConsoleState, document_keys, key_models};
use crate::pages::form::Fields;
use crate::pages::{PageResult, PageShell, ShownAmount, SignedIn, Visit, page};
use crate::secret;
use crate::store::key_lists::KeyState;
use crate::timestamp::moment;

/// The keys of a page.
const ROWS: u16 = 50;

struct KeyRow {
    path: String,
    name: String,
    /// Owner, hint and id, as far as they are there and not the name.
    owner: Option<Name>,
    hint: Option<String>,
    group: Name,
    state: (&'static str, &'static str),
    meter: Option<BudgetMeter>,
    budget_of_day: Option<ShownAmount>,
    spent: ShownAmount,
    last_used: Option<String>,
    expires: Option<String>,
    is_of_document: bool,
}

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    shell: PageShell,
    /// A sentence about the search.
    said: Option<&'static str>,
    may_create: bool,
    rows: Vec<KeyRow>,
    /// The keys of the document, on the first page, and whether there are more than these.
    of_document: Vec<KeyRow>,
    has_more_of_document: bool,
    next: Option<String>,
    filters: Fields,
    groups: Vec<Name>,
    is_filtered: bool,
    /// Whether keys of all owners are listed, so that one can be asked for.
    is_everybodys: bool,
    /// The page's path with its filters, to which a cursor is added.
    path: String,
    /// The path of the page that changes all keys of these filters.
    bulk: String,
}

fn row(key: &KeyView, names: &Names, now: &str) -> KeyRow {
    KeyRow {
        path: path_of(&key.id),
        name: name_of(key).to_owned(),
        owner: key.owner.as_deref().map(|id| names.owner(id)),
        hint: key.hint.clone(),
        group: names.group(&key.group),
        state: state_of(key, now),
        meter: meter_of(key),
        budget_of_day: budget_of_day(key),
        spent: spent_text(key),
        last_used: key.last_used_at.clone(),
        expires: key.expires_at.clone(),
        is_of_document: key.of_document,
    }
}

/// The names of the filters.
pub(super) const FILTERS: [&str; 5] = ["search", "group", "state", "owner", "team"];
/// The sentence where an address has a whole key.
const IN_ADDRESS: &str = text!(
    "A whole key does not belong into an address, where others may read it: rotate it. Paste keys into the field below, which keeps them out of it."
);

/// The list of keys, as filtered.
pub async fn list(Visit { state, signed_in }: Visit, filters: Fields) -> PageResult {
    if secret::is_whole(filters.get("search")) {
        return show(&state, &signed_in, Fields::default(), Some(IN_ADDRESS)).await;
    }
    show(&state, &signed_in, filters, None).await
}

/// Shows the list, with what is to be said of the search.
pub(super) async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    filters: Fields,
    said: Option<&'static str>,
) -> PageResult {
    let (bulk, _) = filters.filtered("/change-keys", FILTERS);
    let params = KeyListParams {
        owner: filters.given("owner"),
        group: filters.given("group"),
        team: filters.given("team"),
        search: filters.given("search"),
        state: state_named(filters.get("state")),
        with: Some("use".to_owned()),
    };
    let place = PageParams::at(filters.given("cursor"), ROWS);
    let is_everybodys = signed_in.caller.only_owner().is_none();
    let is_first = place.cursor.is_none();
    let found = keys::list(state, &signed_in.caller, params.clone(), place).await?;
    let of_document = if is_first {
        let some = PageParams::first(ROWS);
        document_keys::list(state, &signed_in.caller, params, some).await?
    } else {
        ItemPage {
            items: Vec::new(),
            next: None,
        }
    };
    let now = moment(state.now());
    let (path, is_filtered) = filters.filtered("/keys", FILTERS);
    let groups = key_models::groups(state, &signed_in.caller).await?;
    let mut wanted = WantedNames::default();
    for key in found.items.iter().chain(&of_document.items) {
        wanted.all(SubjectKind::Owner, key.owner.as_deref());
        wanted.add(SubjectKind::Group, &key.group);
    }
    wanted.all(SubjectKind::Group, groups.iter().map(|(id, _)| id.as_str()));
    let names = wanted.find(state, &signed_in.caller).await?;
    let shell = signed_in.shell(t!("Keys"));
    page(&KeysPage {
        shell,
        said,
        may_create: signed_in.caller.may(rights::CHANGE_KEYS),
        of_document: of_document
            .items
            .iter()
            .map(|key| row(key, &names, &now))
            .collect(),
        has_more_of_document: of_document.next.is_some(),
        rows: found
            .items
            .iter()
            .map(|key| row(key, &names, &now))
            .collect(),
        next: found.next,
        filters,
        groups: groups.iter().map(|(id, _)| names.group(id)).collect(),
        is_filtered,
        is_everybodys,
        path,
        bulk: bulk.trim_end_matches(['&', '?']).to_owned(),
    })
}

/// The state of a filter.
pub(super) fn state_named(name: &str) -> Option<KeyState> {
    match name {
        "active" => Some(KeyState::Active),
        "disabled" => Some(KeyState::Disabled),
        "expired" => Some(KeyState::Expired),
        _ => None,
    }
}
