//! JSON on one line, with blanks behind commas and colons: as people write it into a document.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// A value on one line.
pub fn json_line(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Into memory: it cannot fail for what has texts, numbers and names only.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Blanks));
    String::from_utf8(bytes).unwrap_or_default()
}

/// A line with blanks behind commas and colons.
struct Blanks;

impl Formatter for Blanks {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blanks() {
        let value = json!({"a": ["b, c", 1], "d": {"e": "f:\"g"}});
        assert_eq!(
            json_line(&value),
            r#"{"a": ["b, c", 1], "d": {"e": "f:\"g"}}"#
        );
    }
}
