//! The form of a model of a source group in a draft.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::editing::{self, Edited, FormOutcome};
use super::group_form::{find, named};
use super::members::{self, PRICES};
use super::price_sets::{PRICES_OF_SET, PriceSets, SetsFields, put_price};
use super::{items, text_at};
use crate::cases::{ApiProblem, ConsoleState};
use crate::documents::Difference;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page,
};
use crate::prices::lines;

/// The fields that have problems shown at them, beside prices.
const FIELDS: [&str; 11] = [
    "id",
    "display_name",
    "kind",
    "upstream",
    "aliases",
    "pricing",
    "merge_dated",
    "entitled",
    "above",
    "times",
    "tiers",
];
/// The prices, as fields.
const PRICE_FIELDS: [&str; PRICES.len()] = [
    "prices.input",
    "prices.cache_read",
    "prices.cache_write_5m",
    "prices.cache_write_1h",
    "prices.output",
    "prices.reasoning",
    "prices.input_image",
    "prices.output_image",
    "prices.input_audio",
    "prices.output_audio",
    "prices.tool_use",
    "prices.image",
];

#[derive(Template)]
#[template(path = "draft_model.html")]
struct ModelFormPage {
    shell: PageShell,
    draft: String,
    group: String,
    group_path: String,
    action: String,
    revision: i64,
    is_new: bool,
    fields: Fields,
    problems: FieldProblems,
    names: Vec<&'static str>,
    failed: bool,
    differences: Vec<Difference>,
    kinds: Vec<(&'static str, &'static str)>,
    pricings: Vec<(&'static str, &'static str)>,
    prices: Vec<(&'static str, &'static str, &'static str)>,
    /// The sets of prices within them.
    sets: Vec<SetsFields>,
    /// Those that the form has no fields for.
    others: Vec<String>,
    is_a: bool,
}

fn fields_of(model: &Value) -> Fields {
    let mut fields = Fields::default();
    for name in ["id", "display_name", "kind", "upstream"] {
        fields = fields.with(name, text_at(model, name));
    }
    let aliases = items(model, "aliases").iter().filter_map(Value::as_str);
    fields = fields.with("aliases", aliases.collect::<Vec<_>>().join(", "));
    let flag = |name: &str, without: bool| {
        let flag = model.get(name).and_then(Value::as_bool);
        if flag.unwrap_or(without) { "yes" } else { "" }
    };
    fields = fields
        .with("merge_dated", flag("merge_dated", false))
        .with("entitled", flag("entitled", true));
    let prices = model.get("prices");
    let pricing = match prices {
        Some(Value::String(_)) => "catalogue",
        Some(_) => "own",
        None if flag("free", false) == "yes" => "free",
        None => "none",
    };
    fields = fields.with("pricing", pricing);
    for ((name, _), field) in PRICES.iter().zip(PRICE_FIELDS) {
        let amount = prices.map(|prices| text_at(prices, name));
        fields = fields.with(field, amount.unwrap_or_default());
    }
    let Some(prices) = prices else { return fields };
    let sets = PriceSets::ALL.into_iter();
    sets.fold(fields, |fields, sets| sets.with(fields, prices))
}

/// The prices of a model that the form has no fields for.
fn others(prices: Option<&Value>) -> Vec<String> {
    let prices = prices
        .cloned()
        .and_then(|prices| serde_json::from_value(prices).ok());
    let all = prices.as_ref().map(lines).unwrap_or_default().into_iter();
    // Beside a set's name stands its condition: `above.200000.input`.
    let has_field = |of: &str| match of.split_once('.') {
        None => PRICES.iter().any(|(name, _)| *name == of),
        Some((sets, rest)) => {
            let is_of_sets = PriceSets::ALL.iter().any(|known| known.name() == sets);
            let mut named = PRICES_OF_SET.iter();
            let ends =
                named.any(|(name, _)| rest.rsplit_once('.').is_some_and(|(_, of)| of == *name));
            is_of_sets && ends && !rest.contains(".above.") && !rest.contains(".tiers.")
        }
    };
    let others = all.filter(|(of, _)| !has_field(of));
    others.map(|(of, price)| format!("{of} {price}")).collect()
}

/// Takes what a form says of a model.
fn put(model: &mut Map<String, Value>, fields: &Fields, problems: &mut FieldProblems) {
    for name in ["id", "display_name", "kind", "upstream"] {
        members::put_text(model, name, fields.get(name));
    }
    let aliases = fields.get("aliases").split([',', '\n']).map(str::trim);
    let aliases: Vec<Value> = aliases
        .filter(|name| !name.is_empty())
        .map(Value::from)
        .collect();
    if aliases.is_empty() {
        model.remove("aliases");
    } else {
        model.insert("aliases".to_owned(), aliases.into());
    }
    members::put_switch(model, "merge_dated", fields.is_set("merge_dated"), false);
    members::put_switch(model, "entitled", fields.is_set("entitled"), true);
    let pricing = fields.get("pricing");
    members::put_switch(model, "free", pricing == "free", false);
    match pricing {
        "catalogue" => {
            model.insert("prices".to_owned(), "catalogue".into());
        }
        "own" => {
            let mut prices = members::taken(model, "prices");
            for ((name, _), field) in PRICES.iter().zip(PRICE_FIELDS) {
                put_price(&mut prices, name, field, fields, problems);
            }
            for sets in PriceSets::ALL {
                sets.put(&mut prices, fields, problems);
            }
            model.insert("prices".to_owned(), Value::Object(prices));
        }
        _ => {
            model.remove("prices");
        }
    }
}

/// Explains an empty price, where that is not the same for all.
fn hint(price: &str) -> &'static str {
    match price {
        "cache_read" => {
            "Empty: what is read from a cache is charged as input, and the ledger says so."
        }
        "cache_write_5m" => {
            "Empty: what is written to a cache is charged as input, and the ledger says so."
        }
        _ => "",
    }
}

