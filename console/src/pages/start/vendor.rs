//! A vendor of the first run: where it is, and its credential, which is tested before it is kept.

use std::borrow::Cow;

use askama::Template;

use axum::response::{IntoResponse as _, Redirect};
use zeroize::Zeroizing;

use super::add;
use crate::cases::account_test::VendorTestView;
use crate::cases::rights;
use crate::cases::setup::{self, SetupVendorBody};
use crate::cases::vendor_models::{self, OfferedModel, VendorAskBody, VendorModel};
use crate::cases::{ApiProblem, ConsoleState};
use crate::language::translated;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{FieldProblems, PageResult, PageShell, SignedForm, SignedIn, Visit, form_page};
use crate::vendors::{COMPATIBLE, VendorPreset, styles};

/// The fields that have problems shown at them.
const FIELDS: [&str; 7] = ["url", "protocol", "group", "value", "models", "proxy", "ca"];

#[derive(Template)]
#[template(path = "start_vendor.html")]
struct VendorFormPage {
    shell: PageShell,
    is_own: bool,
    is_new: bool,
    protocols: Vec<(&'static str, Cow<'static, str>)>,
    names: Vec<&'static str>,
    fields: Fields,
    problems: FieldProblems,
    /// The failure of the vendor's list, if there is no list.
    told: Option<VendorTestView>,
    /// Whether its models may be named, since it lists none.
    may_name: bool,
    /// Whether one may choose that it is in one's own network.
    may_choose: bool,
    has_way: bool,
}

fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    fields: Fields,
    problems: FieldProblems,
    told: Option<VendorTestView>,
    may_name: bool,
) -> PageResult {
    let preset = VendorPreset::named(fields.get("vendor")).ok_or_else(ApiProblem::not_found)?;
    let failed = !problems.is_empty() || told.is_some();
    let is_own = preset.name == COMPATIBLE;
    form_page(
        &VendorFormPage {
            shell: signed_in.shell(add(preset)),
            is_own,
            is_new: fields.get("revision").is_empty(),
            protocols: styles()
                .into_iter()
                .map(|(name, title)| (name, translated(title)))
                .collect(),
            may_choose: state.vendors.may_choose()
                && (is_own || test_of(told.as_ref()) == "address_refused" || fields.is_set("own")),
            has_way: ["proxy", "ca"]
                .iter()
                .any(|name| fields.is_set(name) || !problems.at(name).is_empty()),
            names: FIELDS.to_vec(),
            fields,
            problems,
            told,
            may_name,
        },
        failed,
    )
}

/// The form of a vendor: a new one of this kind, or one that is in the draft.
pub async fn vendor(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    signed_in.caller.must(rights::CHANGE_SETUP)?;
    let fields = match asked.given("group") {
        Some(group) => {
            let setup = setup::get(&state, &signed_in.caller).await?;
            let mut vendors = setup.vendors.into_iter();
            let known = vendors.find(|vendor| vendor.group == group);
            let known = known.ok_or_else(ApiProblem::not_found)?;
            Fields::default()
                .with("vendor", known.vendor)
                .with("url", known.url)
                .with("protocol", known.protocol)
                .with("group", known.group)
                .with("proxy", known.proxy.unwrap_or_default())
                .with("ca", known.ca.unwrap_or_default())
                .with("own", "yes")
                .with("revision", known.revision)
        }
        None => {
            let preset = VendorPreset::named(asked.get("vendor"));
            let preset = preset.ok_or_else(ApiProblem::not_found)?;
            let is_own = preset.name == COMPATIBLE;
            Fields::default()
                .with("vendor", preset.name)
                .with("url", preset.url)
                .with("protocol", preset.protocol.to_string())
                .with("group", if is_own { "local" } else { preset.name })
        }
    };
    let problems = FieldProblems::default();
    show(&state, &signed_in, fields, problems, None, false)
}

