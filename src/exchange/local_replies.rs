//! Replies to what is asked of the gateway itself, from the policy and the counters: health, lists of models, the usage of a key.

use serde_json::{Value, json};

use super::authentication::{Authenticated, AuthenticatedCaller};
use super::route::{self, Route};
use crate::config::policy::{EntrySource, Group, GroupKind, Lists};
use crate::config::snapshot::InForce;
use crate::keys::KeyAccess;
use crate::limits::Quotas;
use crate::model::Model;
use crate::protocol::listing::{Listed, generate_list, shared_list};
use crate::protocol::page::{self, ListPage};
use crate::protocol::query::RequestTarget;
use crate::protocol::usage_report::usage_report;
use crate::protocol::{Dialect, Endpoint, Entry, Protocol};
use crate::reply::{Rejection, Reply, ReplyContext};

/// The reply to a health check.
pub(super) fn health(
    in_force: Option<&InForce>,
    context: &ReplyContext,
) -> Result<Reply, Rejection> {
    in_force
        .filter(|policy| policy.is_ready())
        .ok_or(Rejection::NotReady)?;
    let body = json!({"status": "ok"});
    let id = context.request_id.as_deref();
    Ok(Reply::json(200, &body, context.dialect, id))
}

/// The reply that says what is left of a key's limits. Without limits no counter is read.
pub(super) fn usage(
    authenticated: &Authenticated,
    context: &ReplyContext,
    quotas: &impl Quotas,
) -> Result<Reply, Rejection> {
    let Authenticated { caller, expires_at } = authenticated;
    let each = match &*caller.subjects {
        [] => Vec::new(),
        subjects => quotas
            .figures_of_each(subjects)
            .map_err(|error| Rejection::of_limit(error, "", None))?,
    };
    let (group, currency) = (&caller.group.id, caller.currency.as_deref());
    let body = usage_report(&caller.key, group, currency, *expires_at, &each);
    let id = context.request_id.as_deref();
    Ok(Reply::written(200, body, context.dialect, id))
}

/// The reply to a request for a list of models, or for one of them.
pub(super) fn list(
    caller: &AuthenticatedCaller,
    endpoint: &Endpoint,
    target: &RequestTarget<'_>,
    context: &ReplyContext,
    quotas: &impl Quotas,
) -> Result<Reply, Rejection> {
    let body = list_body(caller, endpoint.path_model(), target, quotas)?;
    let dialect = match caller.protocol {
        Protocol::C => Dialect::Native(Protocol::C),
        Protocol::A | Protocol::B => context.dialect,
    };
    let id = context.request_id.as_deref();
    Ok(Reply::written(200, body, dialect, id))
}

/// The body that answers a list request: the model `one`, or all of them.
fn list_body(
    caller: &AuthenticatedCaller,
    one: Option<&str>,
    target: &RequestTarget<'_>,
    quotas: &impl Quotas,
) -> Result<Vec<u8>, Rejection> {
    let group = &caller.group;
    let of_c = caller.protocol == Protocol::C;
    if let (true, GroupKind::Source(_)) = (of_c, &group.kind) {
        // A source of another protocol has no list in C's shape.
        Route::find(group, caller.protocol)?;
    }
    let access = caller.access.as_deref();
    let priced = !group.priced && caller.has_budget(quotas);
    let entry = match &group.kind {
        GroupKind::Mixed(mixed) if of_c || mixed.lists_by_protocol => Some(caller.protocol.entry()),
        _ => None,
    };
    let shown = ShownModels {
        access,
        of_c,
        entry,
        priced,
    };
    let first = || written(group, shown, one, target);
    if one.is_some() || target.query.is_some() || access.is_some() || priced {
        return first();
    }
    let Lists {
        shared,
        messages,
        generate,
    } = &group.lists;
    let list = match (entry, caller.protocol) {
        (_, Protocol::C) => generate,
        (Some(_), Protocol::B) => messages,
        _ => shared,
    };
    if list.get().is_none() {
        let _ = list.set(first()?.into());
    }
    list.get().map_or_else(first, |list| Ok(list.to_vec()))
}

