//! The white space of a document, for text that is added to it.

use std::ops::Range;

use trilane_console::json_span::JsonMember;

/// The white space of an object, taken from an existing one.
#[derive(Debug, Clone)]
pub struct Style {
    /// Behind the opening bracket.
    open: Vec<u8>,
    /// Between name and value.
    colon: Vec<u8>,
    /// Between two members.
    pub between: Vec<u8>,
    /// Before the closing bracket.
    close: Vec<u8>,
}

impl Style {
    /// The style of the object at `span`.
    pub fn of(text: &[u8], span: &Range<usize>, members: &[JsonMember]) -> Self {
        let part = |from: usize, to: usize| text.get(from..to).map(<[u8]>::to_vec);
        let (first, last) = (members.first(), members.last());
        let colon = first.and_then(|first| part(first.at.end, first.value.start));
        let colon = colon.unwrap_or_else(|| b": ".to_vec());
        let between = match members {
            [first, second, ..] => part(first.value.end, second.at.start),
            _ => None,
        };
        let open = first.and_then(|first| part(span.start.saturating_add(1), first.at.start));
        let open = open.unwrap_or_default();
        let close = last.and_then(|last| part(last.value.end, span.end.saturating_sub(1)));
        let likely = || match (open.as_slice(), colon.as_slice()) {
            ([], b":") => b",".to_vec(),
            ([], _) => b", ".to_vec(),
            (open, _) => [b",", open].concat(),
        };
        Self {
            between: between.unwrap_or_else(likely),
            open,
            close: close.unwrap_or_default(),
            colon,
        }
    }

    /// Whether there is no optional white space.
    pub fn is_compact(&self) -> bool {
        self.colon == b":"
    }

    /// The same without ends of lines.
    pub fn in_a_line(&self) -> Self {
        Self {
            open: Vec::new(),
            colon: self.colon.clone(),
            between: if self.is_compact() {
                b",".to_vec()
            } else {
                b", ".to_vec()
            },
            close: Vec::new(),
        }
    }

    /// A member; `value` is JSON.
    pub fn member(&self, name: &str, value: &str) -> Vec<u8> {
        let name = serde_json::Value::from(name).to_string();
        [name.as_bytes(), &self.colon, value.as_bytes()].concat()
    }

    /// An object of these members.
    pub fn object(&self, members: &[(&str, String)]) -> Vec<u8> {
        let members = members.iter().map(|(name, value)| self.member(name, value));
        let members = members.collect::<Vec<_>>().join(self.between.as_slice());
        [b"{", self.open.as_slice(), &members, &self.close, b"}"].concat()
    }

    /// A list in an object of this style, with one element: on a line of its own where the object's members
    /// have one.
    pub fn list_of_one(&self, element: &[u8]) -> Vec<u8> {
        let newline = self.open.iter().rposition(|b| *b == b'\n');
        let Some(at) = newline else {
            return [b"[", element, b"]"].concat();
        };
        let (end, indent) = self.open.split_at(at.saturating_add(1));
        let end = if end.ends_with(b"\r\n") {
            b"\r\n".as_slice()
        } else {
            b"\n"
        };
        [b"[", end, indent, indent, element, end, indent, b"]"].concat()
    }
}
