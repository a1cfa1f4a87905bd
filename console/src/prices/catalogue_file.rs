//! The operator's own prices, over those of the catalogue that this program carries.

use std::io;
use std::path::{Path, PathBuf};

use super::catalogue::PriceCatalogue;
use crate::named_file;

/// The name of the file, beside a document and in a data directory.
pub const NAME: &str = "prices.json";
/// The longest file that is read, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The place of the operator's own catalogue, which need not exist. It is read at each use, so an import needs no restart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogueFile(Option<PathBuf>);

impl CatalogueFile {
    /// The file at this path.
    pub const fn new(path: PathBuf) -> Self {
        Self(Some(path))
    }

    /// The one beside a document.
    pub fn beside(document: &Path) -> Self {
        Self(document.parent().map(|directory| directory.join(NAME)))
    }

    /// The prices of this program, with the operator's own in their place.
    ///
    /// # Errors
    /// The file is there and cannot be read, or is no catalogue.
    pub fn read(&self) -> Result<PriceCatalogue, String> {
        let embedded = PriceCatalogue::embedded();
        Ok(match self.own()? {
            Some(own) => own.over(embedded),
            None => embedded,
        })
    }

    /// The operator's own prices alone; `None` where there is no file.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn own(&self) -> Result<Option<PriceCatalogue>, String> {
        let Some(path) = &self.0 else {
            return Ok(None);
        };
        let failed = |why: String| format!("the price catalogue {} {why}", path.display());
        let bytes = match named_file::read(path, LONGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(format!("cannot be read: {error}"))),
        };
        PriceCatalogue::parse(&bytes)
            .map(Some)
            .map_err(|error| failed(format!("is none: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use trilane::protocol::Protocol;

    use super::*;

    #[test]
    fn own_prices_come_first() {
        let place = tempfile::TempDir::new().unwrap();
        let file = CatalogueFile::beside(&place.path().join("gateway.json"));
        let input = |name: &str| {
            let catalogue = file.read().unwrap();
            catalogue
                .find(Protocol::A, name)
                .unwrap()
                .prices
                .input
                .clone()
                .unwrap()
        };
        assert_eq!(input("gpt-6-luna"), "0.1", "no file");
        let own = r#"{"currency": "USD", "pages": {"p": {"vendor": "openai", "url": "list.json", "read": "2026-11-28", "as_stored": "a list"}},
            "models": [{"id": "gpt-6-luna", "protocols": ["A"], "page": "p", "prices": {"input": "0.2", "output": "1"}, "note": null}]}"#;
        fs::write(place.path().join(NAME), own).unwrap();
        assert_eq!(input("gpt-6-luna"), "0.2");
        assert_eq!(input("gpt-4"), "30", "the others stay");
        for (case, text, want) in [
            ("no JSON", "{", "is none"),
            (
                "another currency",
                r#"{"currency": "EUR", "pages": {}, "models": []}"#,
                "must be in USD",
            ),
            (
                "a price that is none",
                &own.replace("\"0.2\"", "\"x\""),
                "models[0].prices.input",
            ),
            (
                "a page that is not there",
                &own.replace("\"page\": \"p\"", "\"page\": \"q\""),
                "models[0].page",
            ),
        ] {
            fs::write(place.path().join(NAME), text).unwrap();
            let error = file.read().unwrap_err();
            assert!(error.contains(want), "{case}: {error}");
        }
    }
}
