//! The keys of a console, over its API.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use trilane::config::document::{KeyDocument, LimitsDocument};

use super::access::AccessArgs;
use super::args::{KeyCreateArgs, KeyOutArgs, KeyRotateArgs, OneKeyArgs};
use super::change::KeyChange;
use super::delivery::Delivery;
use super::report::{self, KeyReport, tell};
use super::state::{ConsoleDetails, KeyDetails, ListedKey, OldValue, state};
use super::terms;
use crate::console_api::{ApiError, ApiFault, ConsoleApi};
use crate::failure::Failure;
use crate::timestamp;

/// The path of keys.
const KEYS: &str = "/api/v1/keys";

/// A key as the console shows it.
#[derive(Debug, Deserialize)]
struct ApiKey {
    id: String,
    group: String,
    owner: Option<String>,
    team: Option<String>,
    models: Option<Vec<String>>,
    multiplier: Option<String>,
    expires_at: Option<String>,
    disabled: bool,
    limits: Option<LimitsDocument>,
    revision: Option<String>,
    #[serde(flatten)]
    details: ConsoleDetails,
}

/// A key with its new value.
#[derive(Deserialize)]
struct CreatedKey {
    value: Option<String>,
    key: ApiKey,
    old: Option<OldValueOutcome>,
}

#[derive(Deserialize)]
struct OldValueOutcome {
    good: Option<OldValue>,
}

impl From<ApiKey> for ListedKey {
    fn from(key: ApiKey) -> Self {
        let ends = key.expires_at.as_deref().and_then(timestamp::parse);
        let ends = ends.map(OffsetDateTime::unix_timestamp);
        Self {
            state: state(key.disabled, ends, OffsetDateTime::now_utc()),
            id: key.id,
            owner: key.owner,
            team: key.team,
            group: key.group,
            models: key.models,
            multiplier: key.multiplier,
            limits: key.limits,
            expires_at: key.expires_at,
        }
    }
}

fn path(id: &str) -> String {
    format!("{KEYS}/{}", utf8_percent_encode(id, NON_ALPHANUMERIC))
}

/// An error about the key of this id.
fn of_key(console: &ConsoleApi, id: &str, error: ApiError) -> Failure {
    if error.fault != ApiFault::NotFound {
        return error.into();
    }
    let url = console.url();
    Failure::Data(format!(
        "the console at {url} has no key with the id {id}, or it is not yours: trilane key list --server {url}"
    ))
}

fn find(console: &ConsoleApi, id: &str) -> Result<ApiKey, Failure> {
    let found = console.get(&path(id));
    found.map_err(|error| of_key(console, id, error))
}

/// The keys that the person may see.
///
/// # Errors
/// The console does not give them.
pub fn list(console: &ConsoleApi) -> Result<Vec<ListedKey>, Failure> {
    let keys: Vec<ApiKey> = console.list(KEYS, &[])?;
    Ok(keys.into_iter().map(ListedKey::from).collect())
}

/// One of them.
///
/// # Errors
/// There is no such key, or as [`list`].
pub fn show(console: &ConsoleApi, id: &str) -> Result<KeyDetails, Failure> {
    let mut key = find(console, id)?;
    let details = core::mem::take(&mut key.details);
    Ok(KeyDetails::new(key.into(), Some(details)))
}

/// Makes a key.
///
/// # Errors
/// The console does not make it.
pub fn create(console: &ConsoleApi, args: &KeyCreateArgs) -> Result<(), Failure> {
    let id = &args.one.id;
    let mut body = Map::new();
    body.insert("id".to_owned(), json!(id));
    body.insert("group".to_owned(), json!(args.group));
    body.extend(
        args.owner
            .iter()
            .map(|owner| ("owner".to_owned(), json!(owner))),
    );
    body.extend(
        args.new_owner
            .then(|| ("new_owner".to_owned(), json!(true))),
    );
    body.extend(members(args.access.changes(&KeyDocument::default(), true)));
    body.extend(new_team(&args.access));
    let ends = args.ends()?.map(timestamp::text);
    body.extend(ends.map(|ends| ("expires_at".to_owned(), json!(ends))));
    let limits = args.terms.apply(None);
    body.extend(limits.map(|limits| ("limits".to_owned(), json!(limits))));
    with_value(&args.one, &args.shown, "created", || {
        let made = console.send_json("POST", KEYS, &body);
        made.map_err(|error| match error.fault {
            ApiFault::Forbidden => Failure::Data(format!(
                "{}. Members make keys of their own on its page Me",
                error.text
            )),
            _ => error.into(),
        })
    })
}

/// Gives a key a new value.
///
/// # Errors
/// The console does not do it.
pub fn rotate(console: &ConsoleApi, args: &KeyRotateArgs) -> Result<(), Failure> {
    let id = &args.one.id;
    let overlap = args.overlap.unwrap_or_default().whole_seconds();
    with_value(&args.one, &args.shown, "rotated", || {
        let body = json!({ "overlap_seconds": overlap });
        let rotated = console.send_json("POST", &format!("{}/rotate", path(id)), &body);
        rotated.map_err(|error| of_key(console, id, error))
    })
}

