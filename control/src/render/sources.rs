//! The sources of a document that have accounts.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use trilane::config::account::Accounts;
use trilane::config::policy::GroupKind;
use trilane::config::{Document, compile};

use super::findings::Findings;
use super::seen::Seen;
use crate::destination::Destination;

/// A source group with accounts.
#[derive(Debug)]
pub struct Source {
    /// The group's id.
    pub group: String,
    /// Where it is in the document, such as `groups[2]`.
    pub at: String,
    /// Its accounts.
    pub accounts: Rc<Accounts>,
    /// Where the requests of each account end.
    pub destinations: Vec<Destination>,
}

impl Source {
    /// Where an account's field is in the document.
    pub fn place(&self, account: usize, field: &str) -> String {
        format!("{}.accounts[{account}].{field}", self.at)
    }
}

/// Reads a document as the gateway does: its sources, and what it is. What is wrong with it, or in it, is found.
pub fn read(document: &Path, findings: &mut Findings, seen: &mut Seen) -> (Vec<Source>, Vec<u8>) {
    seen.note(document);
    let name = document.display();
    match fs::read(document) {
        Ok(bytes) => (of_document(&bytes, &name.to_string(), findings), bytes),
        Err(error) => {
            let problem = format!("cannot read the document {name}: {error}");
            findings.problems.push(problem);
            (Vec::new(), Vec::new())
        }
    }
}

fn of_document(bytes: &[u8], name: &str, findings: &mut Findings) -> Vec<Source> {
    let compiled = match Document::parse(bytes).and_then(|document| compile(&document)) {
        Ok(compiled) => compiled,
        Err(problems) => {
            let whole = |path: &str| matches!(path, "" | ".");
            let said = problems.0.iter().map(|problem| match problem {
                of_all if whole(&of_all.path) => format!("the document {name} {}", of_all.reason),
                of_part => of_part.to_string(),
            });
            findings.problems.extend(said);
            return Vec::new();
        }
    };
    let notes = compiled.warnings.iter().map(ToString::to_string);
    findings.notes.extend(notes);
    let mut sources = Vec::new();
    for (position, group) in compiled.policy.groups().iter().enumerate() {
        if let GroupKind::Source(source) = &group.kind
            && let Some(accounts) = &source.accounts
        {
            let at = format!("groups[{position}]");
            sources.push(Source {
                group: source.group.clone(),
                destinations: Destination::of_source(source, &at),
                at,
                accounts: Rc::clone(accounts),
            });
        }
    }
    sources
}
