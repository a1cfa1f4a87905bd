//! The sources of a document with accounts.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use trilane::config::account::Accounts;
use trilane::config::document_hash;
use trilane::config::policy::GroupKind;
use trilane_console::credentials::CredentialDestination;
use trilane_console::prices::{CATALOGUE_NAME, CatalogueFile};

use super::findings::Findings;
use crate::destination::Destination;
use crate::document;
use crate::watched_files::WatchedFiles;

/// A source group with accounts.
#[derive(Debug)]
pub struct SourceGroup {
    /// The group's id.
    pub group: String,
    /// The place of the group in the document, such as `groups[2]`.
    pub at: String,
    /// The accounts of the group.
    pub accounts: Rc<Accounts>,
    /// The URLs of each account.
    pub destinations: Vec<Destination>,
    /// The destinations of each account's credential, by the document as it was written: for credentials that a console gives.
    pub given_for: Vec<CredentialDestination>,
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
    let prices = document::prices_of(file);
    seen.note(file);
    seen.note(&file.with_file_name(CATALOGUE_NAME));
    let name = file.display();
    match fs::read(file) {
        Ok(bytes) => {
            let number = document_hash::of_text(&bytes);
            let name = name.to_string();
            if aliases.is_empty() {
                let (sources, document) = of_document(&bytes, &prices, &name, findings);
                return (sources, document, number);
            }
            let aliased = with_aliases(bytes.clone(), aliases);
            let (mut sources, document) = of_document(&aliased, &prices, &name, findings);
            let (written, _) = of_document(&bytes, &prices, &name, &mut Findings::default());
            for (source, written) in sources.iter_mut().zip(written) {
                source.given_for = written.given_for;
            }
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

fn of_document(
    bytes: &[u8],
    prices: &CatalogueFile,
    name: &str,
    findings: &mut Findings,
) -> (Vec<SourceGroup>, Vec<u8>) {
    let resolved = match document::resolve_and_judge(bytes, prices) {
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
                group: source.group.to_string(),
                destinations: Destination::of_source(source, &at),
                given_for: given_for(accounts),
                at,
                accounts: Rc::clone(accounts),
            });
        }
    }
    (sources, resolved.text)
}

fn given_for(accounts: &Accounts) -> Vec<CredentialDestination> {
    let each = accounts.accounts.iter();
    each.map(CredentialDestination::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_has_the_credential_of_what_it_stands_for() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("gateway.json");
        let text = r#"{"currency": "USD", "keys": [], "groups": [{
            "id": "s", "protocol": "A", "clients": "current", "multiplier": "1.0000",
            "accounts": [
                {"id": "one", "url": "http://upstream:9101", "credential": "one"},
                {"id": "two", "url": "http://other:9101", "credential": "two"}
            ],
            "models": [{"id": "m", "free": true}]
        }]}"#;
        fs::write(&file, text).unwrap();
        let read = |aliases: &[(String, String)]| {
            let mut findings = Findings::default();
            let mut seen = WatchedFiles::default();
            let (sources, ..) = read(&file, aliases, &mut findings, &mut seen);
            assert!(findings.problems.is_empty(), "{:?}", findings.problems);
            let [source] = <[SourceGroup; 1]>::try_from(sources).unwrap();
            source
        };
        let aliases = [("upstream:9101".to_owned(), "127.0.0.1:5".to_owned())];
        let (written, aliased) = (read(&[]), read(&aliases));
        let site = |source: &SourceGroup| source.accounts.accounts[0].origin.site();
        assert_ne!(site(&written), site(&aliased));
        assert_eq!(written.given_for, aliased.given_for);
        assert_ne!(written.given_for[0], written.given_for[1]);
    }
}