/// The models of a group that one of its keys is shown.
#[derive(Debug, Clone, Copy)]
struct ShownModels<'a> {
    /// The key's own models and multiplier.
    access: Option<&'a KeyAccess>,
    /// In the shape of protocol C.
    of_c: bool,
    /// Of a Mixed group, only those of this entry.
    entry: Option<Entry>,
    /// Only those with prices: a budget could not count the others.
    priced: bool,
}

/// The body, written anew.
fn written(
    group: &Group,
    shown: ShownModels<'_>,
    one: Option<&str>,
    target: &RequestTarget<'_>,
) -> Result<Vec<u8>, Rejection> {
    let body = value(group, shown, one, target)?;
    Ok(body.to_string().into_bytes())
}

fn value(
    group: &Group,
    shown: ShownModels<'_>,
    one: Option<&str>,
    target: &RequestTarget<'_>,
) -> Result<Value, Rejection> {
    let models = visible(group, shown);
    let of_c = shown.of_c;
    match one {
        Some(name) => {
            let found = find(group, shown, &models, name)?;
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

/// The models of a group that one of its keys is shown.
fn visible<'a>(group: &'a Group, shown: ShownModels<'_>) -> Vec<Listed<'a>> {
    let ShownModels {
        access,
        entry,
        priced,
        ..
    } = shown;
    let own = access.and_then(|access| access.multiplier);
    let affords = |multiplier| access.is_none_or(|access| access.affords(multiplier));
    let fits = |offer: &EntrySource, model: &Model| {
        affords(offer.multiplier) && (!priced || model.is_priced())
    };
    let mut models: Vec<_> = match &group.kind {
        GroupKind::Source(source) => source
            .catalog
            .models()
            .iter()
            .filter(|model| model.entitled && affords(own.unwrap_or(source.multiplier)))
            .map(|model| Listed { model, offer: None })
            .collect(),
        GroupKind::Mixed(mixed) => mixed
            .models
            .iter()
            .filter(|shown| entry.is_none_or(|entry| shown.entry == entry))
            .filter_map(|shown| {
                let (offer, model) = mixed.offered_where(shown, fits)?;
                let is_shown = model.entitled && affords(offer.multiplier);
                is_shown.then_some(Listed {
                    model,
                    offer: Some((shown.entry, own.unwrap_or(offer.multiplier))),
                })
            })
            .collect(),
    };
    models.retain(|Listed { model, .. }| {
        access.is_none_or(|access| access.allows(&model.id)) && (!priced || model.is_priced())
    });
    models
}

/// The listed model that `name` means, by any spelling that a request could use.
fn find<'a>(
    group: &Group,
    shown: ShownModels<'_>,
    listed: &[Listed<'a>],
    name: &str,
) -> Result<Listed<'a>, Rejection> {
    let id = match &group.kind {
        GroupKind::Source(source) => source.catalog.find(name).map(|m| m.id.as_str()),
        GroupKind::Mixed(mixed) => {
            let own = shown.entry.filter(|_| mixed.lists_by_protocol);
            let entry = own.or_else(|| route::entry_for(mixed, name, shown.access));
            let found = entry.and_then(|entry| mixed.find(entry, name));
            found.map(|(_, model)| model.id.as_str())
        }
    };
    listed
        .iter()
        .find(|listed| Some(listed.model.id.as_str()) == id)
        .copied()
        .ok_or_else(|| Rejection::ModelNotFound {
            name: name.to_owned(),
            served_by: match (&group.kind, shown.entry) {
                (GroupKind::Mixed(mixed), Some(_)) => route::entry_for(mixed, name, shown.access),
                _ => None,
            },
        })
}
