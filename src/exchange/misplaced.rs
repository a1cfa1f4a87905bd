//! A valid key where its group does not read it: an old client's header, or a new one's.
//!
//! The client gets the reply to an invalid key, byte for byte. What it takes to set it right stands in one more header and
//! in the ledger, for valid keys only: whoever holds one learns where it belongs, whoever guesses learns nothing.

use std::rc::Rc;

use super::key_place::accepts;
use super::request::RefusedKey;
use super::route::Route;
use crate::auth::{CredentialForm, KeyStatus, KeyStore, PresentedCredential, authenticate};
use crate::config::policy::{Clients, Group, GroupKind};
use crate::config::snapshot::InForce;
use crate::head::Head;
use crate::protocol::query::RequestTarget;
use crate::protocol::{Endpoint, Protocol};

/// Looks in these forms for a key that is valid and was not read. Gives it with a sentence on where it belongs.
pub(super) fn misplaced(
    forms: impl Iterator<Item = CredentialForm>,
    head: &Head,
    target: &RequestTarget<'_>,
    endpoint: &Endpoint,
    in_force: &InForce,
    world: &impl KeyStore,
) -> Option<(RefusedKey, String)> {
    let query_key = in_force.policy.query_key;
    let reads = |group: &Group, clients, form: CredentialForm| {
        let looked_at = CredentialForm::of(endpoint).contains(&form);
        let allowed = form != CredentialForm::Query || query_key;
        looked_at && allowed && accepts(group, clients, endpoint, form)
    };
    for form in forms {
        let PresentedCredential::Key(key) = form.read(head, target) else {
            continue;
        };
        let KeyStatus::Valid { key, group } = authenticate(&key, in_force, world) else {
            continue;
        };
        if reads(&group, group.clients, form) {
            // It is the one before it that was wrong.
            continue;
        }
        let place = form.place(head);
        let now = |form: &CredentialForm| reads(&group, group.clients, *form);
        let (read, more): (Vec<CredentialForm>, Vec<CredentialForm>) = CredentialForm::of(endpoint)
            .iter()
            .filter(|form| reads(&group, Clients::Current, **form))
            .partition(|form| now(form));
        let detail = detail(place, endpoint, &group, &read, &more);
        let key = RefusedKey::new(key, Some(place), &in_force.policy);
        return Some((key, detail));
    }
    None
}

/// One sentence: what the endpoint reads of keys of this group, and what more it would read if the group were for current clients.
fn detail(
    place: &str,
    endpoint: &Endpoint,
    group: &Rc<Group>,
    read: &[CredentialForm],
    more: &[CredentialForm],
) -> String {
    let unserved = |protocol| Route::find(group, protocol).is_err();
    if endpoint.protocol().is_some_and(unserved) {
        return format!(
            "The key came in {place}, but this endpoint reads keys from {}, and this key's group does not serve it.",
            listed(read)
        );
    }
    let of_c = matches!(&group.kind, GroupKind::Source(s) if s.protocol == Protocol::C);
    let says = if !read.is_empty() {
        format!(
            "this endpoint reads keys of this key's group from {}",
            listed(read)
        )
    } else if of_c {
        "keys of this key's group list models at /v1beta/models".to_owned()
    } else {
        "this endpoint reads no keys of this key's group".to_owned()
    };
    let allowed = if more.is_empty() {
        String::new()
    } else {
        format!(
            "; \"clients\": \"current\" on the group also allows {}",
            listed(more)
        )
    };
    format!("The key came in {place}, but {says}{allowed}.")
}

fn listed(forms: &[CredentialForm]) -> String {
    let names = forms.iter().map(|form| match form {
        CredentialForm::Bearer => "authorization: Bearer",
        CredentialForm::XApiKey => "x-api-key",
        CredentialForm::VcApiKey => "x-goog-api-key or x-vc-api-key",
        CredentialForm::Query => "the query parameter key",
    });
    names.collect::<Vec<_>>().join(" or ")
}