struct ModelFormShown<'a> {
    group: &'a str,
    model: &'a str,
    fields: Fields,
    problems: FieldProblems,
    failed: bool,
    differences: Vec<Difference>,
}

fn show(
    signed_in: &SignedIn,
    edited: &Edited,
    shown: ModelFormShown<'_>,
) -> Result<Response, PageProblem> {
    let draft = format!("/drafts/{}", edited.draft.id);
    let group = find(&edited.document, shown.group).map(|(_, group)| group);
    let of = group.and_then(|group| {
        let mut models = items(group, "models").iter();
        models.find(|model| text_at(model, "id") == shown.model)
    });
    let prices = of.and_then(|model| model.get("prices"));
    let failed = shown.failed;
    form_page(
        &ModelFormPage {
            shell: signed_in.shell(if of.is_some() {
                shown.model
            } else {
                "Add a model"
            }),
            group: shown.group.to_owned(),
            group_path: path_with(&format!("{draft}/group"), &[("group", shown.group)]),
            action: path_with(
                &format!("{draft}/model"),
                &[("group", shown.group), ("model", shown.model)],
            ),
            revision: edited.draft.revision,
            is_new: of.is_none(),
            fields: shown.fields,
            problems: shown.problems,
            names: [FIELDS.as_slice(), &PRICE_FIELDS].concat(),
            failed,
            differences: shown.differences,
            kinds: vec![("", "text"), ("image", "image")],
            pricings: vec![
                ("own", "Those below"),
                ("catalogue", "From the catalogue"),
                ("free", "It is free"),
                ("none", "None: its charges are not known"),
            ],
            prices: PRICES
                .iter()
                .zip(PRICE_FIELDS)
                .map(|((name, title), field)| (field, *title, hint(name)))
                .collect(),
            sets: PriceSets::ALL.map(|sets| sets.fields(prices)).into(),
            others: others(prices),
            is_a: group.is_some_and(|group| text_at(group, "protocol") == "A"),
            draft,
        },
        failed,
    )
}

/// The form of a model, or for a new one.
pub async fn model(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let group = named(query.as_deref(), "group");
    let id = named(query.as_deref(), "model");
    let (at, of) = find(&edited.document, &group).ok_or_else(ApiProblem::not_found)?;
    let found = items(of, "models")
        .iter()
        .enumerate()
        .find(|(_, model)| text_at(model, "id") == id);
    let (fields, problems) = match found {
        Some((number, model)) => {
            let part = format!("groups[{at}].models[{number}]");
            (
                fields_of(model),
                editing::said_of(&state, &signed_in.caller, &draft, &part).await?,
            )
        }
        None if id.is_empty() => (
            Fields::default()
                .with("pricing", "catalogue")
                .with("entitled", "yes"),
            FieldProblems::default(),
        ),
        None => return Err(ApiProblem::not_found().into()),
    };
    let shown = ModelFormShown {
        group: &group,
        model: &id,
        fields,
        problems,
        failed: false,
        differences: Vec::new(),
    };
    show(&signed_in, &edited, shown)
}

