//! Testing upstream accounts: one request for the vendor's list of models, for which nothing is charged.

use serde::{Deserialize, Serialize};
use serde_json::json;
use trilane::config::account::Account;
use trilane::config::policy::GroupKind;
use trilane::config::{Document, compile};
use trilane::protocol::Protocol;
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::caller::Caller;
use super::credentials::keys;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::credentials::{CredentialDestination, ValueFault, check_value};
use crate::in_transaction;
use crate::store::account_tests::{self, LatestAccountTest};
use crate::store::{audit, credentials, documents};
use crate::vendors::{
    AskedVendor, ListFailure, ListedModel, Vendor, VendorCredential, VendorPreset,
    console_sentence, works,
};

/// The body of a request to test an account.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountTestBody {
    /// A credential, which is not kept; without it the one that is kept here.
    #[schema(min_length = 1, max_length = 8192)]
    pub(crate) value: Option<String>,
}

/// The outcome of a test at a vendor.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct VendorTestView {
    /// Whether the vendor took the credential and listed its models.
    pub(crate) works: bool,
    /// `works`, or what else: `credential_refused`, `not_resolved`, `address_refused`, `timeout`, `not_reached`, `tls`, `quota`,
    /// `status`, `no_list`, `no_models`; `no_credential` and `unreadable` where there was none to test.
    pub(crate) outcome: &'static str,
    /// The same in a sentence, which says what to do.
    pub(crate) text: String,
    /// The status of the vendor's response, where that is why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// The number of models that the vendor lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) models: Option<usize>,
}

impl VendorTestView {
    /// Interprets a vendor's answer.
    pub(super) fn of(
        vendor: &Vendor,
        has_credential: bool,
        may_choose: bool,
        answer: &Result<Vec<ListedModel>, ListFailure>,
    ) -> Self {
        match answer {
            Ok(models) => Self {
                works: true,
                outcome: "works",
                text: works(vendor, has_credential, models.len()),
                status: None,
                models: Some(models.len()),
            },
            Err(failure) => Self {
                status: failure.status(),
                ..Self::untested(
                    failure.name(),
                    console_sentence(vendor, failure, may_choose),
                )
            },
        }
    }

    fn untested(outcome: &'static str, text: String) -> Self {
        Self {
            works: false,
            outcome,
            text,
            status: None,
            models: None,
        }
    }
}

/// A credential that was given, as Envoy can send it.
///
/// # Errors
/// It cannot.
pub(super) fn given(value: &str) -> Result<VendorCredential, ApiProblem> {
    check_value(value.as_bytes()).map_err(|fault| {
        let reason = match fault {
            ValueFault::Empty => text!("is empty"),
            ValueFault::Invalid(reason) => reason,
        };
        ApiProblem::invalid("value", reason)
    })?;
    VendorCredential::new("given", value).map_err(|reason| ApiProblem::invalid("value", reason))
}

/// The credential that is kept here for this place; or why none can be tested.
///
/// # Errors
/// Those of the database.
pub(super) async fn kept(
    state: &ConsoleState,
    name: &str,
    destination: &CredentialDestination,
) -> Result<Result<VendorCredential, VendorTestView>, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let all = credentials::all(&mut transaction).await?;
    transaction.rollback().await;
    let found = all
        .into_iter()
        .find(|one| one.name == name && one.destination == *destination);
    let Some(found) = found else {
        let text = t!(
            "this console keeps no credential {name} for {url}. Give it one here; a file at the gateway can only be tested there",
            name = name,
            url = destination.url
        );
        return Ok(Err(VendorTestView::untested("no_credential", text)));
    };
    let opened = keys(state).and_then(|keys| keys.open(found.bound_to(), &found.value));
    let credential = opened.and_then(|value| {
        let text = core::str::from_utf8(&value).ok()?;
        VendorCredential::new("kept", text).ok()
    });
    Ok(credential.ok_or_else(|| {
        let text = t!(
            "the key that sealed the credential {name} is lost: give it again",
            name = name
        );
        VendorTestView::untested("unreadable", text)
    }))
}

/// Tests an account of the document in force with one request that costs nothing, for its vendor's list of models.
pub async fn test(
    state: &ConsoleState,
    caller: &Caller,
    group: &str,
    account: &str,
    body: AccountTestBody,
) -> Result<VendorTestView, ApiProblem> {
    caller.must(rights::CHANGE_CREDENTIALS)?;
    let value = body.value.map(Zeroizing::new);
    let given = value.map(|value| given(&value)).transpose()?;
    let (protocol, found) = in_force(state, group, account).await?;
    let kind = if given.is_some() { "given" } else { "kept" };
    let destination = CredentialDestination::of(&found);
    let credential = match given {
        Some(credential) => Ok(credential),
        None => kept(state, &found.credential, &destination).await?,
    };
    let view = match credential {
        Ok(credential) => {
            let asked = asked(protocol, &found, credential)?;
            let vendor = asked.vendor.clone();
            let may_choose = state.vendors.may_choose();
            VendorTestView::of(&vendor, true, may_choose, &state.vendors.list(asked).await)
        }
        Err(untested) => untested,
    };
    let object = format!("{group}/{account}");
    let mut entry = caller.actor().entry(state.now(), "account.test", &object);
    entry.after = Some(json!({"outcome": view.outcome, "credential": kind}).to_string());
    // What was typed says nothing of what is in use.
    let latest = (kind == "kept").then(|| LatestAccountTest {
        group: group.to_owned(),
        account: account.to_owned(),
        at: state.now(),
        outcome: view.outcome.to_owned(),
    });
    let noted: Result<(), ApiProblem> = in_transaction!(state.store, transaction => {
        if let Some(latest) = &latest {
            account_tests::note(transaction, latest).await?;
        }
        audit::insert(transaction, &entry).await?;
        Ok(())
    });
    noted?;
    Ok(view)
}

/// An account of the document in force, with its group's protocol.
async fn in_force(
    state: &ConsoleState,
    group: &str,
    account: &str,
) -> Result<(Protocol, Account), ApiProblem> {
    let mut transaction = state.store.read().await?;
    let current = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    let compiled = current.and_then(|current| {
        let document = Document::parse(current.served.as_bytes()).ok()?;
        compile(&document).ok()
    });
    let found = compiled.and_then(|compiled| {
        let group = compiled.policy.group(group)?;
        let GroupKind::Source(source) = &group.kind else {
            return None;
        };
        let accounts = source.accounts.as_ref()?;
        let mut accounts = accounts.accounts.iter();
        let account = accounts.find(|each| each.id == account)?;
        Some((source.protocol, account.clone()))
    });
    found.ok_or_else(ApiProblem::not_found)
}

/// The vendor of an account, with what it is asked with.
fn asked(
    protocol: Protocol,
    account: &Account,
    credential: VendorCredential,
) -> Result<AskedVendor, ApiProblem> {
    let preset = VendorPreset::at(&account.origin, protocol);
    let url = format!("{}{}", account.origin.site(), account.origin.base_path);
    let vendor = Vendor::new(preset, Some(&url), Some(protocol), None);
    Ok(AskedVendor {
        vendor: vendor
            .map_err(|why| ApiProblem::conflict(t!("the account: {reason}", reason = why)))?,
        credential,
        header: Some(account.header),
        proxy: account
            .proxy
            .as_ref()
            .map(trilane::config::origin::Origin::site),
        ca: account.ca.clone(),
        // It is in force: its gateway calls it already.
        is_private: true,
    })
}
