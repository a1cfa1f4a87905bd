//! A first run: vendors with their models and credentials come into a draft of their own, by whichever admin.

use core::slice;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::account_test::given;
use super::caller::Caller;
use super::credentials::{keys, no_sealing_key};
use super::drafts::{DraftHead, draft_head};
use super::key_models;
use super::problem::ApiProblem;
use super::rights;
use super::role::Role;
use super::state::ConsoleState;
use super::vendor_models::{VendorModel, destination, vendor_of, way};
use crate::account_credentials::{self, NewCredential};
use crate::documents::{self as life, NewDraft};
use crate::in_transaction;
use crate::store::audit::{self, Actor};
use crate::store::credentials::{self, StoredCredential};
use crate::store::documents::{self, PublishedDocument};
use crate::store::drafts::{self, Draft};
use crate::store::{LockedRow, StoreError, Transaction};
use crate::vendors::{self, ChosenModel, VendorCredential, VendorGroup, group_of};

/// The id of the draft that a first run is in.
pub(crate) const DRAFT: &str = "first-run";
/// The most models of a vendor.
const MOST_MODELS: usize = 2000;

/// The state of a first run.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetupView {
    /// The version in force; 0: none is.
    pub(crate) version: i64,
    /// The number of groups in that version.
    pub(crate) groups_in_force: usize,
    /// The draft that the vendors below are in, until it is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) draft: Option<DraftHead>,
    /// The vendors of the draft that are not in force yet.
    pub(crate) vendors: Vec<SetupVendorView>,
}

/// A vendor of a first run.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetupVendorView {
    /// The id of its group.
    pub(crate) group: String,
    /// The name of the vendor's preset; `compatible` if it has none of its own.
    pub(crate) vendor: &'static str,
    /// The same for people.
    pub(crate) title: &'static str,
    /// The protocol of the vendor: `A`, `B` or `C`.
    pub(crate) protocol: String,
    /// The base address of the vendor.
    pub(crate) url: String,
    /// The HTTP proxy on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<String>,
    /// The file of authorities that its certificate must come from; none for the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<String>,
    /// Whether a credential is kept here for it.
    pub(crate) has_credential: bool,
    /// The models of the vendor.
    pub(crate) models: Vec<VendorModel>,
    /// The revision that a change names, so that it does not overwrite another change.
    pub(crate) revision: String,
}

/// A vendor that comes into the draft, or is changed there.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupVendorBody {
    /// The name of the vendor's preset, as in a request for its list of models.
    #[schema(max_length = 64)]
    pub(crate) vendor: String,
    /// The base address; the vendor's own unless it is given.
    #[schema(max_length = 1024)]
    pub(crate) url: Option<String>,
    /// The protocol of the vendor: `A`, `B` or `C`; by default that of its preset.
    #[schema(max_length = 1)]
    pub(crate) protocol: Option<String>,
    /// The models of the vendor; those that it has in the draft unless they are given.
    #[schema(max_items = 2000)]
    pub(crate) models: Option<Vec<VendorModel>>,
    /// The credential, which is sealed, and sent to this address alone.
    #[schema(min_length = 1, max_length = 8192)]
    pub(crate) value: Option<String>,
    /// It asks for no credential.
    #[serde(default)]
    pub(crate) no_credential: bool,
    /// The HTTP proxy on the way; empty: none. By default the one that it has in the draft, or that of this console's environment.
    #[schema(max_length = 1024)]
    pub(crate) proxy: Option<String>,
    /// The file of authorities that its certificate must come from; empty: the system's. By default the one that it has in the draft.
    #[schema(max_length = 1024)]
    pub(crate) ca: Option<String>,
    /// The vendor's `revision` when it was looked at; missing: it was not there. If it is another one by now, nothing is changed (412).
    pub(crate) revision: Option<String>,
}

fn revision(group: &Value) -> String {
    let mut digest = hex::encode(Sha256::digest(group.to_string()));
    digest.truncate(16);
    digest
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_default()
}

fn count_groups(document: &Value) -> usize {
    let groups = document.get("groups").and_then(Value::as_array);
    groups.map_or(0, Vec::len)
}

fn view(group: &VendorGroup, document: &Value, kept: &[StoredCredential]) -> SetupVendorView {
    let vendor = &group.vendor;
    let place = destination(vendor, group.proxy.clone(), group.ca.clone());
    let (account, id) = (vendor.account(), vendor.group.clone());
    SetupVendorView {
        vendor: vendor.preset.name,
        title: vendor.preset.title,
        protocol: vendor.protocol.to_string(),
        url: vendor.url.clone(),
        proxy: group.proxy.clone(),
        ca: group.ca.clone(),
        has_credential: kept
            .iter()
            .any(|one| one.name == account && one.destination == place),
        models: group.models.iter().map(VendorModel::from).collect(),
        revision: group_of(document, &id).map(revision).unwrap_or_default(),
        group: id,
    }
}

