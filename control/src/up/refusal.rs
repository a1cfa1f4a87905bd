//! Accounts that their vendors refuse, or whose certificates are not valid, as the filter logs them.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::document::DocumentSummary;

/// The text before a line of the filter in Envoy's log, of its half that handles requests.
const GATEWAY: &str = " wasm log trilane gateway trilane: ";
/// The same of its half that loads documents.
const LOADER: &str = " wasm log config-loader trilane: ";
/// In which time a refusal is told once: each of Envoy's workers logs it once in this time.
const SILENCE: Duration = Duration::from_secs(60);

/// Finds what is worth telling in Envoy's log.
#[derive(Debug, Default)]
pub struct Refusals(HashMap<String, Instant>);

impl Refusals {
    /// Returns the message for a line of the log, if any. `document` and `credentials` say which file is to be mended.
    pub fn tell(&mut self, line: &str, document: &Path, credentials: &Path) -> Option<String> {
        if let Some((_, said)) = line.split_once(LOADER) {
            return Some(format!("loader: {said}"));
        }
        let (_, sentence) = line.split_once(GATEWAY)?;
        let refusal = Refusal::of(sentence)?;
        let now = Instant::now();
        let is_new = |last: &Instant| now.duration_since(*last) >= SILENCE;
        if !self.0.get(sentence).is_none_or(is_new) {
            return None;
        }
        self.0.insert(sentence.to_owned(), now);
        let of_vendor = sentence.contains(" was refused by its vendor ");
        let file = refusal
            .credential(document)
            .filter(|_| of_vendor)
            .map(|file| credentials.join(file));
        let place = file.map_or_else(String::new, |file| {
            format!(
                " It is in {}: rename a new file into its place.",
                file.display()
            )
        });
        Some(format!("account refused: {sentence}{place}"))
    }
}

/// An account that was refused.
#[derive(Debug, PartialEq, Eq)]
struct Refusal<'a> {
    source: &'a str,
    /// The id of the account; `None` for the account of a cluster.
    account: Option<&'a str>,
}

impl<'a> Refusal<'a> {
    /// `source S: account A was refused by …` (its vendor, this gateway), or `source S: the account of cluster C was refused by …`.
    fn of(sentence: &'a str) -> Option<Self> {
        let (source, said) = sentence.strip_prefix("source ")?.split_once(": ")?;
        let (who, _) = said.split_once(" was refused by ")?;
        let account = match who.strip_prefix("the account of cluster ") {
            Some(_) => None,
            None => Some(who.strip_prefix("account ")?),
        };
        Some(Self { source, account })
    }

    /// The file of its credential, as the document names it.
    fn credential(&self, document: &Path) -> Option<String> {
        let document = DocumentSummary::read(document);
        let credential = document.credential(self.source, self.account?);
        credential.map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told() {
        let place = tempfile::tempdir().unwrap();
        let document = place.path().join("gateway.json");
        let text = r#"{"groups": [{"id": "s", "accounts": [{"id": "a", "credential": "file"}]}, {"id": "t"}]}"#;
        std::fs::write(&document, text).unwrap();
        let mut refusals = Refusals::default();
        let mut tell = |said: &str| {
            let line = format!("[2026-11-23 21:12:37.419][8][error][wasm] [x.cc:1] {said}");
            refusals.tell(&line, &document, Path::new("/c"))
        };
        let of = |sentence: &str| format!("wasm log trilane gateway trilane: {sentence}");
        let account = "source s: account a was refused by its vendor (401). Mend it.";
        let want = format!(
            "account refused: {account} It is in /c/file: rename a new file into its place."
        );
        assert_eq!(tell(&of(account)), Some(want));
        assert_eq!(tell(&of(account)), None, "once a minute");
        let cluster =
            "source t: the account of cluster c was refused by its vendor (403). Mend it.";
        assert_eq!(
            tell(&of(cluster)),
            Some(format!("account refused: {cluster}"))
        );
        let tls = "source s: account a was refused by this gateway (TLS). Mend it.";
        assert_eq!(tell(&of(tls)), Some(format!("account refused: {tls}")));
        assert_eq!(tell(&of("another line")), None);
        assert_eq!(
            tell("x wasm log config-loader trilane: y"),
            Some("loader: y".to_owned())
        );
        assert_eq!(tell("x wasm log trilane attempts trilane: y"), None);
    }
}
