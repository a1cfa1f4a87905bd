//! A small document as it is rendered, whole: `golden/`.

use std::path::Path;

use serde_json::{Value, json};

use super::site::Site;
use crate::golden;

#[test]
fn the_rendering_of_a_small_document() {
    let site = Site::new();
    let ran = site.render(&[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/render/golden");
    let mut names = Vec::new();
    for (name, content) in site.rendered() {
        // Of the authorities the name is a digest of a path that differs from run to run.
        let text = without_digests(&format!("{}\n", readable(&content, 0)));
        if name.contains("ca~") {
            continue;
        }
        golden::compare(&directory.join(&name), &text);
        names.push(name);
    }
    let want = [
        "clusters/clusters.json",
        "secrets/alone.one.json",
        "secrets/many%4=5.a1.json",
        "secrets/many%4=5.a2.json",
        "secrets/many%4=5.a4.json",
        "secrets/many%4=5.a=3.json",
    ];
    assert_eq!(names, want);
}

/// JSON in which everything that fits into a line is on one.
fn readable(value: &Value, depth: usize) -> String {
    let line = value.to_string();
    if line.len() + 2 * depth <= 110 {
        return line;
    }
    let indent = "  ".repeat(depth + 1);
    let (open, items, close) = match value {
        Value::Object(members) => {
            let member =
                |(name, value)| format!("{indent}{}: {}", json!(name), readable(value, depth + 1));
            ('{', members.iter().map(member).collect::<Vec<_>>(), '}')
        }
        Value::Array(items) => {
            let item = |value| format!("{indent}{}", readable(value, depth + 1));
            ('[', items.iter().map(item).collect(), ']')
        }
        _ => return line,
    };
    format!(
        "{open}\n{}\n{}{close}",
        items.join(",\n"),
        "  ".repeat(depth)
    )
}

fn without_digests(text: &str) -> String {
    let mut parts = text.split("ca~");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("ca~DIGEST");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    out
}
