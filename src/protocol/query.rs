//! The query of a request target, read and cut without touching the rest of it.

use percent_encoding::percent_decode;

/// A request target, split at its first question mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    /// The path.
    pub path: &'a [u8],
    /// The query, without its question mark; `None` where there is none.
    pub query: Option<&'a [u8]>,
}

/// The parameter in which older clients of protocol C send their key.
const KEY: &str = "key";
/// Parameters that hold a credential: none of them goes upstream.
const CREDENTIALS: [&[u8]; 2] = [KEY.as_bytes(), b"access_token"];

impl<'a> Target<'a> {
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
            .filter(move |parameter| decoded_name(parameter) == name.as_bytes())
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

    /// The target to forward: `path` for the path, and the query less its credentials.
    /// The bytes of the other parameters stay as they are.
    pub fn rewritten(&self, path: &[u8]) -> Vec<u8> {
        let mut target = path.to_vec();
        let mut separator = b'?';
        let mut first_kept = true;
        if self.query.is_some() {
            for parameter in self.parameters() {
                if CREDENTIALS.contains(&decoded_name(parameter).as_slice()) {
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

fn decoded_name(parameter: &[u8]) -> Vec<u8> {
    let name = parameter.split(|&b| b == b'=').next().unwrap_or_default();
    percent_decode(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_parameter_is_cut_and_nothing_else() {
        let cases = [
            ("no query", "/p", "/q"),
            (
                "other parameters stay byte for byte",
                "/p?alt=sse&x=%2f+&y",
                "/q?alt=sse&x=%2f+&y",
            ),
            ("first", "/p?key=s&alt=sse", "/q?alt=sse"),
            ("last", "/p?alt=sse&key=s", "/q?alt=sse"),
            ("only", "/p?key=s", "/q"),
            ("several", "/p?key=a&b=1&key=c", "/q?b=1"),
            ("a token", "/p?access_token=s&b=1", "/q?b=1"),
            ("encoded name", "/p?%6bey=s&b=1", "/q?b=1"),
            ("no value", "/p?key&b=1", "/q?b=1"),
            ("another name", "/p?keys=s&KEY=t", "/q?keys=s&KEY=t"),
            ("empty query", "/p?", "/q?"),
            ("empty parameters", "/p?&&a", "/q?&&a"),
        ];
        for (case, target, want) in cases {
            let got = Target::parse(target.as_bytes()).rewritten(b"/q");
            assert_eq!(String::from_utf8(got).unwrap(), want, "{case}");
        }
    }

    #[test]
    fn values_are_decoded() {
        let target = Target::parse(b"/p?key=a%2Bb&limit=5&key=&after_id=x%20y?z");
        assert_eq!(target.keys().collect::<Vec<_>>(), [b"a+b".to_vec(), vec![]]);
        assert_eq!(target.values("limit").next(), Some(b"5".to_vec()));
        assert_eq!(target.values("after_id").next(), Some(b"x y?z".to_vec()));
        assert_eq!(target.values("none").next(), None);
    }
}
