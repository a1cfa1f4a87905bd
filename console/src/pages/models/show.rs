//! The models that one's own keys may use, and how one of them is called.

use askama::Template;
use trilane::limits::SubjectKind;

use super::row::ModelRow;
use super::trial::TrialShown;
use crate::cases::ConsoleState;
use crate::cases::me::models;
use crate::cases::names::{Names, WantedNames};
use crate::cases::priced_models::PricedModel;
use crate::cases::rights;
use crate::pages::client_setup::{base_url, curl};
use crate::pages::form::Fields;
use crate::pages::keys::{SOME_KEY, gateway, path_of};
use crate::pages::{FieldProblems, PageResult, PageShell, SignedIn, Visit, form_page};
use crate::vendors::api_style;

/// The call of a model.
struct ModelCall {
    model: String,
    group: String,
    protocol: &'static str,
    style: &'static str,
    base_url: String,
    curl: String,
    /// The key on whose terms it is tried.
    key: String,
    /// The path of the setup of clients, on the page of a key.
    setup: String,
    /// Whether it can be tried here.
    may_try: bool,
}

#[derive(Template)]
#[template(path = "models.html")]
struct ModelsPage {
    shell: PageShell,
    models: Vec<ModelRow>,
    names: Names,
    /// The beginning of the time that the health is of.
    since: String,
    call: Option<ModelCall>,
    is_address_known: bool,
    fields: Fields,
    problems: FieldProblems,
    tried: Option<TrialShown>,
}

/// The model that was asked for, or the first.
fn chosen<'a>(items: &'a [PricedModel], asked: &Fields) -> Option<&'a PricedModel> {
    let is_asked = |of: &&PricedModel| {
        of.model.id == asked.get("model")
            && of.group == asked.get("group")
            && of.model.protocol == asked.get("style")
    };
    items.iter().find(is_asked).or_else(|| items.first())
}

/// One's own models, and how one of them is called.
pub async fn show(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let none = FieldProblems::default();
    shown(&state, &signed_in, &asked, none, None).await
}

/// The page, with what came of a trial.
pub(super) async fn shown(
    state: &ConsoleState,
    signed_in: &SignedIn,
    asked: &Fields,
    problems: FieldProblems,
    tried: Option<TrialShown>,
) -> PageResult {
    let found = models::list(state, &signed_in.caller).await?;
    let mut wanted = WantedNames::default();
    let groups = found.items.iter().map(|of| of.group.as_str());
    wanted.all(SubjectKind::Group, groups);
    let gateway = gateway(state);
    let may_try = state.gateway.is_some() && signed_in.caller.may(rights::CHANGE_OWN_KEYS);
    let call = chosen(&found.items, asked).map(|of| ModelCall {
        model: of.model.id.clone(),
        group: of.group.clone(),
        protocol: of.model.protocol,
        style: api_style(of.model.protocol),
        base_url: base_url(of.model.protocol, gateway),
        curl: curl(&of.model, of.is_image, gateway, SOME_KEY),
        setup: format!("{}#clients", path_of(&of.key)),
        key: of.key.clone(),
        may_try: may_try && !of.is_image,
    });
    let currency = found.currency.as_deref().unwrap_or_default();
    let rows = found.items.iter().map(|of| ModelRow::of(of, currency));
    let failed = !problems.is_empty();
    form_page(
        &ModelsPage {
            names: wanted.find(state, &signed_in.caller).await?,
            shell: signed_in.shell(t!("My models")),
            models: rows.collect(),
            since: found.health_since.clone(),
            call,
            is_address_known: state.gateway.is_some(),
            fields: asked.clone(),
            problems,
            tried,
        },
        failed,
    )
}
