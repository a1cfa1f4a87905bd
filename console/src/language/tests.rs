use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use http::header::HeaderValue;

use super::*;

fn chinese() -> Language {
    Language::parse("zh-CN").unwrap()
}

#[test]
fn the_browser_is_asked() {
    for (asked, want) in [
        ("", "en"),
        ("en-GB,en;q=0.9", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN"),
        ("zh", "zh-CN"),
        ("zh-TW", "zh-CN"),
        ("ZH-cn", "zh-CN"),
        ("de-DE,de;q=0.9", "en"),
        ("de,zh;q=0.5,en;q=0.4", "zh-CN"),
        ("en;q=0.4, zh;q=0.5", "zh-CN"),
        ("en;q=0.5, zh;q=0.5", "en"),
        ("zh;q=0", "en"),
        ("zh;q=many", "en"),
        ("zh;q=1.000", "zh-CN"),
        ("*", "en"),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(asked));
        assert_eq!(Language::preferred(&headers).tag(), want, "{asked:?}");
    }
}

#[tokio::test]
async fn a_message_has_its_values() {
    assert_eq!(t!("Sign in"), "Sign in", "nobody has said which language");
    let made = chinese().scope(String::new(), async {
        (
            t!("Sign in").into_owned(),
            t!("{team}, group {group}", team = "<Blue>", group = "{team}"),
            marked!("Sign in with {provider}", provider = name("<Okta>")).to_string(),
            t!("no such message, {name}", name = 3),
        )
    });
    let (plain, with_values, as_html, missing) = made.await;
    assert_eq!(plain, "登录");
    assert_eq!(with_values, "<Blue>，分组 {team}", "a value is no message");
    assert_eq!(as_html, "用 <bdi>&#60;Okta&#62;</bdi> 登录");
    assert_eq!(missing, "no such message, 3", "English in its place");
}

/// All files in which messages stand.
fn sources() -> Vec<PathBuf> {
    fn add(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, found);
            } else if path
                .extension()
                .is_some_and(|it| it == "rs" || it == "html")
                && !path.ends_with("language/tests.rs")
            {
                found.push(path);
            }
        }
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for directory in ["src", "templates"] {
        add(&here.join(directory), &mut found);
    }
    found
}

fn without_comments(source: &str) -> String {
    let lines = source.lines();
    let kept: Vec<&str> = lines
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    kept.join("\n")
}

/// The literal that a text begins with, behind white space.
fn literal(text: &str) -> Option<String> {
    let inner = text.trim_start().strip_prefix('"')?;
    let end = inner
        .match_indices('"')
        .find(|(at, _)| !inner[..*at].ends_with('\\'))?
        .0;
    Some(inner[..end].replace("\\\"", "\""))
}

/// The messages that the macros name. `format!` is none of them.
fn named(source: &str) -> BTreeSet<String> {
    let calls = ["t!(", "text!(", "marked!("]
        .into_iter()
        .flat_map(|call| source.match_indices(call));
    calls
        .filter(|(at, _)| !source[..*at].ends_with(|sign: char| sign.is_alphanumeric()))
        .filter_map(|(at, call)| literal(&source[at + call.len()..]))
        .collect()
}

fn values(message: &str) -> BTreeSet<&str> {
    let named = message.split('{').skip(1);
    named
        .filter_map(|part| Some(part.split_once('}')?.0))
        .collect()
}

#[test]
fn every_language_has_every_message() {
    let sources: Vec<String> = sources()
        .into_iter()
        .map(|path| without_comments(&std::fs::read_to_string(path).unwrap()))
        .collect();
    let wanted: BTreeSet<String> = sources.iter().flat_map(|source| named(source)).collect();
    assert!(wanted.len() > 40, "the search finds them: {}", wanted.len());
    let all = sources.concat();
    for (tag, file) in FILES {
        let messages: HashMap<String, String> = serde_json::from_str(file).unwrap();
        let missing = wanted.iter().filter(|it| !messages.contains_key(*it));
        let mut faults: Vec<String> = missing.map(|it| format!("lacks {it:?}")).collect();
        for (english, text) in &messages {
            let quoted = format!("\"{}\"", english.replace('"', "\\\""));
            for (is_fault, what) in [
                (!all.contains(&quoted), "nobody asks for"),
                (values(english) != values(text), "other values in"),
                (text.trim().is_empty(), "nothing for"),
            ] {
                faults.extend(is_fault.then(|| format!("{what} {english:?}")));
            }
        }
        assert!(faults.is_empty(), "{tag}:\n{}", faults.join("\n"));
    }
}
