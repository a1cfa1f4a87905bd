//! HTML that was made of texts: nothing in it is unescaped.

use core::fmt;

use askama::filters::{Html, HtmlSafe, escape};

use crate::timestamp::utc;

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
    pub fn name_of(id: &str, text: &str) -> Self {
        let (Self(id), Self(text)) = (Self::text(id), Self::text(text));
        Self(format!("<bdi title=\"{id}\">{text}</bdi>"))
    }

    /// Something of less weight than the text around.
    pub fn quiet(text: &str) -> Self {
        let Self(text) = Self::text(text);
        Self(format!("<span class=\"quiet\">{text}</span>"))
    }

    /// A link.
    pub fn link(path: &str, text: &str) -> Self {
        Self::link_to(path, &Self::text(text))
    }

    /// A link with something else inside than a text.
    pub fn link_to(path: &str, Self(inside): &Self) -> Self {
        let Self(path) = Self::text(path);
        Self(format!("<a href=\"{path}\">{inside}</a>"))
    }

    /// Something that the reader must not miss.
    pub fn strong(Self(inside): &Self) -> Self {
        Self(format!("<strong>{inside}</strong>"))
    }

    /// A moment (RFC 3339), which the script writes in the reader's zone.
    pub fn moment(at: &str) -> Self {
        let (Self(at), Self(utc)) = (Self::text(at), Self::text(&utc(at)));
        Self(format!("<time datetime=\"{at}\">{utc}</time>"))
    }

    /// A state: `kind` is good, warn, bad or off.
    pub fn state(kind: &str, text: &str) -> Self {
        let Self(text) = Self::text(text);
        Self(format!("<span class=\"state {kind}\">{text}</span>"))
    }

    /// HTML that something else has made, such as an amount.
    pub fn html(of: &impl HtmlSafe) -> Self {
        Self(of.to_string())
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
            (
                "link with code",
                Markup::link_to("/a", &Markup::code("<")),
                "<a href=\"/a\"><code>&#60;</code></a>",
            ),
            (
                "moment",
                Markup::moment("2026-11-30T10:00:42Z"),
                "<time datetime=\"2026-11-30T10:00:42Z\">2026-11-30 10:00 UTC</time>",
            ),
            (
                "state",
                Markup::state("bad", "<"),
                "<span class=\"state bad\">&#60;</span>",
            ),
            (
                "amount",
                Markup::html(&Markup::strong(&Markup::text("<"))),
                "<strong>&#60;</strong>",
            ),
        ] {
            assert_eq!(made.to_string(), want, "{name}");
        }
    }
}
