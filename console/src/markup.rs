//! HTML that was made of texts: nothing in it is unescaped.

use core::fmt;

use askama::filters::{Html, HtmlSafe, escape};

use crate::timestamp;

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

    /// A name in place of an id, which is seen on hovering.
    pub fn name_of(text: &str, id: &str) -> Self {
        if text == id {
            return Self::name(text);
        }
        let (Self(text), Self(id)) = (Self::text(text), Self::text(id));
        Self(format!("<bdi title=\"{id}\">{text}</bdi>"))
    }

    /// Something of less weight.
    pub fn quiet(text: &str) -> Self {
        let Self(text) = Self::text(text);
        Self(format!("<span class=\"quiet\">{text}</span>"))
    }

    /// A link.
    pub fn link(path: &str, text: &str) -> Self {
        let (Self(path), Self(text)) = (Self::text(path), Self::text(text));
        Self(format!("<a href=\"{path}\">{text}</a>"))
    }

    /// A moment (RFC 3339), which the script writes in the reader's zone.
    pub fn moment(rfc3339: &str) -> Self {
        let (Self(at), Self(utc)) = (Self::text(rfc3339), Self::text(&timestamp::utc(rfc3339)));
        Self(format!("<time datetime=\"{at}\">{utc}</time>"))
    }

    /// A state: `kind` is good, warn, bad or off.
    pub fn state(kind: &str, text: &str) -> Self {
        let Self(text) = Self::text(text);
        Self(format!("<span class=\"state {kind}\">{text}</span>"))
    }

    /// Something of weight.
    pub fn strong(Self(inner): &Self) -> Self {
        Self(format!("<strong>{inner}</strong>"))
    }

    /// HTML that something writes itself.
    pub fn safe(html: &(impl fmt::Display + HtmlSafe)) -> Self {
        Self(html.to_string())
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
                "name of an id",
                Markup::name_of("<", "i"),
                "<bdi title=\"i\">&#60;</bdi>",
            ),
            ("id", Markup::name_of("i", "i"), "<bdi>i</bdi>"),
            (
                "quiet",
                Markup::quiet("<"),
                "<span class=\"quiet\">&#60;</span>",
            ),
            (
                "moment",
                Markup::moment("2026-11-24T11:00:42Z"),
                "<time datetime=\"2026-11-24T11:00:42Z\">2026-11-24 11:00 UTC</time>",
            ),
            (
                "state",
                Markup::state("bad", "<"),
                "<span class=\"state bad\">&#60;</span>",
            ),
            (
                "strong",
                Markup::strong(&Markup::name("<")),
                "<strong><bdi>&#60;</bdi></strong>",
            ),
            ("safe", Markup::safe(&Markup::name("<")), "<bdi>&#60;</bdi>"),
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
