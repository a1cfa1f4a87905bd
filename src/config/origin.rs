//! Address of an upstream account: the parts of its URL.

use core::fmt;
use core::net::Ipv6Addr;

/// The base address of an upstream account, such as `https://api.example.com/base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Whether it is reached by TLS.
    pub tls: bool,
    /// The host: a name or an address, an IPv6 one without brackets.
    pub host: String,
    /// The port; the scheme's own where the URL names none.
    pub port: u16,
    /// The path: empty, or `/` and segments without a `/` at the end. [`Base`](super::base::Base) says what becomes of it.
    pub base_path: String,
}

impl Origin {
    /// Reads a URL.
    ///
    /// # Errors
    /// The problem of a URL that is not `http` or `https`, a host, perhaps a port, and perhaps a plain path.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        let (tls, rest) = match url.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err("must begin with https:// or http://"),
        };
        if rest.contains(['?', '#']) {
            return Err("must have no query and no fragment");
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err("must hold no credential: that goes into a file of its own");
        }
        let (host, port) = split_port(authority).ok_or("has no plain host and port")?;
        let port = match port {
            None if tls => 443,
            None => 80,
            Some(text) => number(text).ok_or("has a port that is none")?,
        };
        let host = plain_host(host).ok_or("has a host that is neither a name nor an address")?;
        Ok(Self {
            tls,
            host: host.to_owned(),
            port,
            base_path: plain_path(path)
                .ok_or("has a path with other than letters, digits and - . _ ~ in its segments")?
                .to_owned(),
        })
    }

    /// The host as a URL writes it: an IPv6 address in brackets.
    pub fn authority_host(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }

    /// Scheme and host, and the port where it is not the scheme's own.
    pub fn site(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}", self.authority())
    }

    /// Returns the value of the `host` header: with the port only where it is not the scheme's own.
    pub fn authority(&self) -> String {
        let own = if self.tls { 443 } else { 80 };
        if self.port == own {
            self.authority_host()
        } else {
            format!("{}:{}", self.authority_host(), self.port)
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.site(), self.base_path)
    }
}

/// Host and port of an authority, the host still in its brackets.
fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (_, after) = rest.split_once(']')?;
        let host = authority.strip_suffix(after)?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, Some(port))),
        None => Some((authority, None)),
    }
}

/// A port, in digits alone.
fn number(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port: &u16| digits && *port != 0)
}

/// The host without brackets, where it is a name (RFC 1123, 2.1) or an address.
fn plain_host(host: &str) -> Option<&str> {
    if let Some(inner) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().ok().map(|_| inner);
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    (host.len() <= 253 && host.split('.').all(label)).then_some(host)
}

/// The path without the slash at its end, where every segment is plain.
fn plain_path(path: &str) -> Option<&str> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let segment = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    let mut segments = path.split('/');
    let rooted = segments.next() == Some("");
    (rooted && path.len() <= 256 && segments.all(segment)).then_some(path)
}

/// Whether this can be the value of a header: visible ASCII, and some of it.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic())
}

/// Whether this can be a request's path.
pub(crate) fn is_path(text: &str) -> bool {
    is_plain(text) && text.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let cases = [
            (
                "a name",
                "https://api.example.com",
                Some((true, "api.example.com", 443, "")),
            ),
            (
                "a slash",
                "https://api.example.com/",
                Some((true, "api.example.com", 443, "")),
            ),
            ("a port", "http://h:8080", Some((false, "h", 8080, ""))),
            ("plain", "http://h", Some((false, "h", 80, ""))),
            (
                "a path",
                "https://h/openai/v2/",
                Some((true, "h", 443, "/openai/v2")),
            ),
            (
                "IPv4",
                "http://127.0.0.1:9101",
                Some((false, "127.0.0.1", 9101, "")),
            ),
            (
                "IPv6",
                "https://[::1]:8443/x",
                Some((true, "::1", 8443, "/x")),
            ),
            (
                "IPv6 without a port",
                "https://[2001:db8::1]",
                Some((true, "2001:db8::1", 443, "")),
            ),
            ("no scheme", "api.example.com", None),
            ("another scheme", "ftp://h", None),
            ("a credential", "https://key@h", None),
            ("no host", "https://", None),
            ("no host, a port", "https://:80", None),
            ("port 0", "https://h:0", None),
            ("port with a sign", "https://h:+1", None),
            ("port too great", "https://h:65536", None),
            ("a query", "https://h/x?key=1", None),
            ("a query without a path", "https://h?key=1", None),
            ("a fragment", "https://h/#x", None),
            ("a dot segment", "https://h/a/../b", None),
            ("two slashes", "https://h//b", None),
            ("an escape", "https://h/%61", None),
            ("a space", "https://h /x", None),
            ("half a bracket", "https://[::1/x", None),
            ("no address in brackets", "https://[h]", None),
            ("a bare IPv6 address", "https://::1", None),
            ("an empty label", "https://a..b", None),
        ];
        for (case, url, want) in cases {
            let got = Origin::parse(url);
            let parts = got
                .as_ref()
                .ok()
                .map(|o| (o.tls, o.host.as_str(), o.port, o.base_path.as_str()));
            assert_eq!(parts, want, "{case}: {got:?}");
        }
    }

    #[test]
    fn an_origin_is_written_as_it_was_read() {
        for url in [
            "https://api.example.com",
            "http://h:8080/x",
            "https://[::1]:8443",
            "https://[::1]/a/b",
        ] {
            assert_eq!(Origin::parse(url).unwrap().to_string(), url);
        }
    }
}
