//! The first run: vendors with their models into a draft, the draft into force, a gateway, a key.

mod models;
mod progress;
mod vendor;

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect};
use http::HeaderMap;

pub use models::{models, save_models};
pub use progress::live;
pub use vendor::{save_vendor, vendor};

use super::confirm::Confirm;
use super::documents::seen;
use super::form::Fields;
use super::keys::group_choices;
use super::text::path_with;
use super::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, SignedForm, SignedIn, Visit, done,
    form_page, page, text,
};
use crate::cases::document_check::ModelChangeView;
use crate::cases::drafts;
use crate::cases::keys::{self, KeyListParams};
use crate::cases::names::{self, Name};
use crate::cases::paging::PageParams;
use crate::cases::problem::PlacedProblem;
use crate::cases::rights;
use crate::cases::setup::{self, DRAFT, SetupVendorView, SetupView};
use crate::cases::vendor_models::VendorModel;
use crate::cases::{ConsoleState, Role, envoys, key_models};
use crate::language::translated;
use crate::prices::one_line;
use crate::vendors::{COMPATIBLE, PRESETS, VendorPreset, api_style};

/// A vendor of the draft.
struct VendorLine {
    vendor: SetupVendorView,
    style: &'static str,
    models: Vec<(String, String)>,
    unpriced: usize,
    models_path: String,
    vendor_path: String,
    remove_path: String,
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    shell: PageShell,
    setup: SetupView,
    /// The person who has changed the draft last.
    author: Name,
    vendors: Vec<VendorLine>,
    presets: Vec<(String, String)>,
    /// The faults that a gateway would find in the draft.
    wrong: Vec<PlacedProblem>,
    /// The keys that gain and lose models by the draft.
    changes: Vec<ModelChangeView>,
    problems: FieldProblems,
    may_change: bool,
    can_seal: bool,
    groups: Vec<(String, String)>,
    fields: Fields,
    no_problems: FieldProblems,
    envoys: usize,
    has_keys: bool,
    may_create: bool,
    address: String,
    /// The steps, which are looked at while the page is open.
    progress: String,
}

impl StartPage {
    /// Writes the commands that enrol an Envoy.
    fn enrolment(&self) -> String {
        let address = &self.address;
        format!(
            "curl -H \"$auth\" -H 'content-type: application/json' -d '{{\"id\": \"edge-1\"}}' {address}/api/v1/envoys\n\
             trilane up --console-url {address} --enrolment-token-file token"
        )
    }

    /// The number of a vendor's models.
    fn models(&self, of: &VendorLine) -> String {
        match of.models.len() {
            1 => t!("1 model").into_owned(),
            count => {
                let count = text::count(u64::try_from(count).unwrap_or(u64::MAX));
                t!("{count} models", count = count)
            }
        }
    }
}

/// The button that adds a vendor.
fn add(preset: &VendorPreset) -> String {
    if preset.name == COMPATIBLE {
        t!("Add an address of your own").into_owned()
    } else {
        t!("Add {vendor}", vendor = preset.title)
    }
}

fn price(model: &VendorModel) -> String {
    match &model.prices {
        Some(prices) => one_line(prices),
        None if model.free => t!("free").into_owned(),
        None => t!("no known price: what it costs is not counted").into_owned(),
    }
}

fn line(vendor: SetupVendorView) -> VendorLine {
    let models = vendor.models.iter();
    let unpriced = |model: &&VendorModel| model.prices.is_none() && !model.free;
    VendorLine {
        style: api_style(&vendor.protocol),
        unpriced: models.clone().filter(unpriced).count(),
        models: models.map(|one| (one.id.clone(), price(one))).collect(),
        models_path: path_with("/start/models", &[("group", &vendor.group)]),
        vendor_path: path_with("/start/vendor", &[("group", &vendor.group)]),
        // Ids of vendors' groups are letters, digits and - _ . only.
        remove_path: format!("/start/vendors/{}/remove", vendor.group),
        vendor,
    }
}

/// Returns the start page of a role: `/start` as long as nothing is served and the role may change that, otherwise `/`.
pub(super) async fn home(state: &ConsoleState, role: Role) -> Result<&'static str, PageProblem> {
    let is_due = setup::is_due(state, role).await?;
    Ok(if is_due { "/start" } else { "/" })
}

/// Shows the remaining steps of the setup.
pub async fn start(Visit { state, signed_in }: Visit, headers: HeaderMap) -> PageResult {
    show(&state, &signed_in, &headers, FieldProblems::default()).await
}

