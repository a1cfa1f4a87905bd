//! The language of what people read: pages now, each in the language that its reader's browser asks for or that was chosen.
//!
//! Texts stand in the code and the templates in English: `t!("Sign in")`, `t!("Requests to {count} models fail.", count)`. A
//! file in `messages/` has those of another language, by the English text, and what it lacks is shown in English; a test finds
//! what is missing and what nobody asks for. The message `English` is the language's own name.

use core::borrow::Borrow;
use core::fmt::Display;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;

use crate::markup::Markup;

/// The languages beside English: their tags (BCP 47), and their messages.
const FILES: [(&str, &str); 1] = [("zh-CN", include_str!("../messages/zh-CN.json"))];

/// The messages of a language.
#[derive(Debug)]
struct Messages {
    tag: &'static str,
    texts: HashMap<String, String>,
}

static ALL: LazyLock<Vec<Messages>> = LazyLock::new(|| {
    let read = |(tag, text)| Messages {
        tag,
        // A test reads each file: this is never empty.
        texts: serde_json::from_str(text).unwrap_or_default(),
    };
    FILES.into_iter().map(read).collect()
});

tokio::task_local! {
    /// The page that is being made: its language, and its path with the query.
    static CURRENT: (Language, String);
}

/// A language in which the console can be read; English unless said otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub struct Language(Option<&'static Messages>);

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.tag() == other.tag()
    }
}

impl Eq for Language {}

impl Language {
    /// English, in which all texts are written.
    pub const ENGLISH: Self = Self(None);

    /// Lists the languages.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = ALL.iter().map(|messages| Self(Some(messages)));
        core::iter::once(Self::ENGLISH).chain(others)
    }

    /// Finds the language of a tag; of those that share a first subtag (`zh-TW`, `zh`) the first there is.
    pub fn parse(tag: &str) -> Option<Self> {
        let first = |tag: &str| {
            let subtag = tag.split('-').next().unwrap_or_default();
            subtag.to_ascii_lowercase()
        };
        let exact = Self::all().find(|language| language.tag().eq_ignore_ascii_case(tag));
        exact.or_else(|| Self::all().find(|language| first(language.tag()) == first(tag)))
    }

    /// Reads the language that a browser prefers among those there are (RFC 9110, 12.5.4); English without one.
    pub fn preferred(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT_LANGUAGE).into_iter();
        let ranges = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        let weighed = ranges.filter_map(|range| {
            let (tag, weight) = range.split_once(';').unwrap_or((range, "q=1"));
            let language = Self::parse(tag.trim())?;
            Some((thousandths(weight)?, language))
        });
        // The first of those that weigh the same.
        let best = weighed.reduce(|best, other| if other.0 > best.0 { other } else { best });
        best.filter(|(weight, _)| *weight > 0)
            .map_or(Self::ENGLISH, |(_, language)| language)
    }

    /// The language of the page that is being made; English where nobody has said.
    pub fn current() -> Self {
        CURRENT
            .try_with(|(language, _)| *language)
            .unwrap_or(Self::ENGLISH)
    }

    /// Whether it is the language of the page that is being made.
    pub fn is_current(self) -> bool {
        self == Self::current()
    }

    /// The language of this very tag.
    pub fn of(tag: &str) -> Option<Self> {
        Self::all().find(|language| language.tag() == tag)
    }

    /// The choices of a form: each language's tag and name.
    pub fn choices() -> Vec<(&'static str, Cow<'static, str>)> {
        let named = Self::all().map(|language| (language.tag(), language.name()));
        named.collect()
    }

    /// Makes a page in this language; `path` is the page's, with the query.
    pub async fn scope<F: Future>(self, path: String, making: F) -> F::Output {
        CURRENT.scope((self, path), making).await
    }

    /// Makes texts in this language.
    pub fn write<T>(self, making: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope((self, String::new()), making)
    }

    /// The tag (BCP 47).
    pub fn tag(self) -> &'static str {
        self.0.map_or("en", |messages| messages.tag)
    }

    /// The language's own name.
    pub fn name(self) -> Cow<'static, str> {
        self.text("English")
    }

    /// The text of a message in this language.
    fn text<'a>(self, english: &'a str) -> Cow<'a, str> {
        let found = self.0.and_then(|messages| messages.texts.get(english));
        Cow::Borrowed(found.map_or(english, String::as_str))
    }
}

