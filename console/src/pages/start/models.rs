//! The models of a vendor of the first run, with their prices.

use std::borrow::Cow;

use askama::Template;
use axum::extract::RawQuery;

use serde_json::json;
use trilane::config::document::PricesDocument;
use trilane::money::Price;

use crate::cases::account_test::VendorTestView;
use crate::cases::rights;
use crate::cases::setup::{self, SetupVendorBody, SetupVendorView};
use crate::cases::vendor_models::{self, OfferedModel, VendorAskBody, VendorModel};
use crate::cases::{ApiProblem, ConsoleState};
use crate::documents::{Difference, differences};
use crate::json_line::json_line;
use crate::language::translated;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, SignedForm, SignedIn, Visit, done,
    form_page,
};
use crate::prices;
use crate::vendors::LeftOut;
use crate::vendors::api_style;

/// A model, as its row of the form has it.
#[derive(Default)]
struct ModelRow {
    id: String,
    upstream: String,
    name: String,
    created_at: String,
    taken: bool,
    free: bool,
    input: String,
    cached: String,
    output: String,
    /// All of its prices, as JSON.
    base: String,
    /// The prices other than those of the fields, for reading.
    others: String,
    /// The source of its prices.
    from: String,
    problem: String,
}

#[derive(Template)]
#[template(path = "start_models.html")]
struct ModelsPage {
    shell: PageShell,
    action: String,
    vendor_path: String,
    /// The part of a name that shown models have.
    part: String,
    left_out: Vec<LeftOut>,
    vendor: SetupVendorView,
    style: &'static str,
    told: Option<VendorTestView>,
    rows: Vec<ModelRow>,
    more: String,
    names: Vec<&'static str>,
    problems: FieldProblems,
    failed: bool,
    differences: Vec<Difference>,
}

impl ModelRow {
    fn of(model: &VendorModel, taken: bool, from: &str) -> Self {
        let prices = model.prices.as_ref();
        let text = |price: Option<&String>| price.cloned().unwrap_or_default();
        Self {
            id: model.id.clone(),
            upstream: model.upstream.clone().unwrap_or_default(),
            name: model.display_name.clone().unwrap_or_default(),
            created_at: model.created_at.clone().unwrap_or_default(),
            taken,
            free: model.free,
            input: text(prices.and_then(|prices| prices.input.as_ref())),
            cached: text(prices.and_then(|prices| prices.cache_read.as_ref())),
            output: text(prices.and_then(|prices| prices.output.as_ref())),
            base: prices.map(json_line).unwrap_or_default(),
            others: prices.map(others).unwrap_or_default(),
            from: from.to_owned(),
            problem: String::new(),
        }
    }

    /// The row of this number, as it was sent.
    fn sent(fields: &Fields, number: usize) -> Option<Self> {
        let text = |name: &str| fields.get(&format!("{name}.{number}")).to_owned();
        let is_set = |name: &str| fields.is_set(&format!("{name}.{number}"));
        let id = fields.given(&format!("id.{number}"))?;
        let base = text("base");
        let prices: Option<PricesDocument> = serde_json::from_str(&base).ok();
        Some(Self {
            id,
            upstream: text("upstream"),
            name: text("name"),
            created_at: text("created"),
            taken: is_set("take"),
            free: is_set("free"),
            input: text("input"),
            cached: text("cached"),
            output: text("output"),
            others: prices.as_ref().map(others).unwrap_or_default(),
            base,
            from: text("from"),
            problem: String::new(),
        })
    }

    /// The prices that it means. Who types one says all three: cached tokens without a price would be charged as input.
    fn prices(&self) -> Result<Option<PricesDocument>, String> {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        let base: Option<PricesDocument> = serde_json::from_str(&self.base).ok();
        let base = base.unwrap_or_default();
        let prices = PricesDocument {
            input: given(&self.input),
            cache_read: given(&self.cached),
            output: given(&self.output),
            ..base.clone()
        };
        let typed = [&prices.input, &prices.cache_read, &prices.output];
        if typed.iter().all(|price| price.is_none()) {
            return Ok(None);
        }
        if prices == base {
            return Ok(Some(prices));
        }
        if prices.input.is_none() || prices.output.is_none() {
            return Err(t!("give all prices, or none").into_owned());
        }
        if prices.cache_read.is_none() {
            let why = t!(
                "give the price of cached input too. Where the vendor has none, write that of input"
            );
            return Err(why.into_owned());
        }
        for price in typed.into_iter().flatten() {
            Price::parse(price).map_err(|why| {
                t!(
                    "the price {price} {why}",
                    price = price,
                    why = translated(why)
                )
            })?;
        }
        Ok(Some(prices))
    }

