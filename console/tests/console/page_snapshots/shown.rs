//! The part of a response that a snapshot has.

use http::header::{CONTENT_TYPE, LOCATION};

use crate::api::ApiReply;

/// A text that differs from run to run: what stands before it, how long it is at least, and which characters it has.
type HiddenText = (&'static str, usize, fn(char) -> bool);

const HIDDEN: [HiddenText; 10] = [
    // The last characters of keys and tokens, which are drawn.
    ("tl-…", 4, |c| c.is_ascii_alphanumeric()),
    ("tlc-…", 4, |c| c.is_ascii_alphanumeric()),
    ("<bdi>hint</bdi>\n</dt>\n<dd>\n<ins>", 4, |c| c != '<'),
    // Revisions that are digests of a key, which is drawn, or have the port of a vendor's stand-in in them.
    ("name=\"revision\" value=\"", 16, |c| c.is_ascii_hexdigit()),
    ("127.0.0.1:", 1, |c| c.is_ascii_digit()),
    // The disk of the machine.
    ("<dt>Database</dt>\n<dd>", 1, |c| c != '<'),
    ("<dt>Free on its disk</dt>\n<dd>", 1, |c| c != '<'),
    ("<dt>数据库</dt>\n<dd>", 1, |c| c != '<'),
    ("<dt>磁盘剩余空间</dt>\n<dd>", 1, |c| c != '<'),
    // Style and script have a digest in their names. How pages look is seen in `tests/e2e/browser`.
    ("/assets/", 1, |c| c != '"'),
];

/// The status, and the title with what is inside of the frame, or where a redirect leads to.
pub fn page(reply: &ApiReply) -> String {
    let status = reply.status.as_u16();
    if let Some(to) = reply.headers.get(LOCATION) {
        return format!("{status}, {} -->\n", stable(to.to_str().unwrap()));
    }
    let kind = reply.headers[CONTENT_TYPE].to_str().unwrap();
    if !kind.starts_with("text/html") {
        return format!("{status}, {kind} -->\n{}", stable(&reply.text));
    }
    let (head, main) = reply.text.split_once("<main").unwrap();
    let (main, _) = main.split_once("</main>").unwrap();
    let (_, title) = head.split_once("<title>").unwrap();
    let (title, _) = title.split_once("</title>").unwrap();
    let html = format!("<title>{title}</title><main{main}</main>");
    format!("{status} -->\n{}", stable(&lines(&html)))
}

/// The frame around a page.
pub fn frame(reply: &ApiReply) -> String {
    let (before, main) = reply.text.split_once("<main").unwrap();
    let (_, after) = main.split_once("</main>").unwrap();
    let status = reply.status.as_u16();
    format!(
        "{status} -->\n{}",
        stable(&lines(&format!("{before}<main></main>{after}")))
    )
}

/// HTML with one element a line, so that a difference is short.
fn lines(html: &str) -> String {
    let split = html.replace("><", ">\n<");
    let full = split.lines().filter(|line| !line.trim().is_empty());
    full.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The same text in every run: `…` is in the place of what was drawn.
fn stable(text: &str) -> String {
    let mut text = text.to_owned();
    for (before, shortest, has) in HIDDEN {
        let mut parts = text.split(before);
        let mut out = parts.next().unwrap().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(has);
            out += before;
            if part.len() - rest.len() >= shortest {
                out.push('…');
                out += rest;
            } else {
                out += part;
            }
        }
        text = out;
    }
    // Ids, keys, tokens and digests: no word of a page is as long.
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let letters = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if letters.len() >= 24 {
            out.push('…');
            out += &word[letters.len()..];
        } else {
            out += word;
        }
    }
    out
}

/// The texts of a page with a word in Latin letters, but for names that somebody chose, and what is typed or was written by a program.
pub fn english(html: &str) -> Vec<String> {
    let mut html = html.to_owned();
    for element in ["code", "bdi", "pre", "time", "textarea"] {
        html = without(&html, element);
    }
    let mut texts: Vec<String> = Vec::new();
    for part in html.split('<') {
        let (tag, text) = part.split_once('>').unwrap_or(("", part));
        texts.push(text.trim().to_owned());
        for attribute in ["aria-label", "title", "placeholder"] {
            let value = tag.split_once(&format!(" {attribute}=\""));
            let value = value.and_then(|(_, rest)| rest.split('"').next());
            texts.extend(value.map(str::to_owned));
        }
    }
    let has_word = |text: &String| {
        let mut words = text.split(|c: char| !c.is_ascii_alphabetic());
        words.any(|word| word.len() > 1 && word != "UTC")
    };
    texts.into_iter().filter(has_word).collect()
}

/// HTML without the elements of a name.
fn without(html: &str, element: &str) -> String {
    let (begin, end) = (format!("<{element}"), format!("</{element}>"));
    let mut parts = html.split(&begin);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if part.starts_with(['>', ' ']) {
            out += part.split_once(&end).map_or("", |(_, rest)| rest);
        } else {
            out += &begin;
            out += part;
        }
    }
    out
}