/// The vendors of a draft that are not in force.
fn new_groups(draft: &Value, in_force: &Value) -> Vec<VendorGroup> {
    let mut groups = vendors::vendor_groups(draft);
    groups.retain(|group| group_of(in_force, &group.vendor.group).is_none());
    groups
}

/// Whether nothing is served yet, and the role may change that.
///
/// # Errors
/// Those of the database.
pub async fn is_due(state: &ConsoleState, role: Role) -> Result<bool, ApiProblem> {
    if !rights::CHANGE_SETUP.includes(role) {
        return Ok(false);
    }
    let mut transaction = state.store.read().await?;
    let groups = key_models::in_force(&mut transaction).await?;
    transaction.rollback().await;
    Ok(groups.is_empty())
}

/// The state of the first run: the document in force, and the draft with the vendors that are being added.
pub async fn get(state: &ConsoleState, caller: &Caller) -> Result<SetupView, ApiProblem> {
    caller.must(rights::SEE_SETUP)?;
    let mut transaction = state.store.read().await?;
    let current = documents::current(&mut transaction).await?;
    let draft = drafts::find(&mut transaction, DRAFT).await?;
    let kept = credentials::all(&mut transaction).await?;
    transaction.rollback().await;
    let in_force = current.as_ref().map_or(Value::Null, |it| parsed(&it.body));
    let text = draft.as_ref().map_or(Value::Null, |it| parsed(&it.body));
    let groups = new_groups(&text, &in_force);
    Ok(SetupView {
        version: current.map_or(0, |current| current.version),
        groups_in_force: count_groups(&in_force),
        draft: draft.as_ref().map(draft_head),
        vendors: groups
            .iter()
            .map(|group| view(group, &text, &kept))
            .collect(),
    })
}

/// Puts a vendor into the draft of the first run, which is begun where there is none, and keeps its credential. Other vendors stay as they are.
pub async fn put(
    state: &ConsoleState,
    caller: &Caller,
    group: &str,
    body: SetupVendorBody,
) -> Result<SetupVendorView, ApiProblem> {
    caller.must(rights::CHANGE_SETUP)?;
    let value = body.value.map(Zeroizing::new);
    let (url, protocol) = (body.url.as_deref(), body.protocol.as_deref());
    let vendor = vendor_of(&body.vendor, url, protocol, Some(group))?;
    let credential = match (value.as_deref(), body.no_credential) {
        (Some(value), _) => Some(given(value)?),
        (None, true) => Some(VendorCredential::none()),
        (None, false) => None,
    };
    let models = body.models.as_deref().map(chosen).transpose()?;
    let keys = match &credential {
        Some(_) => Some(keys(state).ok_or_else(no_sealing_key)?),
        None => None,
    };
    let (actor, now) = (caller.actor(), state.now());
    in_transaction!(state.store, transaction => {
        let run = FirstRun::open(transaction, &actor, now).await?;
        let known = run.own(group, body.revision.as_deref())?;
        let of_draft = known.as_ref().map(|known| (known.proxy.as_deref(), known.ca.as_deref()));
        // What it has in the draft stays, also if that is none.
        let (proxy, ca) = of_draft.map_or((None, None), |(proxy, ca)| (proxy.or(Some("")), ca));
        let place = way(&vendor, body.proxy.as_deref().or(proxy), body.ca.as_deref().or(ca))?;
        let models = models.clone().or_else(|| known.map(|known| known.models));
        let put = VendorGroup {
            vendor: vendor.clone(),
            models: models.unwrap_or_default(),
            proxy: place.proxy.clone(),
            ca: place.ca.clone(),
        };
        let text = vendors::with_vendor(&run.draft.body, &put, run.is_first());
        let document = run.write(transaction, text, &actor, now).await?;
        if let (Some(credential), Some(keys)) = (&credential, &keys) {
            let new = NewCredential {
                name: vendor.account(),
                value: Zeroizing::new(credential.reveal().as_bytes().to_vec()),
                destinations: Some([place].into()),
            };
            account_credentials::put(transaction, &new, keys, &actor, now).await?;
        }
        let kept = credentials::all(transaction).await?;
        Ok(view(&put, &document, &kept))
    })
}

/// Takes a vendor out of the draft, and forgets its credential unless one in force uses it.
pub async fn remove(state: &ConsoleState, caller: &Caller, group: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_SETUP)?;
    let (actor, now) = (caller.actor(), state.now());
    in_transaction!(state.store, transaction => {
        documents::lock(transaction).await?;
        let Some(run) = FirstRun::find(transaction).await? else {
            return Err(ApiProblem::not_found());
        };
        let groups = new_groups(&parsed(&run.draft.body), &run.in_force);
        let Some(own) = groups.into_iter().find(|own| own.vendor.group == group) else {
            return Err(ApiProblem::not_found());
        };
        let text = vendors::without_vendor(&run.draft.body, group, run.is_first());
        run.write(transaction, text, &actor, now).await?;
        let name = own.vendor.account();
        let kept = credentials::all(transaction).await?;
        if !kept.iter().any(|one| one.name == name && one.in_use) {
            account_credentials::remove(transaction, &name, &actor, now).await?;
        }
        Ok(())
    })
}