    /// The model that it means.
    fn model(&self) -> Result<VendorModel, String> {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        let prices = if self.free { None } else { self.prices()? };
        Ok(VendorModel {
            id: self.id.clone(),
            upstream: given(&self.upstream),
            display_name: given(&self.name),
            created_at: given(&self.created_at),
            prices,
            free: self.free,
        })
    }
}

/// Prices beside those that are typed, for reading.
fn others(prices: &PricesDocument) -> String {
    let lines = prices::lines(prices).into_iter();
    let others = lines.filter(|(of, _)| !["input", "cache_read", "output"].contains(&of.as_str()));
    let texts: Vec<String> = others.map(|(of, price)| format!("{of} {price}")).collect();
    texts.join(", ")
}

/// The models that are taken, and those that the vendor lists beside them: what is taken first, then what has a price.
fn rows(taken: &[VendorModel], offered: Vec<OfferedModel>, is_listed: bool) -> Vec<ModelRow> {
    let from = |offered: &OfferedModel| match offered.prices_from {
        "catalogue" => t!("from the catalogue"),
        "vendor" => t!("as the vendor lists it today"),
        _ => t!("no known price"),
    };
    let text = |model: &VendorModel| model.prices.as_ref().map(json_line);
    let mut rows: Vec<ModelRow> = Vec::new();
    for model in taken {
        let same = offered.iter().find(|other| other.model.id == model.id);
        let from = match same {
            _ if model.free => Cow::default(),
            Some(same) if text(&same.model) == text(model) => from(same),
            _ if model.prices.is_some() => t!("yours"),
            _ => t!("no known price"),
        };
        let mut row = ModelRow::of(model, true, &from);
        if same.is_none() && is_listed {
            let unlisted = t!("not in the vendor’s list");
            row.from = match &*from {
                "" => unlisted.into_owned(),
                from => format!("{from} · {unlisted}"),
            };
        }
        rows.push(row);
    }
    let is_taken = |one: &OfferedModel| taken.iter().any(|model| model.id == one.model.id);
    let (priced, unpriced): (Vec<OfferedModel>, Vec<OfferedModel>) = offered
        .into_iter()
        .filter(|one| !is_taken(one))
        .partition(|one| one.model.prices.is_some());
    let left = priced.iter().chain(&unpriced);
    rows.extend(left.map(|one| ModelRow::of(&one.model, false, &from(one))));
    rows
}

async fn find(
    state: &ConsoleState,
    signed_in: &SignedIn,
    group: &str,
) -> Result<SetupVendorView, PageProblem> {
    let setup = setup::get(state, &signed_in.caller).await?;
    let mut vendors = setup.vendors.into_iter();
    let found = vendors.find(|vendor| vendor.group == group);
    Ok(found.ok_or_else(ApiProblem::not_found)?)
}

fn open(signed_in: &SignedIn, query: Option<&str>) -> Result<String, PageProblem> {
    signed_in.caller.must(rights::CHANGE_SETUP)?;
    let asked = Fields::parse(query.unwrap_or_default().as_bytes());
    Ok(asked.get("group").to_owned())
}

struct StartModelsShown {
    vendor: SetupVendorView,
    part: String,
    left_out: Vec<LeftOut>,
    told: Option<VendorTestView>,
    rows: Vec<ModelRow>,
    more: String,
    problems: FieldProblems,
    differences: Vec<Difference>,
}

fn show(signed_in: &SignedIn, shown: StartModelsShown) -> PageResult {
    let failed = !shown.problems.is_empty();
    let group = shown.vendor.group.clone();
    form_page(
        &ModelsPage {
            shell: signed_in.shell(t!("Models of {source}", source = group)),
            action: path_with("/start/models", &[("group", &group)]),
            vendor_path: path_with("/start/vendor", &[("group", &group)]),
            style: api_style(&shown.vendor.protocol),
            part: shown.part,
            left_out: shown.left_out,
            vendor: shown.vendor,
            told: shown.told,
            rows: shown.rows,
            more: shown.more,
            names: vec!["more"],
            problems: shown.problems,
            failed,
            differences: shown.differences,
        },
        failed,
    )
}

