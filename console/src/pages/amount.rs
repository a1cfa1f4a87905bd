//! Amounts of money on pages: rounded, with the exact ones on hovering.

use core::fmt;

use askama::filters::{Escaper as _, Html, HtmlSafe};

use super::{currency, text};

/// The decimal places of what is spent or left.
const PLACES: u32 = 2;
/// The decimal places of a price.
const PRICE_PLACES: u32 = 4;

/// An amount of money, or words with amounts. It is written as HTML: the rounded text, with the exact one as its `title`.
///
/// CSV files, the API, and the lines by which a charge is computed have exact amounts (`text::amount`) instead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownAmount {
    /// The text with rounded amounts.
    pub text: String,
    /// The same text with exact amounts.
    pub exact: String,
}

impl ShownAmount {
    /// The words that are the same, rounded and exact.
    pub fn plain(words: impl Into<String>) -> Self {
        let text = words.into();
        Self {
            exact: text.clone(),
            text,
        }
    }

    /// Words with amounts, which `words` writes by the function that it is given.
    pub fn said(words: impl Fn(fn(&str, &str) -> String) -> String) -> Self {
        Self {
            text: words(|currency, value| written(currency, &text::rounded(value, PLACES))),
            exact: words(written),
        }
    }

    /// An amount in a currency; in that of the page where it is empty.
    pub fn of(currency: &str, value: &str) -> Self {
        Self::said(|write| write(currency, value))
    }

    /// A price in a currency, which may be empty.
    pub fn price(currency: &str, value: &str) -> Self {
        Self {
            text: text::amount(currency, &text::rounded(value, PRICE_PLACES)),
            exact: text::amount(currency, value),
        }
    }

    /// Amounts of several currencies: `$1.50 + 1.00 EUR`.
    pub fn sum<'a>(each: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let all: Vec<(&str, &str)> = each.into_iter().collect();
        Self::said(|write| {
            let each = all.iter().map(|(currency, value)| write(currency, value));
            each.collect::<Vec<_>>().join(" + ")
        })
    }

    /// Whether there is nothing to show.
    pub const fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl fmt::Display for ShownAmount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text == self.exact {
            return Html.write_escaped_str(formatter, &self.text);
        }
        formatter.write_str("<span title=\"")?;
        Html.write_escaped_str(&mut *formatter, &self.exact)?;
        formatter.write_str("\">")?;
        Html.write_escaped_str(&mut *formatter, &self.text)?;
        formatter.write_str("</span>")
    }
}

impl HtmlSafe for ShownAmount {}

/// Writes an amount in a currency; in that of the page where it is empty.
fn written(of: &str, value: &str) -> String {
    if of.is_empty() {
        text::amount(&currency::current(), value)
    } else {
        text::amount(of, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_and_never_to_nothing() {
        for (exact, of, price) in [
            ("10.657576", "$10.66", "$10.6576"),
            ("1904.775", "$1,904.78", "$1,904.775"),
            ("0.999", "$1.00", "$0.999"),
            ("0.25", "$0.25", "$0.25"),
            ("0.05", "$0.05", "$0.05"),
            ("0.0123456", "$0.012", "$0.0123"),
            ("0.00000012345", "$0.00000012", "$0.00000012"),
            (
                "0.00000000000000000001",
                "$0.00000000000000000001",
                "$0.00000000000000000001",
            ),
            ("0", "$0.00", "$0.00"),
            ("-12.345", "$−12.35", "$−12.345"),
            ("nothing", "$nothing", "$nothing"),
        ] {
            let shown = [ShownAmount::of, ShownAmount::price].map(|of| of("USD", exact).text);
            assert_eq!(shown, [of, price], "{exact}");
            let written = text::amount("USD", exact);
            assert_eq!(ShownAmount::of("USD", exact).exact, written, "{exact}");
        }
    }

    #[test]
    fn the_exact_amount_is_on_hovering() {
        let each = [("USD", "1.5001"), ("E<\"R", "2")];
        for (shown, want) in [
            (ShownAmount::of("USD", "1.5"), "$1.50"),
            (
                ShownAmount::of("USD", "10.657576"),
                "<span title=\"$10.657576\">$10.66</span>",
            ),
            (
                ShownAmount::sum(each),
                "<span title=\"$1.5001 + 2.00 E&#60;&#34;R\">$1.50 + 2.00 E&#60;&#34;R</span>",
            ),
            (ShownAmount::plain("a < b"), "a &#60; b"),
        ] {
            assert_eq!(shown.to_string(), want);
        }
    }
}
