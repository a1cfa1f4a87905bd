//! `GET /v1/models` and `GET /v1beta/models`, answered from the policy.

use serde_json::Value;

use super::request::AuthenticatedCaller;
use super::route::{self, Route};
use crate::config::policy::{Group, GroupKind, Lists};
use crate::keys::KeyAccess;
use crate::protocol::listing::{Listed, generate_list, shared_list};
use crate::protocol::page::{self, ListPage};
use crate::protocol::query::RequestTarget;
use crate::protocol::{Entry, Protocol};
use crate::reply::Rejection;

/// The body that answers a list request: the model `one`, or all of them.
pub(super) fn body(
    caller: &AuthenticatedCaller,
    one: Option<&str>,
    target: &RequestTarget<'_>,
) -> Result<Vec<u8>, Rejection> {
    let group = &caller.group;
    let of_c = caller.protocol == Protocol::C;
    if let (true, GroupKind::Source(_)) = (of_c, &group.kind) {
        // A source of another protocol has no list in C's shape.
        Route::find(group, caller.protocol)?;
    }
    let access = caller.access.as_deref();
    let first = || written(group, access, one, target, of_c);
    if one.is_some() || target.query.is_some() || access.is_some() {
        return first();
    }
    let Lists { shared, generate } = &group.lists;
    let list = if of_c { generate } else { shared };
    if list.get().is_none() {
        let _ = list.set(first()?.into());
    }
    list.get().map_or_else(first, |list| Ok(list.to_vec()))
}

/// The body, written anew.
fn written(
    group: &Group,
    access: Option<&KeyAccess>,
    one: Option<&str>,
    target: &RequestTarget<'_>,
    of_c: bool,
) -> Result<Vec<u8>, Rejection> {
    let body = value(group, access, one, target, of_c)?;
    Ok(body.to_string().into_bytes())
}

fn value(
    group: &Group,
    access: Option<&KeyAccess>,
    one: Option<&str>,
    target: &RequestTarget<'_>,
    of_c: bool,
) -> Result<Value, Rejection> {
    let models = visible(group, access, of_c);
    match one {
        Some(name) => {
            let found = find(group, access, &models, name, of_c)?;
            Ok(if of_c {
                found.generate()
            } else {
                found.shared()
            })
        }
        None => {
            let ids: Vec<&str> = models.iter().map(|m| m.model.id.as_str()).collect();
            let page = if of_c {
                page::by_token(target, &ids)
            } else {
                page::by_id(target, &ids)
            };
            let ListPage { items, has_more } =
                page.map_err(|parameter| Rejection::BadParameter(parameter.0))?;
            let shown = models.get(items).unwrap_or_default();
            Ok(if of_c {
                generate_list(shown, has_more)
            } else {
                shared_list(shown, has_more)
            })
        }
    }
}

/// The models that a key of `group` with this of its own may use; `only_c` leaves those of the C entry of a Mixed group.
fn visible<'a>(group: &'a Group, access: Option<&KeyAccess>, only_c: bool) -> Vec<Listed<'a>> {
    let own = access.and_then(|access| access.multiplier);
    let mut models: Vec<_> = match &group.kind {
        GroupKind::Source(source) => source
            .catalog
            .models()
            .iter()
            .filter(|model| model.entitled)
            .map(|model| Listed { model, offer: None })
            .collect(),
        GroupKind::Mixed(mixed) => mixed
            .models
            .iter()
            .filter(|shown| !only_c || shown.entry == Entry::VcGenerateContent)
            .filter_map(|shown| {
                let entry = mixed.entry(shown.entry)?;
                let mut models = entry.source.catalog.models().iter();
                let model = models.find(|m| m.id == shown.id && m.entitled)?;
                Some(Listed {
                    model,
                    offer: Some((entry.entry, own.unwrap_or(entry.multiplier))),
                })
            })
            .collect(),
    };
    models.retain(|listed| access.is_none_or(|access| access.allows(&listed.model.id)));
    models
}

/// The listed model that `name` means, by any spelling that a request could use.
fn find<'a>(
    group: &Group,
    access: Option<&KeyAccess>,
    listed: &[Listed<'a>],
    name: &str,
    only_c: bool,
) -> Result<Listed<'a>, Rejection> {
    let id = match &group.kind {
        GroupKind::Source(source) => source.catalog.find(name).map(|m| m.id.as_str()),
        GroupKind::Mixed(mixed) => route::entry_for(mixed, name, access)
            .and_then(|entry| mixed.entry(entry))
            .and_then(|entry| entry.source.catalog.find(name))
            .map(|m| m.id.as_str()),
    };
    listed
        .iter()
        .find(|listed| Some(listed.model.id.as_str()) == id)
        .copied()
        .ok_or_else(|| Rejection::ModelNotFound {
            name: name.to_owned(),
            served_by: match (&group.kind, only_c) {
                (GroupKind::Mixed(mixed), true) => route::entry_for(mixed, name, access),
                _ => None,
            },
        })
}
