//! Sets of prices within those of a model as fields of a form: for long requests, at times, and for classes of service.
//!
//! A set may have more than the form has fields for. That stays as it is.

use std::borrow::Cow;

use serde_json::{Map, Value};
use trilane::money::{Price, Prices};

use super::members::{put_number, put_text, taken};
use super::{items, text_at};
use crate::language::translated;
use crate::pages::FieldProblems;
use crate::pages::form::Fields;

/// The prices of a set that a form has: names and titles.
pub const PRICES_OF_SET: [(&str, &str); 4] = [
    ("input", text!("Input")),
    ("cache_read", text!("Cache read")),
    ("cache_write_5m", text!("Cache write, 5 minutes")),
    ("output", text!("Output")),
];
/// The number of a length, and the name of a class.
const INPUT_TOKENS: &str = "input_tokens";
const NAME: &str = "name";

/// The reason that sets of prices are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceSets {
    /// The length of the whole input.
    Above,
    /// Day and hour.
    Times,
    /// The class of service, the speed or the place.
    Tiers,
}

/// The fields of one set.
pub struct SetFields {
    /// The condition of the set: names and titles of its fields.
    pub conditions: Vec<(String, Cow<'static, str>)>,
    /// The prices are known.
    pub prices: Vec<(String, Cow<'static, str>)>,
}

/// The sets of one kind.
pub struct SetsFields {
    /// Their title.
    pub title: Cow<'static, str>,
    /// The purpose of the sets.
    pub hint: Cow<'static, str>,
    /// The sets, and fields for one more.
    pub sets: Vec<SetFields>,
    /// Whether there is any.
    pub has_some: bool,
}

/// A set as it stands in a document: its condition, and its prices.
type PriceSet = (Map<String, Value>, Map<String, Value>);

impl PriceSets {
    /// All.
    pub const ALL: [Self; 3] = [Self::Above, Self::Times, Self::Tiers];

    /// Their field in a document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Above => "above",
            Self::Times => "times",
            Self::Tiers => "tiers",
        }
    }

