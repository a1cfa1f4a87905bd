//! Prices as they stand in a list.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use serde_json::value::RawValue;
use trilane::config::document::{
    AboveDocument, PerCallDocument, PriceTimeDocument, PricesDocument,
};
use trilane::config::some_of;
use trilane::money::Price;

/// The members of an object, each as its text.
pub type Members<'a> = BTreeMap<String, &'a RawValue>;

/// The most names in a note.
const NOTED: usize = 5;

/// The members of an object; `None` for anything else.
pub fn members<'a>(raw: &'a RawValue) -> Option<Members<'a>> {
    serde_json::from_str(raw.get()).ok()
}

/// A string.
pub fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// The unit of a list's prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Per {
    /// A token.
    Token,
    /// A million tokens.
    Million,
    /// A call, or an image.
    One,
}

impl Per {
    /// The price of a million tokens, or of one, exactly.
    ///
    /// # Errors
    /// It is no number, or none that a document can have as a price.
    pub(crate) fn price(self, number: &str) -> Result<String, &'static str> {
        let (digits, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        // `from_scientific` rounds digits that are too many.
        let exact = Decimal::from_str_exact(digits)
            .and_then(|exact| Decimal::from_scientific(&format!("{exact}e{power}")))
            .map_err(|_| "is no number")?;
        let moved = match self {
            Self::Token => exact.checked_mul(Decimal::from(1_000_000)),
            Self::Million | Self::One => Some(exact),
        };
        let text = moved.ok_or("is too large")?.normalize().to_string();
        // A price that depends on something else is stated as -1.
        Price::parse(&text).map(|_| text)
    }
}

/// Prices as they stand in an object of a list: numbers, or numbers in strings. It notes which of them were read.
pub struct Stated<'a> {
    members: &'a Members<'a>,
    per: Per,
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Stated<'a> {
    /// Those of these members.
    pub fn new(members: &'a Members<'a>, per: Per) -> Self {
        Self {
            members,
            per,
            read: RefCell::default(),
        }
    }

    /// The price of this name; `None` where there is none.
    pub fn price(&self, name: &str) -> Result<Option<String>, String> {
        self.price_per(name, self.per)
    }

    /// The same in another unit.
    pub fn price_per(&self, name: &str, per: Per) -> Result<Option<String>, String> {
        let Some(raw) = self.members.get(name).map(|raw| raw.get()) else {
            return Ok(None);
        };
        if raw == "null" {
            return Ok(None);
        }
        let number = raw.trim_matches('"');
        let told = |reason: &str| format!("its price {name}, {number}, {reason}");
        let price = per.price(number).map_err(told)?;
        self.read.borrow_mut().insert(name.to_owned());
        Ok(Some(price))
    }

    /// The same, where 0 says as often that there is none.
    pub fn of_cache(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.price(name)?.filter(|price| price != "0"))
    }

    /// Prices of these names, in the order of input, cached input, cache writes of five minutes and of an hour, output.
    pub fn prices<S: AsRef<str>>(&self, names: [S; 5]) -> Result<PricesDocument, String> {
        let [input, cache_read, write_5m, write_1h, output] = &names.each_ref().map(AsRef::as_ref);
        Ok(PricesDocument {
            input: self.price(input)?,
            cache_read: self.of_cache(cache_read)?,
            cache_write_5m: self.of_cache(write_5m)?,
            cache_write_1h: self.of_cache(write_1h)?,
            output: self.price(output)?,
            ..PricesDocument::default()
        })
    }

    /// Takes what `read` reads, if all of it can be; otherwise none of it counts as read.
    pub fn all_or_none<T>(&self, read: impl FnOnce(&Self) -> Result<T, String>) -> Option<T> {
        let before = self.read.borrow().clone();
        let found = read(self).ok();
        if found.is_none() {
            self.read.replace(before);
        }
        found
    }

    /// Notes that a member was read that is no price itself.
    pub fn note_read(&self, name: &str) {
        self.read.borrow_mut().insert(name.to_owned());
    }

    /// The members with prices that were not read, among those that `is_price` names. What is 0 or nothing says nothing.
    pub fn left(&self, is_price: impl Fn(&str) -> bool) -> Vec<String> {
        let read = self.read.borrow();
        let there = self.members.iter();
        let left = there.filter(|(name, raw)| {
            !read.contains(*name) && is_price(name) && !is_nothing(raw.get())
        });
        left.map(|(name, _)| name.clone()).collect()
    }
}

fn is_nothing(raw: &str) -> bool {
    let number = raw.trim_matches('"');
    matches!(raw, "null" | "[]" | "{}" | "false" | "\"\"")
        || Per::One.price(number).as_deref() == Ok("0")
}

/// Refuses what is no price of a model.
///
/// # Errors
/// Why it is none.
pub fn whole(prices: PricesDocument) -> Result<PricesDocument, String> {
    match (&prices.input, &prices.output) {
        (Some(input), Some(output)) if input == "0" && output == "0" => {
            Err("costs nothing there: say \"free\" in the document where that is so".to_owned())
        }
        (Some(_), Some(_)) => Ok(prices),
        _ if prices.image.is_some() => Ok(prices),
        _ => Err("has no price of input and output".to_owned()),
    }
}

/// A set of prices within others. A price that the list does not state there is as around it, but that of reasoning, which is
/// output.
fn variant(stated: PricesDocument, around: &PricesDocument) -> PricesDocument {
    let or = |stated: Option<String>, around: &Option<String>| stated.or_else(|| around.clone());
    PricesDocument {
        input: or(stated.input, &around.input),
        cache_read: or(stated.cache_read, &around.cache_read),
        cache_write_5m: or(stated.cache_write_5m, &around.cache_write_5m),
        cache_write_1h: or(stated.cache_write_1h, &around.cache_write_1h),
        output: or(stated.output, &around.output),
        input_image: around.input_image.clone(),
        input_audio: around.input_audio.clone(),
        output_audio: around.output_audio.clone(),
        output_image: around.output_image.clone(),
        ..PricesDocument::default()
    }
}

/// The prices above a length of the input.
pub fn above(input_tokens: u64, stated: PricesDocument, below: &PricesDocument) -> AboveDocument {
    AboveDocument {
        input_tokens: Some(input_tokens),
        prices: Some(variant(stated, below)),
    }
}

/// The prices at times.
pub fn at_times(
    days: Option<Vec<String>>,
    hours: Option<Vec<String>>,
    stated: PricesDocument,
    otherwise: &PricesDocument,
) -> PriceTimeDocument {
    PriceTimeDocument {
        days,
        hours,
        prices: Some(variant(stated, otherwise)),
        ..PriceTimeDocument::default()
    }
}

/// The price of a search; 0 says as often that there is none.
pub fn search(price: String) -> Option<PerCallDocument> {
    (price != "0").then(|| PerCallDocument {
        web_search: Some(price),
        ..PerCallDocument::default()
    })
}

pub fn some<T>(all: Vec<T>) -> Option<Vec<T>> {
    (!all.is_empty()).then_some(all)
}

/// Notes the prices that a list has and a document has not, by their names.
pub fn note(left: &[String]) -> Option<String> {
    let names = some_of(left, NOTED);
    (!names.is_empty())
        .then(|| format!("the list has other prices ({names}), which are not counted"))
}
