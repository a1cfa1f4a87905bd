//! A document is read from its text.

use super::document::Document;
use super::error::Problems;
#[cfg(not(target_arch = "wasm32"))]
use super::salvage;
use super::schema;

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// Bytes that are no JSON give one problem. JSON of another form gives every unknown field and every value of a wrong
    /// type (of a hundred, the rest is left unsaid; of members that stand twice, the first), and what is wrong with all else;
    /// in a gateway the first of them. No value is quoted: an operator may have put a secret in a wrong place.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problems> {
        let read = schema::read(bytes);
        #[cfg(not(target_arch = "wasm32"))]
        let read = read.map_err(|first| salvage::problems(bytes, first));
        read
    }
}
