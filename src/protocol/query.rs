//! The query of a request target, read and cut without touching the rest of it.

use std::borrow::Cow;

use percent_encoding::percent_decode;

/// A request target, split at its first question mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTarget<'a> {
    /// The path.
    pub path: &'a [u8],
    /// The query, without its question mark; `None` where there is none.
    pub query: Option<&'a [u8]>,
}

/// The parameter in which older clients of protocol C send their key.
pub(super) const KEY: &str = "key";

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

    /// The parameters, as they were sent.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.query.into_iter().flat_map(|q| q.split(|&b| b == b'&'))
    }
}

/// The name and the value of a parameter, as they were sent.
pub(super) fn split(parameter: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = parameter.splitn(2, |&b| b == b'=');
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}

pub(super) fn decoded_name(parameter: &[u8]) -> Cow<'_, [u8]> {
    let (name, _) = split(parameter);
    percent_decode(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded() {
        let target = RequestTarget::parse(b"/p?key=a%2Bb&limit=5&key=&after_id=x%20y?z");
        assert_eq!(target.keys().collect::<Vec<_>>(), [b"a+b".to_vec(), vec![]]);
        assert_eq!(target.values("limit").next(), Some(b"5".to_vec()));
        assert_eq!(target.values("after_id").next(), Some(b"x y?z".to_vec()));
        assert_eq!(target.values("none").next(), None);
    }
}