/// The path of the page that is being made, with the query.
pub fn path_of_page() -> String {
    CURRENT
        .try_with(|(_, path)| path.clone())
        .unwrap_or_default()
}

/// A weight of a range, `q=0.8`, in thousandths.
fn thousandths(weight: &str) -> Option<u16> {
    let digits = weight.trim().strip_prefix("q=")?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part: u16 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    whole
        .parse::<u16>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(part)
}

/// The text in the language of the page that is being made.
pub fn translated(english: &str) -> Cow<'_, str> {
    Language::current().text(english)
}

/// The same with values in place of their names in braces.
pub fn filled(english: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut made = String::new();
    for piece in pieces(&translated(english), values) {
        match piece {
            Piece::Text(text) => made += text,
            Piece::Value(value) => made += &value.to_string(),
        }
    }
    made
}

/// The same as HTML: the text is escaped, and the values are markup.
pub fn marked(english: &str, values: &[(&str, Markup)]) -> Markup {
    let mut made = Markup::default();
    for piece in pieces(&translated(english), values) {
        match piece {
            Piece::Text(text) => made.push(&Markup::text(text)),
            Piece::Value(value) => made.push(value),
        }
    }
    made
}

/// Names or parts of a sentence, one after the other.
pub fn list(items: &[impl Borrow<str>]) -> String {
    items.join(&*translated(", "))
}

/// The gap between two sentences: a message has one on each side of it.
pub fn gap() -> String {
    let sentences = translated("{first} {second}");
    let behind = sentences.strip_prefix("{first}");
    let between = behind.and_then(|rest| rest.strip_suffix("{second}"));
    between.unwrap_or(" ").to_owned()
}

/// The choices of a table, each with its title in the language of the page.
pub fn choices(table: &[(&'static str, &'static str)]) -> Vec<(&'static str, Cow<'static, str>)> {
    let titled = table.iter();
    titled
        .map(|(value, title)| (*value, translated(title)))
        .collect()
}

/// A piece of a message.
enum Piece<'a, V> {
    Text(&'a str),
    Value(&'a V),
}

/// The pieces of a message, with its values; the name of one that is not there is a text.
fn pieces<'a, V>(message: &'a str, values: &'a [(&str, V)]) -> impl Iterator<Item = Piece<'a, V>> {
    let value = |name: &'a str| {
        let found = values.iter().find(|(of, _)| *of == name);
        found.map_or(Piece::Text(name), |(_, value)| Piece::Value(value))
    };
    let parts = message.split('{').enumerate();
    parts.flat_map(move |(place, part)| {
        let (name, text) = match part.split_once('}') {
            Some((name, text)) if place > 0 => (Some(value(name)), text),
            _ => (None, part),
        };
        name.into_iter().chain([Piece::Text(text)])
    })
}

/// A text for people in the language of the page, with values by their names: `t!("{count} models", count = models.len())`.
macro_rules! t {
    ($english:literal) => {
        $crate::language::translated($english)
    };
    ($english:literal, $($name:ident = $value:expr),+ $(,)?) => {
        // A block of its own: nothing of it is kept while something else is awaited.
        { $crate::language::filled($english, &[$((stringify!($name), &$value as &dyn ::core::fmt::Display)),+]) }
    };
}

/// Marks a text that [`translated`] takes later, where it stands in a table.
macro_rules! text {
    ($english:literal) => {
        $english
    };
}

/// The same as HTML, with values as [`Markup`] makes them: `marked!("Such as {command}.", command = code("trilane up"))`.
macro_rules! marked {
    ($english:literal, $($name:ident = $kind:ident($($value:expr),+)),+ $(,)?) => {
        $crate::language::marked($english, &[$((stringify!($name), $crate::markup::Markup::$kind($(&$value),+))),+])
    };
}

#[cfg(test)]
mod tests;
