//! The labels of requests.

use std::collections::BTreeMap;

use crate::config::error::Problems;
use crate::config::labels::Label;
use crate::protocol::credential_name::{is_credential, words};

/// The largest number of labels: each is looked for in every request.
const MOST: usize = 4;
/// The longest name of a header, in bytes.
const LONGEST_HEADER: usize = 64;

pub(super) fn compile(
    document: Option<&BTreeMap<String, String>>,
    problems: &mut Problems,
) -> Vec<Label> {
    let Some(labels) = document else {
        return Vec::new();
    };
    if labels.len() > MOST {
        problems.push("labels", format!("must have at most {MOST} labels"));
    }
    for (name, header) in labels {
        if !Label::is_name(name) {
            problems.push(
                "labels",
                format!(
                    "{name:?} must be a name of 1 to {} lower-case letters, digits, `-` and `_`, a letter first",
                    Label::LONGEST_NAME
                ),
            );
        }
        let path = format!("labels.{name}");
        if !is_header(header) {
            problems.push(
                path,
                format!(
                    "must be the name of a header, in lower case, of at most {LONGEST_HEADER} bytes"
                ),
            );
        } else if may_hold_credential(header) {
            problems.push(
                path,
                "is a header that may hold a credential, which the ledger never has",
            );
        }
    }
    let labels = labels.iter().map(|(name, header)| Label {
        name: name.into(),
        header: header.into(),
    });
    labels.collect()
}

fn is_header(text: &str) -> bool {
    let is_token = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    !text.is_empty() && text.len() <= LONGEST_HEADER && text.bytes().all(is_token)
}

/// Whether a word of the header's name says that its value is a credential.
fn may_hold_credential(header: &str) -> bool {
    let mut before: &[u8] = &[];
    words(header.as_bytes()).any(|word| {
        let found = is_credential(before, word);
        before = word;
        found
    })
}