/// The outcome of a test; empty where there was none.
fn test_of(told: Option<&VendorTestView>) -> &'static str {
    told.map_or("", |told| told.outcome)
}

/// Tests a vendor, and puts it into the draft if it works.
pub async fn save_vendor(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_SETUP)?;
    let value = fields.given("value").map(Zeroizing::new);
    let given = || value.as_ref().map(|value| value.to_string());
    // What was typed there is not shown again.
    let shown = [
        "vendor", "url", "protocol", "group", "revision", "none", "models", "proxy", "ca", "own",
    ];
    let shown = shown.iter().fold(Fields::default(), |all, name| {
        all.with(name, fields.exact(name))
    });
    let no_credential = fields.is_set("none");
    let is_new = fields.get("revision").is_empty();
    // A new vendor has the proxy of this console's environment unless another one is typed.
    let way = |name: &str| match fields.given(name) {
        None if is_new => None,
        typed => Some(typed.unwrap_or_default()),
    };
    let (proxy, ca) = (way("proxy"), way("ca"));
    let mut problems = FieldProblems::default();
    if value.is_none() && !no_credential && is_new {
        problems.push("value", text!("is missing"));
        return show(&state, &signed_in, shown, problems, None, false);
    }
    let ask = VendorAskBody {
        vendor: fields.get("vendor").to_owned(),
        url: fields.given("url"),
        protocol: fields.given("protocol"),
        group: fields.given("group"),
        value: given(),
        no_credential,
        proxy: proxy.clone(),
        ca: ca.clone(),
        own_network: fields.is_set("own"),
    };
    let listed = match vendor_models::list(&state, &signed_in.caller, ask).await {
        Ok(listed) => listed,
        Err(problem) => {
            return show(
                &state,
                &signed_in,
                shown,
                FieldProblems::of(problem)?,
                None,
                false,
            );
        }
    };
    let named: Vec<&str> = fields.get("models").split_whitespace().collect();
    let may_name = listed.lists_nothing;
    if !listed.test.works && (!may_name || named.is_empty()) {
        return show(
            &state,
            &signed_in,
            shown,
            problems,
            Some(listed.test),
            may_name,
        );
    }
    let models: Vec<VendorModel> = if listed.test.works {
        let usual = listed.models.into_iter().filter(|model| model.usual);
        usual.map(|OfferedModel { model, .. }| model).collect()
    } else {
        let vendor = vendor_models::vendor_of(
            fields.get("vendor"),
            fields.given("url").as_deref(),
            fields.given("protocol").as_deref(),
            fields.given("group").as_deref(),
        )?;
        match vendor_models::named(&state, &vendor, &named).await? {
            Ok(models) => models,
            Err(name) => {
                problems.push(
                    "models",
                    &t!("{name} is no name that a model can have", name = name),
                );
                return show(
                    &state,
                    &signed_in,
                    shown,
                    problems,
                    Some(listed.test),
                    may_name,
                );
            }
        }
    };
    let group = fields.get("group").to_owned();
    let body = SetupVendorBody {
        vendor: fields.get("vendor").to_owned(),
        url: fields.given("url"),
        protocol: fields.given("protocol"),
        models: is_new.then_some(models),
        value: given(),
        no_credential,
        proxy,
        ca,
        revision: fields.given("revision"),
    };
    let put = setup::put(&state, &signed_in.caller, &group, body);
    match put.await {
        Ok(_) => {
            let to = path_with("/start/models", &[("group", &group)]);
            Ok(Redirect::to(&to).into_response())
        }
        Err(problem) => {
            let problems = match problem.status() {
                412 => {
                    let mut problems = FieldProblems::default();
                    problems.general = Some(t!(
                        "{problem}. Go back to see it, or give this one another name.",
                        problem = translated(problem.detail())
                    ));
                    problems
                }
                _ => FieldProblems::of(problem)?,
            };
            show(&state, &signed_in, shown, problems, None, false)
        }
    }
}