    fn title(self) -> Cow<'static, str> {
        match self {
            Self::Above => t!("Long requests"),
            Self::Times => t!("By date and time"),
            Self::Tiers => t!("Service classes, speeds and regions"),
        }
    }

    fn hint(self) -> Cow<'static, str> {
        match self {
            Self::Above => {
                t!(
                    "For requests whose whole input, cached tokens included, is longer than a number of tokens."
                )
            }
            Self::Times => {
                t!(
                    "From a day on, such as 2026-12-01; on days such as mon, tue; at hours in UTC such as 16:30-00:30; by the start of a request, or its end."
                )
            }
            Self::Tiers => {
                t!("For requests of a service class such as flex or priority, by its name.")
            }
        }
    }

    fn conditions(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Above => &[(INPUT_TOKENS, text!("Above so many input tokens"))],
            Self::Times => &[
                ("from", text!("From the day")),
                ("days", text!("On days")),
                ("hours", text!("At hours")),
                ("at", text!("By start or end")),
            ],
            Self::Tiers => &[(NAME, text!("Name"))],
        }
    }

    fn most(self) -> usize {
        match self {
            Self::Above => Prices::MAX_ABOVE,
            Self::Times => Prices::MAX_TIMES,
            Self::Tiers => Prices::MAX_TIERS,
        }
    }

    fn field(self, place: usize, name: &str) -> String {
        format!("{}.{place}.{name}", self.name())
    }

    /// The sets of a model's prices.
    fn read(self, prices: &Value) -> Vec<PriceSet> {
        let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
        if self == Self::Tiers {
            let tiers = prices.get(self.name()).and_then(Value::as_object);
            let named = |name: &String| Map::from_iter([(NAME.to_owned(), name.as_str().into())]);
            let tiers = tiers.into_iter().flatten();
            return tiers
                .map(|(name, set)| (named(name), members(set)))
                .collect();
        }
        let sets = items(prices, self.name()).iter().map(|set| {
            let mut condition = members(set);
            let prices = taken(&mut condition, "prices");
            (condition, prices)
        });
        sets.collect()
    }

    /// Puts sets into a model's prices; none take the field away.
    fn write(self, sets: Vec<PriceSet>, prices: &mut Map<String, Value>) {
        if sets.is_empty() {
            prices.remove(self.name());
            return;
        }
        let all = if self == Self::Tiers {
            let named = sets.into_iter().map(|(condition, set)| {
                let name = condition.get(NAME).and_then(Value::as_str);
                (name.unwrap_or_default().to_owned(), Value::Object(set))
            });
            Value::Object(named.collect())
        } else {
            let sets = sets.into_iter().map(|(mut condition, set)| {
                condition.insert("prices".to_owned(), Value::Object(set));
                Value::Object(condition)
            });
            Value::Array(sets.collect())
        };
        prices.insert(self.name().to_owned(), all);
    }

    /// The fields for the sets that a model has, and for one more.
    pub fn fields(self, prices: Option<&Value>) -> SetsFields {
        let has = prices.map_or(0, |prices| self.read(prices).len());
        let shown = has.saturating_add(1).min(self.most()).max(has);
        let of = |place: usize, names: &[(&str, &'static str)]| {
            let fields = names
                .iter()
                .map(|(name, title)| (self.field(place, name), translated(title)));
            fields.collect()
        };
        let sets = (0..shown).map(|place| SetFields {
            conditions: of(place, self.conditions()),
            prices: of(place, &PRICES_OF_SET),
        });
        SetsFields {
            title: self.title(),
            hint: self.hint(),
            sets: sets.collect(),
            has_some: has > 0,
        }
    }

    /// The sets of a model as fields.
    pub fn with(self, mut fields: Fields, prices: &Value) -> Fields {
        for (place, (condition, set)) in self.read(prices).into_iter().enumerate() {
            for (name, _) in self.conditions() {
                let text = condition.get(*name).map(condition_text);
                fields = fields.with(&self.field(place, name), text.unwrap_or_default());
            }
            let set = Value::Object(set);
            for (name, _) in PRICES_OF_SET {
                fields = fields.with(&self.field(place, name), text_at(&set, name));
            }
        }
        fields
    }

    /// Takes the sets of a form. One whose fields are all empty goes; one that the form has no fields for stays.
    pub fn put(
        self,
        prices: &mut Map<String, Value>,
        fields: &Fields,
        problems: &mut FieldProblems,
    ) {
        let before = self.read(&Value::Object(prices.clone()));
        let mut sets: Vec<PriceSet> = Vec::new();
        for place in 0..before.len().saturating_add(1).max(self.most()) {
            let old = before.get(place).cloned();
            let names = self.conditions().iter().chain(&PRICES_OF_SET);
            let mut names = names.map(|(name, _)| self.field(place, name));
            if !names.clone().any(|name| fields.has(&name)) {
                sets.extend(old);
                continue;
            }
            if names.all(|name| fields.get(&name).is_empty()) {
                continue;
            }
            let mut set = old.unwrap_or_default();
            self.put_condition(&mut set.0, place, fields, problems);
            let same = |other: &PriceSet| other.0.get(NAME) == set.0.get(NAME);
            if self == Self::Tiers && sets.iter().any(same) {
                problems.push(
                    &self.field(place, NAME),
                    text!("is the name of another one too"),
                );
            }
            for (name, _) in PRICES_OF_SET {
                put_price(&mut set.1, name, &self.field(place, name), fields, problems);
            }
            sets.push(set);
        }
        self.write(sets, prices);
    }

    fn put_condition(
        self,
        condition: &mut Map<String, Value>,
        place: usize,
        fields: &Fields,
        problems: &mut FieldProblems,
    ) {
        for (name, _) in self.conditions() {
            let field = self.field(place, name);
            let typed = fields.get(&field);
            match *name {
                INPUT_TOKENS | NAME if typed.is_empty() => {
                    condition.remove(*name);
                    problems.push(&field, "is missing");
                }
                INPUT_TOKENS => put_number(condition, name, &field, fields, problems),
                "days" | "hours" => {
                    let parts = typed.split([',', ' ']).filter(|part| !part.is_empty());
                    let parts: Vec<Value> = parts.map(Value::from).collect();
                    if parts.is_empty() {
                        condition.remove(*name);
                    } else {
                        condition.insert((*name).to_owned(), parts.into());
                    }
                }
                _ => put_text(condition, name, typed),
            }
        }
    }
}

/// A condition as it is typed.
fn condition_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            parts.join(", ")
        }
        other => other.to_string(),
    }
}

