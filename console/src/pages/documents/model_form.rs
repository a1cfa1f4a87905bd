//! The form of a model of a source group in a draft.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{Path, RawQuery};

use serde_json::{Map, Value};

use super::item_form::{IN_ALL, ItemForm, ItemKind};
use super::members::{self, PRICES};
use super::price_sets::{PRICES_OF_SET, PriceSets, SetsFields, put_price};
use super::{items, text_at};
use crate::language::translated;
use crate::pages::form::Fields;
use crate::pages::{FieldProblems, PageResult, PageShell, SignedForm, Visit, form_page};
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

/// The prices that nearly every model has.
const USUAL: [&str; 3] = ["prices.input", "prices.cache_read", "prices.output"];

/// A field of a price: its name, its title and a hint.
type PriceField = (&'static str, Cow<'static, str>, Cow<'static, str>);

#[derive(Template)]
#[template(path = "draft_model.html")]
struct ModelFormPage {
    shell: PageShell,
    form: ItemForm,
    names: Vec<&'static str>,
    kinds: Vec<(&'static str, Cow<'static, str>)>,
    pricings: Vec<(&'static str, Cow<'static, str>)>,
    /// Those that nearly every model has, and the other ones.
    prices: (Vec<PriceField>, Vec<PriceField>),
    has_other_prices: bool,
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
fn without_field(prices: Option<&Value>) -> Vec<String> {
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
    let pricing = match fields.get("pricing") {
        // Who types a price means it, whatever the choice above it was left at.
        "catalogue" if is_price_typed(model, fields) => "own",
        pricing => pricing,
    };
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

/// Whether a price was typed that the model does not have.
fn is_price_typed(model: &Map<String, Value>, fields: &Fields) -> bool {
    let prices = model.get("prices").cloned().unwrap_or_default();
    let mut all = PRICES.iter().zip(PRICE_FIELDS);
    all.any(|((name, _), field)| {
        fields.is_set(field) && fields.get(field) != text_at(&prices, name)
    })
}

/// Explains an empty price, where that is not the same for all.
fn hint(price: &str) -> Cow<'static, str> {
    match price {
        "cache_read" => {
            t!("Empty: cache reads are charged as input, and the ledger notes it.")
        }
        "cache_write_5m" => {
            t!("Empty: cache writes are charged as input, and the ledger notes it.")
        }
        _ => Cow::default(),
    }
}

const MODEL: ItemKind = ItemKind {
    list: "models",
    one: "model",
    add: text!("Add model"),
    remove: text!("Remove model"),
    new_title: text!("Add a model"),
    is_taken: text!("is another model's of this group"),
    new_fields: |_, _, _| {
        let fields = Fields::default().with("pricing", "catalogue");
        fields.with("entitled", "yes").with(IN_ALL, "yes")
    },
    fields_of,
    put,
    page,
};

fn page(
    shell: PageShell,
    form: ItemForm,
    group: Option<&Value>,
    model: Option<&Value>,
) -> PageResult {
    let prices = model.and_then(|model| model.get("prices"));
    let failed = form.failed;
    let all = PRICES.iter().zip(PRICE_FIELDS);
    let (usual, others): (Vec<PriceField>, Vec<PriceField>) = all
        .map(|((name, title), field)| (field, translated(title), hint(name)))
        .partition(|(field, ..)| USUAL.contains(field));
    let has_other_prices = others.iter().any(|(name, ..)| form.fields.is_set(name));
    form_page(
        &ModelFormPage {
            shell,
            form,
            names: [FIELDS.as_slice(), &PRICE_FIELDS].concat(),
            kinds: vec![("", t!("text")), ("image", t!("image"))],
            pricings: vec![
                ("own", t!("Entered below")),
                ("catalogue", t!("From the catalogue")),
                ("free", t!("Free")),
                ("none", t!("None: charges stay unknown")),
            ],
            has_other_prices,
            prices: (usual, others),
            sets: PriceSets::ALL.map(|sets| sets.fields(prices)).into(),
            others: without_field(prices),
            is_a: group.is_some_and(|group| text_at(group, "protocol") == "A"),
        },
        failed,
    )
}

/// The form of a model, or for a new one.
pub async fn model(
    Visit { state, signed_in }: Visit,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
) -> PageResult {
    MODEL
        .form(&state, &signed_in, &draft, query.as_deref())
        .await
}

/// Changes a model, adds one, or removes one.
pub async fn save_model(
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
    sent: SignedForm,
) -> PageResult {
    MODEL.save(sent, &draft, query.as_deref()).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
                "catalogue, with the prices of before in their fields",
                "id=m&entitled=yes&pricing=catalogue&prices.input=1",
                json!({"id": "m", "prices": "catalogue"}),
            ),
            (
                "catalogue, and a price that was typed",
                "id=m&entitled=yes&pricing=catalogue&prices.input=5",
                json!({"id": "m", "prices": {"input": "5", "tiers": {"flex": {"input": "2"}}}}),
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
        assert_eq!(without_field(Some(&prices)), want);
        assert!(without_field(None).is_empty());
        assert!(without_field(Some(&json!("catalogue"))).is_empty());
        for ((name, _), field) in PRICES.iter().zip(PRICE_FIELDS) {
            assert_eq!(field, format!("prices.{name}"));
        }
    }
}
