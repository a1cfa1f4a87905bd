//! Checking a document as the gateway does.

use sha2::{Digest as _, Sha256};
use trilane::config::{Document, Problems, compile};

use super::named_files::outside_names;
use crate::credentials::{CredentialDestination, CredentialDestinations};
use crate::prices::{CATALOGUE_NAME, CatalogueFile, ResolvedPrices, resolve};
use crate::vendors::uncached;

/// The most that the gateway reads, in bytes (its `source.max_bytes`).
const LONGEST: usize = 31_000_000;

/// A valid document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedDocument {
    /// The text of the document, as gateways get it.
    pub served: String,
    /// The digest of that.
    pub etag: String,
    /// The number of groups in the document.
    pub groups: usize,
    /// The number of keys in the document.
    pub keys: usize,
    /// The destinations that its accounts send their credentials to.
    pub destinations: CredentialDestinations,
    /// The valid settings that look unintended, each with its place.
    pub warnings: Problems,
}

/// Checks a document as gateways do, and that it [names no files](super::outside_names) that are none of its business.
///
/// # Errors
/// Every problem, each with its place.
pub fn check(body: &str, prices: &CatalogueFile) -> Result<CheckedDocument, Problems> {
    let catalogue = prices.read().map_err(|why| {
        let mut problems = Problems::default();
        problems.push(CATALOGUE_NAME, why);
        problems
    })?;
    let ResolvedPrices { text, mut problems } = resolve(body.as_bytes(), &catalogue);
    if text.len() > LONGEST {
        let reason = format!("is longer than {LONGEST} bytes, which is all that a gateway reads");
        problems.push("", reason);
        return Err(problems);
    }
    let compiled = match Document::parse(&text).and_then(|document| compile(&document)) {
        Ok(compiled) if problems.is_empty() => compiled,
        Ok(_) => return Err(problems),
        Err(Problems(others)) => {
            problems.0.extend(others);
            return Err(problems);
        }
    };
    let outside = outside_names(&compiled.policy);
    if !outside.is_empty() {
        return Err(outside);
    }
    let Ok(served) = String::from_utf8(text.into_owned()) else {
        problems.push("", "is not UTF-8");
        return Err(problems);
    };
    if served.contains('\0') {
        // JSON has none outside of strings, and none in them unescaped; PostgreSQL could not store it.
        problems.push("", "has a zero byte");
        return Err(problems);
    }
    let mut warnings = Problems(compiled.warnings);
    warnings.0.extend(uncached(&compiled.policy, &catalogue));
    Ok(CheckedDocument {
        etag: hex::encode(Sha256::digest(served.as_bytes())),
        served,
        groups: compiled.policy.groups().len(),
        keys: compiled.keys.len(),
        destinations: CredentialDestination::of_policy(&compiled.policy),
        warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_at_its_place() {
        let sample = include_str!("../../../envoy/gateway.json");
        let checked = check(sample, &CatalogueFile::default()).unwrap();
        assert_eq!(checked.served, sample);
        assert!(checked.groups > 3);

        let bad = r#"{"groups": [{"id": "a", "protocol": "X"}, {"id": "b", "protocol": "A", "multiplier": "x"}], "keys": []}"#;
        let problems = check(bad, &CatalogueFile::default()).unwrap_err();
        let places: Vec<_> = problems
            .0
            .iter()
            .map(|problem| problem.path.as_str())
            .collect();
        assert!(
            places.iter().any(|place| place.starts_with("groups[0]")),
            "{places:?}"
        );
    }

    #[test]
    fn what_the_catalogue_lacks() {
        let unknown = r#"{"currency": "USD", "groups": [{"id": "a", "protocol": "A", "models": [{"id": "m", "prices": "catalogue"}]}], "keys": []}"#;
        let problems = check(unknown, &CatalogueFile::default()).unwrap_err();
        let path = &problems.0.first().unwrap().path;
        assert_eq!(path, "groups[0].models[0].prices");
    }
}