/// The models that a vendor lists, those of the draft among them.
pub async fn models(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let group = open(&signed_in, query.as_deref())?;
    let vendor = find(&state, &signed_in, &group).await?;
    let ask = VendorAskBody {
        vendor: vendor.vendor.to_owned(),
        url: Some(vendor.url.clone()),
        protocol: Some(vendor.protocol.clone()),
        group: Some(group),
        proxy: Some(vendor.proxy.clone().unwrap_or_default()),
        ca: vendor.ca.clone(),
        own_network: true,
        ..VendorAskBody::default()
    };
    let listed = vendor_models::list(&state, &signed_in.caller, ask);
    let listed = listed.await?;
    let works = listed.test.works;
    let part = Fields::parse(query.as_deref().unwrap_or_default().as_bytes())
        .get("part")
        .to_owned();
    let mut rows = rows(&vendor.models, listed.models, works);
    let wanted = part.to_ascii_lowercase();
    rows.retain(|row| row.taken || row.id.to_ascii_lowercase().contains(&wanted));
    let shown = StartModelsShown {
        rows,
        part,
        left_out: listed.left_out,
        told: (!works).then_some(listed.test),
        vendor,
        more: String::new(),
        problems: FieldProblems::default(),
        differences: Vec::new(),
    };
    show(&signed_in, shown)
}

/// Puts the models that were ticked into the draft.
pub async fn save_models(RawQuery(query): RawQuery, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let group = open(&signed_in, query.as_deref())?;
    let mut vendor = find(&state, &signed_in, &group).await?;
    let mut problems = FieldProblems::default();
    let mut rows: Vec<ModelRow> = (0..)
        .map_while(|row| ModelRow::sent(&fields, row))
        .collect();
    let mut models = Vec::new();
    let mut any_wrong = false;
    for row in rows.iter_mut().filter(|row| row.taken) {
        match row.model() {
            Ok(model) => models.push(model),
            Err(why) => {
                any_wrong = true;
                row.problem = why;
            }
        }
    }
    let more = fields.get("more").to_owned();
    let named: Vec<&str> = more.split_whitespace().collect();
    let asked = vendor_models::vendor_of(
        vendor.vendor,
        Some(&vendor.url),
        Some(&vendor.protocol),
        Some(&group),
    )?;
    match vendor_models::named(&state, &asked, &named).await? {
        Ok(added) => models.extend(added),
        Err(name) => problems.push(
            "more",
            &t!("{name} is no name that a model can have", name = name),
        ),
    }
    if any_wrong {
        problems.general =
            Some(t!("A price cannot be read: see what is marked below.").into_owned());
    } else if models.is_empty() && problems.is_empty() {
        problems.general = Some(t!("Take one model at least, or remove the vendor.").into_owned());
    }
    let mut differ = Vec::new();
    if problems.is_empty() {
        let mine = json!({"models": models});
        let body = SetupVendorBody {
            vendor: vendor.vendor.to_owned(),
            url: Some(vendor.url.clone()),
            protocol: Some(vendor.protocol.clone()),
            models: Some(models),
            revision: fields.given("revision"),
            ..SetupVendorBody::default()
        };
        let put = setup::put(&state, &signed_in.caller, &group, body);
        match put.await {
            Ok(_) => return Ok(done("/start", Notice::Saved)),
            Err(problem) if problem.status() == 412 => {
                vendor = find(&state, &signed_in, &group).await?;
                problems.general = Some(t!(
                    "{problem}. What you chose stands below; look at what differs, then save it over theirs or go back.",
                    problem = translated(problem.detail())
                ));
                differ = differences(&json!({"models": vendor.models}), &mine);
            }
            Err(problem) => problems = FieldProblems::of(problem)?,
        }
    }
    let shown = StartModelsShown {
        vendor,
        part: String::new(),
        left_out: Vec::new(),
        told: None,
        rows,
        more,
        problems,
        differences: differ,
    };
    show(&signed_in, shown)
}
