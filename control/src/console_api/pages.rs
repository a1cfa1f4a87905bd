//! Lists in pages, read to their end.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::ConsoleApi;
use super::error::ApiError;

/// The items of a page: the most that a console gives.
const MOST: &str = "500";

#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
}

/// A path with parameters.
fn query(path: &str, parameters: &[(&str, &str)]) -> String {
    let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
    let parameters = parameters.iter();
    let parameters = parameters.map(|(name, value)| format!("{name}={}", encoded(value)));
    format!("{path}?{}", parameters.collect::<Vec<_>>().join("&"))
}

impl ConsoleApi {
    /// All items of a list.
    ///
    /// # Errors
    /// The reason that the console does not give a page of it.
    pub fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Vec<T>, ApiError> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut parameters = parameters.to_vec();
            parameters.push(("limit", MOST));
            parameters.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page: Page<T> = self.get(&query(path, &parameters))?;
            items.extend(page.items);
            match page.next {
                // A page that leads to itself would never end.
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                Some(_) => return Err(self.unexpected()),
                None => return Ok(items),
            }
        }
    }
}
