//! The list of keys.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::{BudgetMeter, meter_of, name_of, path_of, spent_text, state_of};
use crate::cases::keys::{self, KeyListParams, KeyView};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::cases::{ConsoleState, key_models};
use crate::pages::form::Fields;
use crate::pages::{PageProblem, PageShell, SignedIn, page};
use crate::store::key_lists::KeyState;
use crate::timestamp::moment;

/// The keys of a page.
const ROWS: u16 = 50;

struct KeyRow {
    path: String,
    name: String,
    /// Owner, hint and id, as far as they are there and not the name.
    owner: Option<String>,
    hint: Option<String>,
    group: String,
    state: (&'static str, &'static str),
    meter: Option<BudgetMeter>,
    spent: String,
    last_used: Option<String>,
    expires: Option<String>,
}

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    shell: PageShell,
    may_create: bool,
    rows: Vec<KeyRow>,
    next: Option<String>,
    filters: Fields,
    groups: Vec<String>,
    is_filtered: bool,
    /// Whether keys of all owners are listed, so that one can be asked for.
    is_everybodys: bool,
    /// The page's path with its filters, to which a cursor is added.
    path: String,
}

fn row(key: &KeyView, now: &str) -> KeyRow {
    KeyRow {
        path: path_of(&key.id),
        name: name_of(key).to_owned(),
        owner: key.owner.clone(),
        hint: key.hint.clone(),
        group: key.group.clone(),
        state: state_of(key, now),
        meter: meter_of(key),
        spent: spent_text(key),
        last_used: key.last_used_at.clone(),
        expires: key.expires_at.clone(),
    }
}

/// The list's path with its filters, to which more can be added, and whether there are any.
fn filtered_path(filters: &Fields) -> (String, bool) {
    let start = String::from("/keys?");
    let length = start.len();
    let mut path = form_urlencoded::Serializer::for_suffix(start, length);
    let mut is_filtered = false;
    for name in ["search", "group", "state", "owner"] {
        if let Some(value) = filters.given(name) {
            is_filtered = true;
            path.append_pair(name, &value);
        }
    }
    let path = path.finish();
    let end = if is_filtered { "&" } else { "" };
    (format!("{path}{end}"), is_filtered)
}

/// The list of keys, as filtered.
pub async fn list(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    filters: Fields,
) -> Result<Response, PageProblem> {
    let params = KeyListParams {
        owner: filters.given("owner"),
        group: filters.given("group"),
        search: filters.given("search"),
        state: match filters.get("state") {
            "active" => Some(KeyState::Active),
            "disabled" => Some(KeyState::Disabled),
            "expired" => Some(KeyState::Expired),
            _ => None,
        },
        with: Some("use".to_owned()),
    };
    let place = PageParams::at(filters.given("cursor"), ROWS);
    let is_everybodys = signed_in.caller.only_owner().is_none();
    let found = keys::list(&state, &signed_in.caller, params, place).await?;
    let now = moment(state.now());
    let (path, is_filtered) = filtered_path(&filters);
    let groups = key_models::groups(&state, &signed_in.caller).await?;
    let shell = signed_in.shell("Keys");
    page(&KeysPage {
        shell,
        may_create: signed_in.caller.may(rights::CHANGE_KEYS),
        rows: found.items.iter().map(|key| row(key, &now)).collect(),
        next: found.next,
        filters,
        groups: groups.into_iter().map(|(id, _)| id).collect(),
        is_filtered,
        is_everybodys,
        path,
    })
}
