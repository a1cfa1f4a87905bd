//! The query of a request target, read and cut without touching the rest of it.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use super::parameters;

/// A request target, split at its first question mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTarget<'a> {
    /// The path.
    pub path: &'a [u8],
    /// The query, without its question mark; `None` where there is none.
    pub query: Option<&'a [u8]>,
}

/// The parameter in which older clients of protocol C send their key.
const KEY: &str = "key";

/// The parameters that go upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassingParameters {
    /// All but the key: the others are known, or the request is rejected (protocol C).
    AllButKey,
    /// Parameters that protocols A and B know.
    Known,
}

impl PassingParameters {
    fn takes(self, parameter: &[u8]) -> bool {
        match self {
            Self::AllButKey => *decoded_name(parameter) != *KEY.as_bytes(),
            Self::Known => {
                let (name, value) = split(parameter);
                // A query may be empty, or have an empty place.
                parameter.is_empty() || parameters::is_known(name, value)
            }
        }
    }
}

impl<'a> RequestTarget<'a> {
    /// Splits `:path`.
    pub fn parse(target: &'a [u8]) -> Self {
        let mut parts = target.splitn(2, |&b| b == b'?');
        Self {
            path: parts.next().unwrap_or_default(),
            query: parts.next(),
        }
    }

    /// The values of a parameter, decoded, in order. `+` stands for itself: none of the
    /// parameters read here is form data.
    pub fn values(&self, name: &str) -> impl Iterator<Item = Vec<u8>> {
        self.parameters()
            .filter(move |parameter| *decoded_name(parameter) == *name.as_bytes())
            .map(|parameter| {
                let mut parts = parameter.splitn(2, |&b| b == b'=');
                parts.next();
                percent_decode(parts.next().unwrap_or_default()).collect()
            })
    }

    /// The values of `key`, decoded. What they hold may be secret.
    pub fn keys(&self) -> impl Iterator<Item = Vec<u8>> {
        self.values(KEY)
    }

    /// Names and values as they were sent, in order. The value of a parameter without `=` is empty.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.parameters().map(split)
    }

    /// The parameters that do not go upstream, as they were sent.
    pub fn left_out(&self, passing: PassingParameters) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.parameters()
            .filter(move |parameter| !passing.takes(parameter))
    }

    /// The target to forward: `path` for the path, and of the query what passes, as it is.
    pub fn rewritten(&self, path: &[u8], passing: PassingParameters) -> Vec<u8> {
        let mut target = path.to_vec();
        let mut separator = b'?';
        let mut first_kept = true;
        if self.query.is_some() {
            for parameter in self.parameters() {
                if !passing.takes(parameter) {
                    continue;
                }
                target.push(separator);
                target.extend_from_slice(parameter);
                separator = b'&';
                first_kept = false;
            }
            // A query that was empty stays so; one that lost all its parameters goes.
            if first_kept && self.query == Some(b"") {
                target.push(b'?');
            }
        }
        target
    }

    fn parameters(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.query.into_iter().flat_map(|q| q.split(|&b| b == b'&'))
    }
}

/// The name and the value of a parameter, as they were sent.
fn split(parameter: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = parameter.splitn(2, |&b| b == b'=');
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}

fn decoded_name(parameter: &[u8]) -> Cow<'_, [u8]> {
    let (name, _) = split(parameter);
    percent_decode(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_and_how() {
        // (case, target, where all but the key passes, where what is known passes)
        let cases = [
            ("no query", "/p", "/q", "/q"),
            (
                "other parameters",
                "/p?alt=sse&x=%2f+&y",
                "/q?alt=sse&x=%2f+&y",
                "/q",
            ),
            ("first", "/p?key=s&alt=sse", "/q?alt=sse", "/q"),
            ("last", "/p?alt=sse&key=s", "/q?alt=sse", "/q"),
            ("only", "/p?key=s", "/q", "/q"),
            ("several", "/p?key=a&b=1&key=c", "/q?b=1", "/q"),
            ("encoded name", "/p?%6bey=s&b=1", "/q?b=1", "/q"),
            ("no value", "/p?key&b=1", "/q?b=1", "/q"),
            ("known", "/p?beta=true", "/q?beta=true", "/q?beta=true"),
            (
                "known, as they were sent",
                "/p?api-version=2%2D1&beta&model=m&beta=",
                "/q?api-version=2%2D1&beta&model=m&beta=",
                "/q?api-version=2%2D1&beta&beta=",
            ),
            ("known, encoded", "/p?%62eta=true", "/q?%62eta=true", "/q"),
            ("known, in another case", "/p?Beta=1", "/q?Beta=1", "/q"),
            (
                "another parameter behind a semicolon",
                "/p?beta=true;model=m",
                "/q?beta=true;model=m",
                "/q",
            ),
            ("empty query", "/p?", "/q?", "/q?"),
            ("empty parameters", "/p?&&a", "/q?&&a", "/q?&"),
        ];
        for (case, target, all, known) in cases {
            for (passing, want) in [
                (PassingParameters::AllButKey, all),
                (PassingParameters::Known, known),
            ] {
                let target = RequestTarget::parse(target.as_bytes());
                let got = target.rewritten(b"/q", passing);
                assert_eq!(String::from_utf8(got).unwrap(), want, "{case}, {passing:?}");
            }
        }
    }

    #[test]
    fn values_are_decoded() {
        let target = RequestTarget::parse(b"/p?key=a%2Bb&limit=5&key=&after_id=x%20y?z");
        assert_eq!(target.keys().collect::<Vec<_>>(), [b"a+b".to_vec(), vec![]]);
        assert_eq!(target.values("limit").next(), Some(b"5".to_vec()));
        assert_eq!(target.values("after_id").next(), Some(b"x y?z".to_vec()));
        assert_eq!(target.values("none").next(), None);
    }
}
