//! A vendor of the first run: where it is, and its credential, which is tested before it is kept.

use askama::Template;

use axum::response::{IntoResponse as _, Redirect};
use zeroize::Zeroizing;

use super::title;
use crate::cases::ApiProblem;
use crate::cases::account_test::VendorTestView;
use crate::cases::rights;
use crate::cases::setup::{self, SetupVendorBody};
use crate::cases::vendor_models::{self, OfferedModel, VendorAskBody, VendorModel};
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{FieldProblems, PageResult, PageShell, SignedForm, SignedIn, Visit, form_page};
use crate::vendors::{COMPATIBLE, VendorPreset};

/// The fields that have problems shown at them.
const FIELDS: [&str; 5] = ["url", "protocol", "group", "value", "models"];
/// The protocols that a vendor may use, with their names for people.
const PROTOCOLS: [(&str, &str); 3] = [
    ("A", "OpenAI-style (Responses, Chat Completions)"),
    ("B", "Anthropic-style (Messages)"),
    ("C", "Gemini-style (generateContent)"),
];

#[derive(Template)]
#[template(path = "start_vendor.html")]
struct VendorFormPage {
    shell: PageShell,
    is_own: bool,
    is_new: bool,
    protocols: Vec<(&'static str, &'static str)>,
    names: Vec<&'static str>,
    fields: Fields,
    problems: FieldProblems,
    /// The failure of the vendor's list, if there is no list.
    told: Option<VendorTestView>,
    /// Whether its models may be named, since it lists none.
    may_name: bool,
}

fn show(
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
            shell: signed_in.shell(format!("Add {}", title(preset))),
            is_own,
            is_new: fields.get("revision").is_empty(),
            protocols: PROTOCOLS.to_vec(),
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
    show(&signed_in, fields, FieldProblems::default(), None, false)
}

/// Tests a vendor, and puts it into the draft if it works.
pub async fn save_vendor(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_SETUP)?;
    let value = fields.given("value").map(Zeroizing::new);
    let given = || value.as_ref().map(|value| value.to_string());
    // What was typed there is not shown again.
    let shown = [
        "vendor", "url", "protocol", "group", "revision", "none", "models",
    ];
    let shown = shown.iter().fold(Fields::default(), |all, name| {
        all.with(name, fields.exact(name))
    });
    let no_credential = fields.is_set("none");
    let is_new = fields.get("revision").is_empty();
    let mut problems = FieldProblems::default();
    if value.is_none() && !no_credential && is_new {
        problems.push("value", "is missing");
        return show(&signed_in, shown, problems, None, false);
    }
    let ask = VendorAskBody {
        vendor: fields.get("vendor").to_owned(),
        url: fields.given("url"),
        protocol: fields.given("protocol"),
        group: fields.given("group"),
        value: given(),
        no_credential,
    };
    let listed = match vendor_models::list(&state, &signed_in.caller, ask).await {
        Ok(listed) => listed,
        Err(problem) => return show(&signed_in, shown, FieldProblems::of(problem)?, None, false),
    };
    let named: Vec<&str> = fields.get("models").split_whitespace().collect();
    let may_name = listed.lists_nothing;
    if !listed.test.works && (!may_name || named.is_empty()) {
        return show(&signed_in, shown, problems, Some(listed.test), may_name);
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
                    &format!("{name} is no name that a model can have"),
                );
                return show(&signed_in, shown, problems, Some(listed.test), may_name);
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
                    let detail = problem.detail();
                    problems.general = Some(format!(
                        "{detail}. Go back to see it, or give this one another name."
                    ));
                    problems
                }
                _ => FieldProblems::of(problem)?,
            };
            show(&signed_in, shown, problems, None, false)
        }
    }
}