fn chosen(models: &[VendorModel]) -> Result<Vec<ChosenModel>, ApiProblem> {
    if models.len() > MOST_MODELS {
        let reason = t!("must be at most {count}", count = MOST_MODELS);
        return Err(ApiProblem::invalid("models", reason));
    }
    let mut chosen: Vec<ChosenModel> = Vec::new();
    for (place, model) in models.iter().enumerate() {
        let wrong = |member: &str, reason: &str| {
            Err(ApiProblem::invalid(
                &format!("models[{place}].{member}"),
                reason,
            ))
        };
        if chosen.iter().any(|other| other.id == model.id) {
            return wrong("id", text!("is another model's, too"));
        }
        if model.free && model.prices.is_some() {
            return wrong("free", text!("costs nothing, so it has no prices"));
        }
        if serde_json::to_string(model).is_ok_and(|text| text.contains("\\u0000")) {
            return wrong("id", text!("has a zero byte"));
        }
        chosen.extend(slice::from_ref(model).iter().map(ChosenModel::from));
    }
    Ok(chosen)
}

/// The draft of a first run, beside what is in force.
struct FirstRun {
    draft: LockedRow<Draft>,
    in_force: Value,
}

impl FirstRun {
    async fn find(transaction: &mut Transaction) -> Result<Option<Self>, StoreError> {
        let current = documents::current(transaction).await?;
        let in_force = current.map_or(Value::Null, |current| parsed(&current.body));
        let draft = drafts::find_locked(transaction, DRAFT).await?;
        Ok(draft.map(|draft| Self { draft, in_force }))
    }

    /// Returns the draft, begun where there is none. Nobody else changes or publishes meanwhile.
    async fn open(
        transaction: &mut Transaction,
        actor: &Actor,
        now: i64,
    ) -> Result<Self, ApiProblem> {
        documents::lock(transaction).await?;
        if let Some(found) = Self::find(transaction).await? {
            return Ok(found);
        }
        let current: Option<PublishedDocument> = documents::current(transaction).await?;
        let new = NewDraft {
            id: DRAFT.to_owned(),
            body: current.is_none().then(|| vendors::new(&[]).0),
            note: "First run".to_owned(),
        };
        life::begin(transaction, &new, actor, now).await?;
        let begun = Self::find(transaction).await?;
        begun.ok_or_else(|| ApiProblem::internal("a draft that was begun is not there"))
    }

    /// Whether no group is in force, so that the group which serves all vendors is begun.
    fn is_first(&self) -> bool {
        count_groups(&self.in_force) == 0
    }

    /// The vendor that a change is for, if it is there, as it was looked at.
    fn own(&self, group: &str, seen: Option<&str>) -> Result<Option<VendorGroup>, ApiProblem> {
        if group_of(&self.in_force, group).is_some() {
            let detail = t!(
                "a group {group} is in force already: give this one another name, or change that one in a draft",
                group = group
            );
            return Err(ApiProblem::conflict(detail));
        }
        let document = parsed(&self.draft.body);
        let Some(there) = group_of(&document, group) else {
            return match seen {
                None => Ok(None),
                Some(_) => Err(ApiProblem::precondition(t!(
                    "{person} has removed {group} since you opened it",
                    person = self.draft.author,
                    group = group
                ))),
            };
        };
        let own = VendorGroup::read(there).ok_or_else(|| {
            ApiProblem::conflict(t!(
                "the group {group} has more in the draft than this knows of: change it there, or give this one another name",
                group = group
            ))
        })?;
        if seen != Some(&revision(there)) {
            let person = &self.draft.author;
            return Err(ApiProblem::precondition(if seen.is_some() {
                t!(
                    "{person} has changed {group} meanwhile",
                    person = person,
                    group = group
                )
            } else {
                t!(
                    "{person} has added {group} meanwhile",
                    person = person,
                    group = group
                )
            }));
        }
        Ok(Some(own))
    }

    /// Puts the text into the draft, and returns it.
    async fn write(
        &self,
        transaction: &mut Transaction,
        text: Option<String>,
        actor: &Actor,
        now: i64,
    ) -> Result<Value, ApiProblem> {
        let no_document = || {
            let detail =
                text!("the text of the draft has no list of groups: mend it on the draft's page");
            ApiProblem::conflict(detail)
        };
        let body = text.ok_or_else(no_document)?;
        let document = parsed(&body);
        let was = self.draft.revision;
        let changed = Draft {
            revision: was.saturating_add(1),
            body,
            author: actor.id.clone(),
            changed_at: now,
            ..Draft::clone(&self.draft)
        };
        drafts::replace(transaction, &self.draft, &changed).await?;
        let mut entry = actor.entry(now, "draft.change", DRAFT);
        let ids = vendors::vendor_groups(&document);
        let ids: Vec<&String> = ids.iter().map(|group| &group.vendor.group).collect();
        entry.after = Some(json!({"vendors": ids}).to_string());
        audit::insert(transaction, &entry).await?;
        Ok(document)
    }
}
