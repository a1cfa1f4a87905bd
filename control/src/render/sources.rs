//! The sources of a document with accounts.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use trilane::config::account::Accounts;
use trilane::config::document_hash;
use trilane::config::policy::GroupKind;

use super::findings::Findings;
use crate::destination::Destination;
use crate::document;
use crate::watched_files::WatchedFiles;

/// A source group with accounts.
#[derive(Debug)]
pub struct SourceGroup {
    /// The group's id.
    pub group: String,
    /// Its place in the document, such as `groups[2]`.
    pub at: String,
    /// Its accounts.
    pub accounts: Rc<Accounts>,
    /// The URLs of each account.
    pub destinations: Vec<Destination>,
}

impl SourceGroup {
    /// The place of an account's field in the document.
    pub fn place(&self, account: usize, field: &str) -> String {
        format!("{}.accounts[{account}].{field}", self.at)
    }
}

/// Reads a document as the gateway does, and returns its sources, its bytes with the catalogue's prices in them, and the
/// number of the document as it was read. Problems go to `findings`.
///
/// `aliases` are authorities of accounts, and others that stand in for them.
pub fn read(
    file: &Path,
    aliases: &[(String, String)],
    findings: &mut Findings,
    seen: &mut WatchedFiles,
) -> (Vec<SourceGroup>, Vec<u8>, u64) {
    seen.note(file);
    let name = file.display();
    match fs::read(file) {
        Ok(bytes) => {
            let number = document_hash::of_text(&bytes);
            let bytes = with_aliases(bytes, aliases);
            let (sources, document) = of_document(&bytes, &name.to_string(), findings);
            (sources, document, number)
        }
        Err(error) => {
            let problem = format!("cannot read the document {name}: {error}");
            findings.problems.push(problem);
            (Vec::new(), Vec::new(), 0)
        }
    }
}

/// The document with other authorities in the URLs of its accounts. Lines and columns stay as near as they can, for messages.
fn with_aliases(bytes: Vec<u8>, aliases: &[(String, String)]) -> Vec<u8> {
    if aliases.is_empty() {
        return bytes;
    }
    let Ok(mut text) = String::from_utf8(bytes.clone()) else {
        return bytes;
    };
    for (from, to) in aliases {
        for end in ["\"", "/"] {
            text = text.replace(
                &format!("\"http://{from}{end}"),
                &format!("\"http://{to}{end}"),
            );
        }
    }
    text.into_bytes()
}

fn of_document(bytes: &[u8], name: &str, findings: &mut Findings) -> (Vec<SourceGroup>, Vec<u8>) {
    let resolved = match document::resolve_and_judge(bytes) {
        Ok(resolved) => resolved,
        Err(problems) => {
            let whole = |path: &str| matches!(path, "" | ".");
            let said = problems.0.iter().map(|problem| match problem {
                of_all if whole(&of_all.path) => format!("the document {name} {}", of_all.reason),
                of_part => of_part.to_string(),
            });
            findings.problems.extend(said);
            return (Vec::new(), Vec::new());
        }
    };
    let compiled = resolved.compiled;
    let notes = compiled.warnings.iter().map(ToString::to_string);
    findings.notes.extend(notes);
    let mut sources = Vec::new();
    for (position, group) in compiled.policy.groups().iter().enumerate() {
        if let GroupKind::Source(source) = &group.kind
            && let Some(accounts) = &source.accounts
        {
            let at = format!("groups[{position}]");
            sources.push(SourceGroup {
                group: source.group.clone(),
                destinations: Destination::of_source(source, &at),
                at,
                accounts: Rc::clone(accounts),
            });
        }
    }
    (sources, resolved.text)
}
