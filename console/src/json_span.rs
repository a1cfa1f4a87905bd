//! Byte ranges of values in a JSON text (RFC 8259).
//!
//! The text was parsed as JSON before, so it is not validated again; for other text the result may be `None`.

use std::ops::Range;

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonMember {
    /// The name of the member, unescaped.
    pub name: String,
    /// The range of the name, with its quotation marks.
    pub at: Range<usize>,
    /// The range of the value.
    pub value: Range<usize>,
}

/// The range of a text's only value.
pub fn root(text: &[u8]) -> Option<Range<usize>> {
    SpanScanner { text, at: 0 }.value()
}

/// The members of an object, in order.
pub fn members(text: &[u8], object: &Range<usize>) -> Option<Vec<JsonMember>> {
    let mut scanner = SpanScanner::within(text, object, b'{')?;
    let mut members = Vec::new();
    while scanner.next_is_not(b'}')? {
        let at = scanner.value()?;
        scanner.take(b':')?;
        let value = scanner.value()?;
        let name = serde_json::from_slice(text.get(at.clone())?).ok()?;
        members.push(JsonMember { name, at, value });
        scanner.comma();
    }
    Some(members)
}

/// The elements of an array, in order.
pub fn elements(text: &[u8], array: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let mut scanner = SpanScanner::within(text, array, b'[')?;
    let mut elements = Vec::new();
    while scanner.next_is_not(b']')? {
        elements.push(scanner.value()?);
        scanner.comma();
    }
    Some(elements)
}

/// The line, from 1, on which the value at a path such as `groups[2].models[0].id` begins. For a missing value it is the
/// line of the value that lacks it.
pub fn line(text: &[u8], path: &str) -> Option<usize> {
    let mut at = root(text)?;
    for part in path.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
        let found = match part.parse::<usize>() {
            Ok(position) => elements(text, &at).and_then(|all| all.get(position).cloned()),
            Err(_) => members(text, &at).and_then(|all| {
                let named = all.into_iter().find(|member| member.name == part);
                named.map(|member| member.value)
            }),
        };
        let Some(found) = found else {
            break;
        };
        at = found;
    }
    let before = text.get(..at.start)?;
    Some(
        before
            .iter()
            .filter(|b| **b == b'\n')
            .count()
            .saturating_add(1),
    )
}

struct SpanScanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> SpanScanner<'a> {
    /// Begins behind the opening bracket at `span`.
    fn within(text: &'a [u8], span: &Range<usize>, bracket: u8) -> Option<Self> {
        let text = text.get(..span.end)?;
        let mut scanner = Self {
            text,
            at: span.start,
        };
        scanner.take(bracket)?;
        Some(scanner)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.step();
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_blanks();
        (self.peek()? == byte).then(|| self.step())
    }

    fn comma(&mut self) {
        let _ = self.take(b',');
    }

    fn next_is_not(&mut self, end: u8) -> Option<bool> {
        self.skip_blanks();
        Some(self.peek()? != end)
    }

    /// Skips the next value; returns its range.
    fn value(&mut self) -> Option<Range<usize>> {
        self.skip_blanks();
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(b'{' | b'[') => {
                    depth = depth.saturating_add(1);
                    self.step();
                }
                Some(b'}' | b']') => {
                    depth = depth.checked_sub(1)?;
                    self.step();
                }
                Some(_) if depth > 0 => self.step(),
                Some(_) => self.scalar(),
                None => return None,
            }
            if depth == 0 {
                return (self.at > start).then_some(start..self.at);
            }
        }
    }

    /// Skips a string, to the quotation mark that is not escaped.
    fn string(&mut self) -> Option<()> {
        self.step();
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.step(),
                _ => {}
            }
            self.step();
        }
        self.step();
        Some(())
    }

    /// Skips a number or a literal.
    fn scalar(&mut self) {
        while matches!(
            self.peek(),
            Some(b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')
        ) {
            self.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::{collection, sample};

    use super::*;

    #[test]
    fn members_and_elements() {
        let text = br#" {"a\u0062" : [1, {"x": "]}\""}, "\\",[ ] ,-1e+5],"c":true ,"d":{}} "#;
        let root = root(text).unwrap();
        let shown = |span: &Range<usize>| {
            str::from_utf8(text.get(span.clone()).unwrap())
                .unwrap()
                .to_owned()
        };
        let found = members(text, &root).unwrap();
        let got: Vec<_> = found
            .iter()
            .map(|m| (m.name.as_str(), shown(&m.at), shown(&m.value)))
            .collect();
        let list = r#"[1, {"x": "]}\""}, "\\",[ ] ,-1e+5]"#;
        let want = [
            ("ab", r#""a\u0062""#, list),
            ("c", r#""c""#, "true"),
            ("d", r#""d""#, "{}"),
        ];
        assert_eq!(
            got,
            want.map(|(name, at, value)| (name, at.to_owned(), value.to_owned()))
        );
        let list = elements(text, &found.first().unwrap().value).unwrap();
        let list: Vec<_> = list.iter().map(shown).collect();
        assert_eq!(list, ["1", r#"{"x": "]}\""}"#, r#""\\""#, "[ ]", "-1e+5"]);
    }

    #[test]
    fn lines() {
        let text =
            b"{\n\"groups\": [\n{\"id\": 1},\n{\"models\": [\n{},\n{\"id\": 2}]}]\n,\"9\": 0}";
        for (case, path, want) in [
            ("the whole", "", 1),
            ("a list", "groups", 2),
            ("an element", "groups[0]", 3),
            ("its member", "groups[0].id", 3),
            ("deep", "groups[1].models[1].id", 6),
            ("what is missing", "groups[1].models[0].id", 5),
            ("what is missing at the top", "keys", 1),
            ("no such element", "groups[7].id", 2),
            ("another kind", "groups[0].id[0]", 3),
        ] {
            assert_eq!(line(text, path), Some(want), "{case}");
        }
        assert_eq!(line(b"", "a"), None);
    }

    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let bytes = sample::select(br#"{}[]",:\ a1"#.to_vec());
        collection::vec(bytes, 0..40)
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in texts()) {
            if let Some(root) = root(&text) {
                let _ = members(&text, &root);
                let _ = elements(&text, &root);
                let _ = line(&text, "a[1]");
            }
        }
    }
}
