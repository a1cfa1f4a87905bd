//! Whether the snapshots have all pages: every route of the router, every template.

use std::fs;
use std::path::Path;

/// The paths of the pages' router that answer GET, as its source has them: a router does not list them.
pub fn routes_of_get() -> Vec<&'static str> {
    let source = include_str!("../../../src/pages/mod.rs");
    let routes = source.split(".route(").skip(1).filter_map(|of| {
        let (_, of) = of.split_once('"')?;
        let (path, handlers) = of.split_once('"')?;
        // Up to the end of its line, or of its lines.
        let handlers = handlers.split([';', '#']).next()?;
        handlers.contains("get(").then_some(path)
    });
    routes.collect()
}

/// Whether a path is of a route, whose names in braces stand for anything.
pub fn is_of(path: &str, route: &str) -> bool {
    let (path, route) = (path.split('/'), route.split('/'));
    path.clone().count() == route.clone().count()
        && path
            .zip(route)
            .all(|(part, of)| part == of || of.starts_with('{') && !part.is_empty())
}

/// Lists the texts of templates that no snapshot has. Fails if one has nothing of a template.
pub fn unseen(snapshots: &str) -> String {
    let shown = words(snapshots);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let entries = fs::read_dir(directory).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut listed = String::new();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        let texts = texts(&fs::read_to_string(&path).unwrap());
        let unseen = texts.iter().filter(|text| !shown.contains(*text));
        let unseen: Vec<&String> = unseen.collect();
        assert!(
            unseen.len() < texts.len(),
            "no snapshot has anything of {name}"
        );
        for text in unseen {
            listed += &format!("{name}: {text}\n");
        }
    }
    listed
}

/// The texts of a template that are long enough to tell where they come from: those between its tags, and its messages.
fn texts(template: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for part in template.split("{{").flat_map(|part| part.split("{%")) {
        let ends = ["}}", "%}", "#}"].map(|end| part.rfind(end).map(|at| at + 2));
        let end = ends.into_iter().flatten().max().unwrap_or_default();
        let (code, html) = part.split_at(end);
        texts.extend(html.split("{#").next().map(words));
        let calls = ["t!(\"", "marked!(\""].map(|call| code.split(call).skip(1));
        let messages = calls.into_iter().flatten();
        let messages = messages.filter_map(|rest| rest.split("\")").next()?.split("\",").next());
        texts.extend(messages.filter_map(longest));
    }
    texts.retain(|text| text.len() >= 20);
    texts
}

/// The longest part of a message between its values, as HTML has it.
fn longest(message: &str) -> Option<String> {
    let parts = message.split(['{', '}']).step_by(2);
    let longest = parts.max_by_key(|part| part.len())?;
    Some(words(
        &longest
            .replace('&', "&#38;")
            .replace('\'', "&#39;")
            .replace("\\\"", "&#34;"),
    ))
}

/// A text without blanks between its words and elements.
fn words(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("> <", "><")
}
