//! One key.

use askama::Template;
use axum::extract::Path;

use trilane::limits::{SubjectKind, Window};

use super::{
    BudgetMeter, SOME_KEY, gateway, meter_of, name_of, path_of, spent_text, state_of, terms,
};
use crate::cases::key_models;
use crate::cases::keys::{self, KeyView};
use crate::cases::names::{Names, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::requests::{self, RequestParams};
use crate::cases::rights;
use crate::cases::spend::{self, SpendParams};
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::pages::client_setup::{self, ClientSetup};
use crate::pages::me::sums;
use crate::pages::requests::RequestRow;
use crate::pages::usage::{charges, count};
use crate::pages::{PageResult, PageShell, ShownAmount, Visit, page, text};
use crate::timestamp::moment;

/// The requests and models of the page.
const ROWS: u16 = 10;

/// The usage of a model.
pub struct ModelUse {
    /// The id of the model; empty: requests without one.
    pub model: String,
    /// The number of requests.
    pub requests: String,
    /// The number of those that failed.
    pub failed: String,
    /// Input tokens.
    pub input: String,
    /// Output tokens.
    pub output: String,
    /// The charges.
    pub charge: ShownAmount,
}

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    shell: PageShell,
    key: KeyView,
    path: String,
    /// The key's id as a query has it.
    id_in_query: String,
    owner_in_query: String,
    name: String,
    /// The names of what the key names.
    names: Names,
    state: (&'static str, &'static str),
    meter: Option<BudgetMeter>,
    limits: Vec<(&'static str, String)>,
    today: ShownAmount,
    month: ShownAmount,
    month_name: String,
    requests_of_month: String,
    models: Vec<ModelUse>,
    requests: Vec<RequestRow>,
    clients: Vec<ClientSetup>,
    may_change: bool,
    /// Whether it stands in the document, and whoever looks may disable it in a draft.
    may_draft: bool,
    /// Whether it is of a team that whoever looks manages.
    may_disable: bool,
    is_address_known: bool,
    sees_everybody: bool,
}

/// One key.
pub async fn one(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    let now = moment(state.now());
    let month = state.period(Window::Month);
    let key = keys::get(&state, &signed_in.caller, &id).await?;
    // Its id may have been another one's key before.
    let owner = key.owner.clone().unwrap_or_default();
    let of_today = SpendParams {
        kind: SubjectKind::Key,
        subject: id.clone(),
        period: state.period(Window::Day).to_string(),
    };
    let spent = spend::get(&state, &signed_in.caller, of_today).await?;
    // A manager sees them as those of the team.
    let managed = || {
        let team = key.team.clone();
        team.filter(|team| signed_in.caller.manages(Some(team)))
    };
    let by_model = UsageParams {
        by: "model".to_owned(),
        team: managed(),
        since: Some(month.first_day().to_string()),
        key: Some(id.clone()),
        owner: Some(owner.clone()),
        ..UsageParams::default()
    };
    let all = PageParams::default();
    let used = usage::list(&state, &signed_in.caller, by_model, all);
    let used = used.await?.items;
    let of_key = RequestParams {
        team: managed(),
        key: Some(id.clone()),
        owner: Some(owner.clone()),
        ..RequestParams::default()
    };
    let few = PageParams::first(ROWS);
    let latest = requests::list(&state, &signed_in.caller, of_key, few);
    let latest = latest.await?.items;
    let served = key_models::list(&state, &signed_in.caller, &id)
        .await?
        .items;
    page(&KeyPage {
        names: named(&key).find(&state, &signed_in.caller).await?,
        shell: signed_in.shell(name_of(&key)),
        path: path_of(&key.id),
        id_in_query: form_urlencoded::byte_serialize(key.id.as_bytes()).collect(),
        owner_in_query: form_urlencoded::byte_serialize(owner.as_bytes()).collect(),
        name: name_of(&key).to_owned(),
        state: state_of(&key, &now),
        meter: meter_of(&key),
        limits: terms::shown(&key),
        today: sums(&spent.spent),
        month: spent_text(&key),
        month_name: month.to_string(),
        requests_of_month: text::count(count(&used, "requests")),
        models: by_model_only(&used),
        requests: RequestRow::all(&state, &signed_in.caller, &latest).await?,
        clients: client_setup::clients(gateway(&state), SOME_KEY, &served),
        may_disable: managed().is_some() && !key.of_document,
        may_change: signed_in.caller.may(rights::CHANGE_KEYS) && !key.of_document,
        may_draft: key.of_document
            && !key.disabled
            && signed_in.caller.may(rights::CHANGE_DOCUMENTS),
        is_address_known: state.gateway.is_some(),
        sees_everybody: signed_in.caller.only_owner().is_none(),
        key,
    })
}

/// Lists the subjects that a key names.
fn named(key: &KeyView) -> WantedNames {
    let mut wanted = WantedNames::default();
    wanted.add(SubjectKind::Group, &key.group);
    wanted.all(SubjectKind::Team, key.team.as_deref());
    let people = [&key.owner, &key.disabled_with, &key.created_by];
    wanted.all(
        SubjectKind::Owner,
        people.into_iter().filter_map(|id| id.as_deref()),
    );
    wanted.all(SubjectKind::Key, key.counts_as.as_deref());
    wanted
}

/// Adds up the usage of each model. Requests without a charge have no currency, so a model may have several sums.
pub fn by_model_only(used: &[UsageView]) -> Vec<ModelUse> {
    let mut models: Vec<(&str, Vec<&UsageView>)> = Vec::new();
    for of in used {
        let model = of
            .values
            .get("model")
            .map(String::as_str)
            .unwrap_or_default();
        match models.iter_mut().find(|(name, _)| *name == model) {
            Some((_, sums)) => sums.push(of),
            None => models.push((model, vec![of])),
        }
    }
    let shown = models.into_iter().map(|(model, sums)| {
        let count = |name: &str| text::count(count(sums.iter().copied(), name));
        ModelUse {
            model: model.to_owned(),
            requests: count("requests"),
            failed: count("failed"),
            input: count("input"),
            output: count("output"),
            charge: charges(sums.iter().copied()),
        }
    });
    shown.collect()
}
