//! HTML that was made of texts: nothing in it is unescaped.

use core::fmt;

use askama::filters::{Html, HtmlSafe, escape};

/// HTML that a page may have as it is.
#[derive(Debug, Clone, Default)]
pub struct Markup(String);

impl Markup {
    /// A text.
    pub fn text(text: &str) -> Self {
        let escaped = escape(text, Html);
        Self(escaped.map(|it| it.to_string()).unwrap_or_default())
    }

    /// A text in an element without attributes, such as `code`.
    fn element(name: &str, text: &str) -> Self {
        let Self(text) = Self::text(text);
        Self(format!("<{name}>{text}</{name}>"))
    }

    /// Something to type, or as a program writes it.
    pub fn code(text: &str) -> Self {
        Self::element("code", text)
    }

    /// A name that somebody has chosen: it may be written in another direction.
    pub fn name(text: &str) -> Self {
        Self::element("bdi", text)
    }

    /// A link.
    pub fn link(path: &str, text: &str) -> Self {
        let (Self(path), Self(text)) = (Self::text(path), Self::text(text));
        Self(format!("<a href=\"{path}\">{text}</a>"))
    }

    /// Puts another one behind it.
    pub fn push(&mut self, other: &Self) {
        self.0 += &other.0;
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        for (name, made, want) in [
            (
                "text",
                Markup::text("a < b & \"c\""),
                "a &#60; b &#38; &#34;c&#34;",
            ),
            ("code", Markup::code("<x>"), "<code>&#60;x&#62;</code>"),
            ("name", Markup::name("'"), "<bdi>&#39;</bdi>"),
            (
                "link",
                Markup::link("/a?b=\"", "<"),
                "<a href=\"/a?b=&#34;\">&#60;</a>",
            ),
        ] {
            assert_eq!(made.to_string(), want, "{name}");
        }
    }
}
