//! Another name for the model in a body that goes upstream once more.

use core::ops::Range;

use super::BodyScanner;

/// The change of the model's name in a JSON body, found as the body is read.
#[derive(Debug)]
pub struct Renaming<'a> {
    scanner: BodyScanner,
    name: &'a str,
}

impl<'a> Renaming<'a> {
    /// The change to this name.
    pub fn new(name: &'a str) -> Self {
        Self {
            scanner: BodyScanner::json(),
            name,
        }
    }

    /// Reads the next bytes of the body. All of it has been found good before.
    pub fn read(&mut self, bytes: &[u8]) {
        let _ = self.scanner.feed(bytes);
    }

    /// The bytes that change and those in their place, once the whole body was read; `None` for a body without such a name.
    pub fn change(&self) -> Option<(Range<usize>, Vec<u8>)> {
        let found = self.scanner.model().filter(|found| !found.truncated)?;
        let place = |at: u64| usize::try_from(at).ok();
        let span = place(found.span.start)?..place(found.span.end)?;
        Some((span, self.scanner.encode_model(self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_string_changes_wherever_the_body_is_split() {
        for (case, body, name, want) in [
            (
                "in front",
                r#"{"model":"gpt-x","input":"gpt-x"}"#,
                "vendor/gpt-x",
                Some(r#"{"model":"vendor/gpt-x","input":"gpt-x"}"#),
            ),
            (
                "behind, shorter",
                r#"{"messages":[{"model":"decoy"}],"mod\u0065l": "vendor/gpt-x" }"#,
                "x",
                Some(r#"{"messages":[{"model":"decoy"}],"mod\u0065l": "x" }"#),
            ),
            (
                "with what must be escaped",
                r#"{"model":"a"}"#,
                "a\"b",
                Some(r#"{"model":"a\"b"}"#),
            ),
            ("none", r#"{"input":{"model":"decoy"}}"#, "x", None),
        ] {
            for split in 0..=body.len() {
                let (first, second) = body.as_bytes().split_at(split);
                let mut renaming = Renaming::new(name);
                renaming.read(first);
                renaming.read(second);
                let changed = renaming.change().map(|(span, bytes)| {
                    let mut body = body.as_bytes().to_vec();
                    body.splice(span, bytes);
                    String::from_utf8(body).unwrap()
                });
                assert_eq!(changed.as_deref(), want, "{case} at {split}");
            }
        }
    }
}