/// Takes a price of a form, or takes the member away where it is empty.
pub fn put_price(
    prices: &mut Map<String, Value>,
    name: &str,
    field: &str,
    fields: &Fields,
    problems: &mut FieldProblems,
) {
    let typed = fields.get(field);
    if let Some(Err(reason)) = (!typed.is_empty()).then(|| Price::parse(typed)) {
        problems.push(field, reason);
    }
    put_text(prices, name, typed);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The prices after a form, and what is wrong with it.
    fn put(before: &Value, form: &str) -> (Value, FieldProblems) {
        let mut prices = before.as_object().unwrap().clone();
        let mut problems = FieldProblems::default();
        let fields = Fields::parse(form.as_bytes());
        for sets in PriceSets::ALL {
            sets.put(&mut prices, &fields, &mut problems);
        }
        (Value::Object(prices), problems)
    }

    #[test]
    fn sets_are_changed_each_for_itself() {
        let set = |input: &str| json!({"input": input, "cache_write_1h": "9", "tiers": {"x": {"input": "1"}}});
        let length =
            |tokens: u64, input: &str| json!({"input_tokens": tokens, "prices": set(input)});
        let above = json!({"input": "1", "above": [length(1, "2"), length(2, "3")]});
        let night = json!({"from": "2026-12-01", "days": ["mon", "tue"], "hours": ["16:30-00:30"], "at": "end", "prices": set("2")});
        let times = json!({"input": "1", "times": [night]});
        let tiers = json!({"input": "1", "tiers": {"flex": set("0.5"), "priority": set("2")}, "per_call": {"web_search": "1"}});
        // (case, the prices before, the form, a place in them, what is there then)
        let cases = [
            ("a form without the fields", &above, "", "", above.clone()),
            (
                "a price of the second length",
                &above,
                "above.1.input_tokens=2&above.1.input=4&above.1.output=5",
                "/above",
                json!([length(1, "2"), {"input_tokens": 2, "prices":
                    {"input": "4", "output": "5", "cache_write_1h": "9", "tiers": {"x": {"input": "1"}}}}]),
            ),
            (
                "the first length is taken away",
                &above,
                "above.0.input_tokens=&above.0.input=&above.1.input_tokens=200,000&above.1.input=3",
                "/above",
                json!([length(200_000, "3")]),
            ),
            (
                "both are",
                &above,
                "above.0.input_tokens=&above.1.input_tokens=",
                "/above",
                Value::Null,
            ),
            (
                "a third",
                &above,
                "above.2.input_tokens=3&above.2.cache_read=%240.5",
                "/above/2",
                json!({"input_tokens": 3, "prices": {"cache_read": "$0.5"}}),
            ),
            (
                "another time",
                &times,
                "times.0.days=sat+sun&times.0.hours=01:00-02:00,+03:00-04:00&times.0.input=2",
                "/times/0",
                json!({"days": ["sat", "sun"], "hours": ["01:00-02:00", "03:00-04:00"], "prices": set("2")}),
            ),
            (
                "a class has another name, one goes, one comes",
                &tiers,
                "tiers.0.name=batch&tiers.0.input=0.5&tiers.1.name=&tiers.2.name=fast&tiers.2.input=6",
                "/tiers",
                json!({"batch": set("0.5"), "fast": {"input": "6"}}),
            ),
        ];
        for (case, before, form, place, want) in cases {
            let (after, problems) = put(before, form);
            assert!(problems.is_empty(), "{case}: {problems:?}");
            let found = after.pointer(place).cloned().unwrap_or_default();
            assert_eq!(found, want, "{case}");
            assert_eq!(after.get("per_call"), before.get("per_call"), "{case}");
            let fields = PriceSets::ALL
                .iter()
                .fold(Fields::default(), |fields, sets| sets.with(fields, &after));
            let mut again = after.as_object().unwrap().clone();
            let mut problems = FieldProblems::default();
            for sets in PriceSets::ALL {
                sets.put(&mut again, &fields, &mut problems);
            }
            assert!(problems.is_empty(), "{case}: once more");
            assert_eq!(Value::Object(again), after, "{case}: once more");
        }
    }

    #[test]
    fn what_is_wrong_stands_at_its_field() {
        let two = json!({"tiers": {"flex": {"input": "1"}, "fast": {"input": "2"}}});
        for (form, field, problem) in [
            ("above.0.input=4", "above.0.input_tokens", "is missing"),
            (
                "above.0.input_tokens=long&above.0.input=4",
                "above.0.input_tokens",
                "must be a whole number",
            ),
            (
                "above.0.input_tokens=1&above.0.input=1,000.50",
                "above.0.input",
                "has a comma: write it without separators and with a point before decimals, such as \"1000.50\"",
            ),
            ("tiers.2.input=4", "tiers.2.name", "is missing"),
            (
                "tiers.2.name=flex&tiers.2.input=4",
                "tiers.2.name",
                "is the name of another one too",
            ),
        ] {
            let (_, problems) = put(&two, form);
            assert_eq!(problems.at(field), problem, "{form}");
        }
    }

    #[test]
    fn a_form_has_fields_for_one_more_set_up_to_the_most() {
        let lengths = |count: u64| {
            let sets =
                (1..=count).map(|tokens| json!({"input_tokens": tokens, "prices": {"input": "1"}}));
            json!({"above": sets.collect::<Vec<_>>()})
        };
        for (has, shown) in [(0, 1), (2, 3), (7, 8), (8, 8), (9, 9)] {
            let fields = PriceSets::Above.fields(Some(&lengths(has)));
            assert_eq!(
                (fields.sets.len(), fields.has_some),
                (shown, has > 0),
                "{has}"
            );
        }
        assert_eq!(PriceSets::Times.fields(None).sets.len(), 1);
    }
}