/// Changes a model, adds one, or removes one.
pub async fn save_model(
    State(state): State<ConsoleState>,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let group = named(query.as_deref(), "group");
    let id = named(query.as_deref(), "model");
    find(&edited.document, &group).ok_or_else(ApiProblem::not_found)?;
    let new_id = fields.get("id").to_owned();
    let is_removal = fields.is_set("remove");
    let edit = |document: &mut Value, problems: &mut FieldProblems| {
        let Some(group) = members::item(document, "groups", &group) else {
            problems.general = Some("The group was removed meanwhile.".to_owned());
            return;
        };
        if is_removal {
            members::remove(group, "models", &id);
            return;
        }
        if new_id.is_empty() {
            problems.push("id", "is missing");
            return;
        }
        if new_id != id && members::item(group, "models", &new_id).is_some() {
            problems.push("id", "is another model's of this group");
            return;
        }
        if members::item(group, "models", &id).is_none() {
            members::add(group, "models", json!({"id": new_id}));
        }
        let is_known = members::item(group, "models", &id).is_some();
        let of = if is_known { &id } else { &new_id };
        let model = members::item(group, "models", of).and_then(Value::as_object_mut);
        if let Some(model) = model {
            put(model, &fields, problems);
        }
    };
    let group_path = path_with(&format!("/drafts/{draft}/group"), &[("group", &group)]);
    match editing::save(&state, &signed_in.caller, edited, &fields, edit).await? {
        FormOutcome::Saved if is_removal => Ok(done(&group_path, Notice::Removed)),
        FormOutcome::Saved => {
            let path = format!("/drafts/{draft}/model");
            let path = path_with(&path, &[("group", &group), ("model", &new_id)]);
            Ok(done(&path, Notice::Saved))
        }
        FormOutcome::Refused(problems, differences) => {
            let edited = editing::open(&state, &signed_in, &draft).await?;
            let shown = ModelFormShown {
                group: &group,
                model: &id,
                fields,
                problems,
                failed: true,
                differences,
            };
            show(&signed_in, &edited, shown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_saved_as_it_is_changes_nothing() {
        let sample = include_str!("../../../../envoy/gateway.json");
        let sample: Value = serde_json::from_str(sample).unwrap();
        let groups = items(&sample, "groups").iter();
        for model in groups
            .filter(|group| text_at(group, "protocol") != "Mixed")
            .flat_map(|group| items(group, "models"))
        {
            let mut after = model.clone();
            let mut problems = FieldProblems::default();
            put(
                after.as_object_mut().unwrap(),
                &fields_of(model),
                &mut problems,
            );
            assert!(problems.is_empty(), "{model}");
            assert_eq!(crate::documents::differences(model, &after), [], "{model}");
        }
    }

    #[test]
    fn prices() {
        let before =
            || json!({"id": "m", "prices": {"input": "1", "tiers": {"flex": {"input": "2"}}}});
        for (case, form, want) in [
            (
                "own",
                "id=m&entitled=yes&pricing=own&prices.input=1000.5",
                json!({"id": "m", "prices": {"input": "1000.5", "tiers": {"flex": {"input": "2"}}}}),
            ),
            (
                "catalogue",
                "id=m&entitled=yes&pricing=catalogue",
                json!({"id": "m", "prices": "catalogue"}),
            ),
            (
                "free",
                "id=m&entitled=yes&pricing=free",
                json!({"id": "m", "free": true}),
            ),
            (
                "none, and not entitled",
                "id=m&pricing=none",
                json!({"id": "m", "entitled": false}),
            ),
        ] {
            let mut model = before();
            put(
                model.as_object_mut().unwrap(),
                &Fields::parse(form.as_bytes()),
                &mut FieldProblems::default(),
            );
            assert_eq!(model, want, "{case}");
        }
    }

    #[test]
    fn amounts_are_taken_as_they_are_typed_or_refused() {
        for (typed, problem) in [
            ("$1.25", ""),
            (
                "1,000.50",
                "has a comma: write it without separators and with a point before decimals, such as \"1000.50\"",
            ),
            (
                "1,5",
                "has a comma: write it without separators and with a point before decimals, such as \"1000.50\"",
            ),
        ] {
            let form = format!("id=m&entitled=yes&pricing=own&prices.cache_read={typed}");
            let mut problems = FieldProblems::default();
            let mut model = Map::new();
            put(&mut model, &Fields::parse(form.as_bytes()), &mut problems);
            assert_eq!(problems.at("prices.cache_read"), problem, "{typed}");
            let names = [FIELDS.as_slice(), &PRICE_FIELDS].concat();
            assert!(problems.elsewhere(&names).is_empty(), "{typed}");
        }
    }

    #[test]
    fn prices_without_a_field_are_told() {
        let prices = json!({"input": "1", "per_call": {"web_search": "0.01"},
            "above": [{"input_tokens": 9, "prices": {"input": "2", "cache_write_1h": "3"}}],
            "tiers": {"flex": {"input": "1", "above": [{"input_tokens": 9, "prices": {"input": "2"}}]}}});
        let want = [
            "above.9.cache_write_1h 3",
            "per_call.web_search 0.01",
            "tiers.flex.above.9.input 2",
        ];
        assert_eq!(others(Some(&prices)), want);
        assert!(others(None).is_empty() && others(Some(&json!("catalogue"))).is_empty());
        for ((name, _), field) in PRICES.iter().zip(PRICE_FIELDS) {
            assert_eq!(field, format!("prices.{name}"));
        }
    }
}
