//! A message head as Envoy hands it over: names in lower case, values as bytes.

/// The names and values of a request's or response's header block, pseudo-headers included.
///
/// Values are bytes because a client may send any octet but NUL, CR and LF (RFC 9110, section 5.5).
/// `Debug` prints names only: a value may be a credential.
#[derive(Clone, Default)]
pub struct Head {
    pairs: Vec<(String, Vec<u8>)>,
}

/// How often a header occurs in a [`Head`], with its value where it is unambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence<'a> {
    /// The header is not there.
    Absent,
    /// It occurs once, with this value (which may be empty).
    Once(&'a [u8]),
    /// It occurs more than once.
    Repeated,
}

impl Head {
    /// Takes the pairs as they came, in order, names already in lower case.
    pub fn new(pairs: Vec<(String, Vec<u8>)>) -> Self {
        Self { pairs }
    }

    /// The first value of `name`, or `None` where the header is absent.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    /// The value of `name` if it occurs exactly once; security decisions read headers this way.
    pub fn single(&self, name: &str) -> Occurrence<'_> {
        let mut values = self.values(name);
        match (values.next(), values.next()) {
            (None, _) => Occurrence::Absent,
            (Some(value), None) => Occurrence::Once(value),
            (Some(_), Some(_)) => Occurrence::Repeated,
        }
    }

    /// Whether `name` occurs at all.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Every value of `name`, in the order sent.
    pub fn values<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s [u8]> {
        self.pairs
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, v)| v.as_slice())
    }

    /// The names in the order sent, repeated ones repeatedly.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(n, _)| n.as_str())
    }

    /// The `:method` pseudo-header; empty where it is missing.
    pub fn method(&self) -> &[u8] {
        self.get(":method").unwrap_or_default()
    }

    /// The `:path` pseudo-header with its query; empty where it is missing.
    pub fn target(&self) -> &[u8] {
        self.get(":path").unwrap_or_default()
    }
}

impl core::fmt::Debug for Head {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(pairs: &[(&str, &[u8])]) -> Head {
        Head::new(
            pairs
                .iter()
                .map(|(n, v)| ((*n).to_owned(), v.to_vec()))
                .collect(),
        )
    }

    #[test]
    fn occurrences_are_told_apart() {
        let head = head(&[("a", b"1"), ("b", b""), ("a", b"2")]);
        let cases = [
            ("absent", "c", Occurrence::Absent),
            ("empty is present", "b", Occurrence::Once(b"")),
            ("twice", "a", Occurrence::Repeated),
        ];
        for (name, header, want) in cases {
            assert_eq!(head.single(header), want, "{name}");
        }
    }

    #[test]
    fn debug_prints_no_value() {
        let text = format!("{:?}", head(&[("x-api-key", b"sk-secret")]));
        assert_eq!(text, r#"["x-api-key"]"#);
    }
}