/// Asks for a new value, and prints it or writes it to its file.
fn with_value(
    one: &OneKeyArgs,
    shown: &KeyOutArgs,
    done: &'static str,
    ask: impl FnOnce() -> Result<CreatedKey, Failure>,
) -> Result<(), Failure> {
    let file = shown.key_out.as_deref();
    let delivery = file.map(Delivery::begin).transpose();
    let delivery = delivery.map_err(Failure::Data)?;
    let made = ask()?;
    let lost = |why: &str| {
        let id = &one.id;
        Failure::Data(format!(
            "the console has the key {id}, but its value {why} and is lost: rotate it"
        ))
    };
    let value = made.value.ok_or_else(|| lost("did not come"))?;
    let delivered = delivery.is_some();
    if let Some(delivery) = delivery {
        delivery
            .write(&value)
            .map_err(|why| lost(&format!("could not be written ({why})")))?;
        delivery.keep();
    }
    let old = made.old.and_then(|old| old.good);
    let now = ListedKey::from(made.key);
    let old = old.map(|old| ListedKey {
        id: old.id,
        expires_at: Some(old.good_until),
        ..now.clone()
    });
    let told = KeyReport {
        id: &one.id,
        done,
        changed: true,
        now: Some(now),
        old,
        key: (!delivered).then_some(value.as_str()),
    };
    tell(&told, one.format.format()).map_err(|failure| {
        if delivered {
            failure
        } else {
            lost("could not be printed")
        }
    })
}

/// Makes a change without a new value, unless somebody else has changed the key meanwhile.
///
/// # Errors
/// The console does not do it.
pub fn change(
    console: &ConsoleApi,
    one: &OneKeyArgs,
    change: &KeyChange<'_>,
) -> Result<(), Failure> {
    let id = &one.id;
    let before = find(console, id)?;
    let old: Vec<String> = before
        .details
        .old_values
        .iter()
        .map(|old| old.id.clone())
        .collect();
    let (changed, now) = match changes(&before, change) {
        None => {
            let removed = console.delete(&path(id), None);
            removed.map_err(|error| of_key(console, id, error))?;
            (true, None)
        }
        Some(members) if members.is_empty() => (false, Some(before)),
        Some(mut members) => {
            members.insert("revision".to_owned(), json!(before.revision));
            let after = console.send_json("PATCH", &path(id), &members);
            let after: ApiKey = after.map_err(|error| of_key(console, id, error))?;
            (true, Some(after))
        }
    };
    for old in old.iter().filter(|_| change.ends()) {
        report::note_old_value(old);
    }
    let told = KeyReport {
        id,
        done: change.done(),
        changed,
        now: now.map(ListedKey::from),
        old: None,
        key: None,
    };
    tell(&told, one.format.format())
}

/// The members that become others; `None`: the key is removed.
fn changes(before: &ApiKey, change: &KeyChange<'_>) -> Option<Map<String, Value>> {
    let one = |name: &str, value: Value| Map::from_iter([(name.to_owned(), value)]);
    Some(match change {
        KeyChange::Disable(disabled) if before.disabled == *disabled => Map::new(),
        KeyChange::Disable(disabled) => one("disabled", json!(disabled)),
        KeyChange::Expire(ends) => {
            let ends = ends.map(timestamp::text);
            if ends == before.expires_at {
                Map::new()
            } else {
                one("expires_at", json!(ends))
            }
        }
        KeyChange::Limit(limits, anew) => {
            let was = before.limits.as_ref();
            let limits = limits.apply(was.filter(|_| !anew));
            let written = |limits: &LimitsDocument| terms::written(limits, true);
            if limits.as_ref().map(written) == was.map(written) {
                Map::new()
            } else {
                one("limits", json!(limits))
            }
        }
        KeyChange::Access(access) => {
            let was = KeyDocument {
                team: before.team.clone(),
                models: before.models.clone(),
                multiplier: before.multiplier.clone(),
                addresses: before.details.addresses.clone(),
                ..KeyDocument::default()
            };
            let mut changes: Map<String, Value> = members(access.changes(&was, true)).collect();
            if changes.contains_key("team") {
                changes.extend(new_team(access));
            }
            changes
        }
        KeyChange::Remove => return None,
    })
}

/// The confirmation of a team that the console does not know.
fn new_team(access: &AccessArgs) -> Option<(String, Value)> {
    access
        .new_team
        .then(|| ("new_team".to_owned(), json!(true)))
}

/// Changes of members, whose values are JSON.
fn members(changes: Vec<super::access::MemberChange>) -> impl Iterator<Item = (String, Value)> {
    let value = |json: String| serde_json::from_str(&json).unwrap_or_default();
    let changes = changes.into_iter();
    changes.map(move |(name, json)| (name.to_owned(), json.map_or(Value::Null, value)))
}