async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    headers: &HeaderMap,
    problems: FieldProblems,
) -> PageResult {
    let one = PageParams::first(1);
    let asked = KeyListParams::default();
    let keys = keys::list(state, &signed_in.caller, asked, one).await?;
    let envoys = envoys::list(state, &signed_in.caller, PageParams::default()).await?;
    let mut setup = setup::get(state, &signed_in.caller).await?;
    let (wrong, changes) = match &setup.draft {
        Some(_) => {
            let checked = drafts::check(state, &signed_in.caller, DRAFT).await?;
            (checked.problems, checked.model_changes)
        }
        None => Default::default(),
    };
    let author = setup.draft.as_ref().map_or("", |draft| &draft.author);
    let author = names::person(state, &signed_in.caller, author).await?;
    let vendors = core::mem::take(&mut setup.vendors);
    let host = headers.get(http::header::HOST);
    let host = host
        .and_then(|host| host.to_str().ok())
        .unwrap_or("CONSOLE");
    let scheme = if state.https { "https" } else { "http" };
    let progress = progress::part(state, &signed_in.caller).await?;
    let groups = key_models::groups(state, &signed_in.caller).await?;
    let mixed = groups.iter().find(|(_, serves)| serves == "Mixed");
    let first = mixed.or_else(|| groups.first());
    let first = first.map(|(id, _)| id.clone()).unwrap_or_default();
    let groups = group_choices(state, signed_in).await?;
    let failed = !problems.is_empty();
    form_page(
        &StartPage {
            shell: signed_in.shell(t!("Get started")),
            author,
            setup,
            vendors: vendors.into_iter().map(line).collect(),
            presets: PRESETS
                .iter()
                .map(|preset| {
                    let path = path_with("/start/vendor", &[("vendor", preset.name)]);
                    (add(preset), path)
                })
                .collect(),
            wrong,
            changes,
            problems,
            may_change: signed_in.caller.may(rights::CHANGE_SETUP),
            can_seal: state.sealing_keys.is_some(),
            progress,
            groups,
            fields: Fields::once()?
                .with("group", first)
                .with("label", t!("First key")),
            no_problems: FieldProblems::default(),
            envoys: envoys.items.len(),
            has_keys: !keys.items.is_empty(),
            may_create: signed_in.caller.may(rights::CHANGE_KEYS),
            address: format!("{scheme}://{host}"),
        },
        failed,
    )
}

/// Puts the draft in force.
pub async fn publish(headers: HeaderMap, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let problem = match drafts::publish(&state, &signed_in.caller, DRAFT, seen(&fields)).await {
        Ok(_) => return Ok(done("/start", Notice::Published)),
        Err(problem) => problem,
    };
    let mut problems = FieldProblems::default();
    problems.general = Some(match problem.status() {
        412 => t!("Somebody has changed the draft since you opened this page. Look at what stands below now, then publish.").into_owned(),
        404 => t!("There is no draft any more: somebody has published or discarded it.").into_owned(),
        409 => t!("{problem}. The draft’s page has the way on.", problem = translated(problem.detail())),
        422 => t!("A gateway would refuse it: see what is wrong below.").into_owned(),
        _ => return Err(problem.into()),
    });
    show(&state, &signed_in, &headers, problems).await
}

/// Asks whether a vendor is to leave the draft.
pub async fn confirm_remove(signed_in: SignedIn, Path(group): Path<String>) -> PageResult {
    signed_in.caller.must(rights::CHANGE_SETUP)?;
    page(&Confirm {
        shell: signed_in.shell(t!("Remove the vendor {group}?", group = group)),
        crumb: (t!("Get started").into_owned(), "/start".to_owned()),
        text: t!("It leaves the draft with its models, and its credential is forgotten. What is in force stays as it is.").into_owned(),
        action: format!("/start/vendors/{group}/remove"),
        hidden: Vec::new(),
        button: text!("Remove vendor"),
        back: "/start".to_owned(),
    })
}

/// Takes a vendor out of the draft.
pub async fn remove(Path(group): Path<String>, sent: SignedForm) -> PageResult {
    match setup::remove(&sent.state, &sent.signed_in.caller, &group).await {
        Ok(_) => Ok(done("/start", Notice::Removed)),
        // Somebody else was quicker.
        Err(problem) if problem.status() == 404 => Ok(Redirect::to("/start").into_response()),
        Err(problem) => Err(problem.into()),
    }
}
