//! The query of a request target, read and cut without touching the rest of it.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use super::credential_name::is_credential_parameter;

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

/// Which parameters do not go upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stripped {
    /// The key, where all other parameters are known (protocol C).
    Key,
    /// Whatever may hold a credential by its name (protocols A and B).
    Credentials,
}

impl Stripped {
    fn takes(self, name: &[u8]) -> bool {
        match self {
            Self::Key => name == KEY.as_bytes(),
            Self::Credentials => is_credential_parameter(name),
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
        self.parameters().map(|parameter| {
            let mut parts = parameter.splitn(2, |&b| b == b'=');
            (
                parts.next().unwrap_or_default(),
                parts.next().unwrap_or_default(),
            )
        })
    }

    /// The target to forward: `path` for the path, and the query less what is cut.
    /// The bytes of the other parameters stay as they are.
    pub fn rewritten(&self, path: &[u8], cut: Stripped) -> Vec<u8> {
        let mut target = path.to_vec();
        let mut separator = b'?';
        let mut first_kept = true;
        if self.query.is_some() {
            for parameter in self.parameters() {
                if cut.takes(&decoded_name(parameter)) {
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

fn decoded_name(parameter: &[u8]) -> Cow<'_, [u8]> {
    let name = parameter.split(|&b| b == b'=').next().unwrap_or_default();
    percent_decode(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_and_nothing_else() {
        // (case, target, with the key cut, with all credentials cut)
        let cases = [
            ("no query", "/p", "/q", "/q"),
            (
                "other parameters stay byte for byte",
                "/p?alt=sse&x=%2f+&y",
                "/q?alt=sse&x=%2f+&y",
                "/q?alt=sse&x=%2f+&y",
            ),
            ("first", "/p?key=s&alt=sse", "/q?alt=sse", "/q?alt=sse"),
            ("last", "/p?alt=sse&key=s", "/q?alt=sse", "/q?alt=sse"),
            ("only", "/p?key=s", "/q", "/q"),
            ("several", "/p?key=a&b=1&key=c", "/q?b=1", "/q?b=1"),
            ("encoded name", "/p?%6bey=s&b=1", "/q?b=1", "/q?b=1"),
            ("no value", "/p?key&b=1", "/q?b=1", "/q?b=1"),
            (
                "a token",
                "/p?access_token=s&b=1",
                "/q?access_token=s&b=1",
                "/q?b=1",
            ),
            ("a token of pages", "/p?pageToken=s", "/q?pageToken=s", "/q"),
            (
                "other names of keys",
                "/p?apiKey=s&%24key=t&KEY=u&b=1&x[api_key]=v",
                "/q?apiKey=s&%24key=t&KEY=u&b=1&x[api_key]=v",
                "/q?b=1",
            ),
            (
                "no credential",
                "/p?beta=true",
                "/q?beta=true",
                "/q?beta=true",
            ),
            ("empty query", "/p?", "/q?", "/q?"),
            ("empty parameters", "/p?&&a", "/q?&&a", "/q?&&a"),
        ];
        for (case, target, key, credentials) in cases {
            for (cut, want) in [(Stripped::Key, key), (Stripped::Credentials, credentials)] {
                let got = RequestTarget::parse(target.as_bytes()).rewritten(b"/q", cut);
                assert_eq!(String::from_utf8(got).unwrap(), want, "{case}, {cut:?}");
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
