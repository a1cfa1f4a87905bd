//! `GET /v1/models` and `GET /v1beta/models`, answered from the policy.

use std::rc::Rc;

use serde_json::Value;

use super::route::{self, Route};
use crate::config::policy::{Group, GroupKind, Lists};
use crate::protocol::listing::{Listed, generate_list, shared_list};
use crate::protocol::page::{self, ListPage};
use crate::protocol::query::Target;
use crate::protocol::{Entry, Protocol};
use crate::reply::Rejection;

/// The body that answers a list request of `protocol` by a key of `group`: the model `one`, or all of them.
pub(super) fn body(
    group: &Rc<Group>,
    protocol: Protocol,
    one: Option<&str>,
    target: &Target<'_>,
) -> Result<Vec<u8>, Rejection> {
    let of_c = protocol == Protocol::C;
    if let (true, GroupKind::Source(_)) = (of_c, &group.kind) {
        // A source of another protocol has no list in C's shape.
        Route::find(group, protocol)?;
    }
    let first = || written(group, one, target, of_c);
    if one.is_some() || target.query.is_some() {
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
    one: Option<&str>,
    target: &Target<'_>,
    of_c: bool,
) -> Result<Vec<u8>, Rejection> {
    let body = value(group, one, target, of_c)?;
    Ok(body.to_string().into_bytes())
}

fn value(
    group: &Group,
    one: Option<&str>,
    target: &Target<'_>,
    of_c: bool,
) -> Result<Value, Rejection> {
    let models = visible(group, of_c);
    match one {
        Some(name) => {
            let found = find(group, &models, name, of_c)?;
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

/// The models that a key of `group` may use; `only_c` leaves those of the C entry of a Mixed group.
fn visible(group: &Group, only_c: bool) -> Vec<Listed<'_>> {
    match &group.kind {
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
                    offer: Some((entry.entry, entry.multiplier)),
                })
            })
            .collect(),
    }
}

/// The listed model that `name` means, by any spelling that a request could use.
fn find<'a>(
    group: &Group,
    listed: &[Listed<'a>],
    name: &str,
    only_c: bool,
) -> Result<Listed<'a>, Rejection> {
    let id = match &group.kind {
        GroupKind::Source(source) => source.catalog.find(name).map(|m| m.id.as_str()),
        GroupKind::Mixed(mixed) => route::entry_for(mixed, name)
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
                (GroupKind::Mixed(mixed), true) => route::entry_for(mixed, name),
                _ => None,
            },
        })
}
