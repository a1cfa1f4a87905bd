//! The base URL of the console.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::Uri;
use serde::{Deserialize, Serialize};

/// The address of a console: `https://console.example.com`, perhaps with a path. Without TLS it is on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String")]
pub struct ConsoleUrl(String);

impl ConsoleUrl {
    /// The URL of a path of its API, which begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Whether it wants TLS.
    pub fn is_tls(&self) -> bool {
        self.0.starts_with("https:")
    }
}

impl fmt::Display for ConsoleUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ConsoleUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is no address of a console: write it as https://console.example.com")
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let host = uri.host().ok_or_else(wrong)?;
        if uri.query().is_some()
            || uri
                .authority()
                .is_some_and(|all| all.as_str().contains('@'))
        {
            return Err(wrong());
        }
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_loopback(host) => {}
            Some("http") => {
                return Err(format!(
                    "{text} has no TLS, and {host} is not this machine: credentials and keys would pass in the clear. Use https"
                ));
            }
            _ => return Err(wrong()),
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl TryFrom<String> for ConsoleUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_address() {
        for (text, want) in [
            (
                "https://console.example.com",
                Ok("https://console.example.com/x"),
            ),
            ("https://h:8443/trilane/", Ok("https://h:8443/trilane/x")),
            ("http://127.0.0.1:10092", Ok("http://127.0.0.1:10092/x")),
            ("http://[::1]:10092", Ok("http://[::1]:10092/x")),
            ("http://localhost:10092", Ok("http://localhost:10092/x")),
            ("http://console.example.com", Err("has no TLS")),
            ("http://127.0.0.1.example.com", Err("has no TLS")),
            ("http://10.0.0.1", Err("has no TLS")),
            ("console.example.com", Err("is no address")),
            ("https://user:word@h", Err("is no address")),
            ("https://h?x=1", Err("is no address")),
            ("ftp://h", Err("is no address")),
            ("", Err("is no address")),
        ] {
            match (text.parse::<ConsoleUrl>(), want) {
                (Ok(url), Ok(want)) => assert_eq!(url.join("/x"), want, "{text}"),
                (Err(why), Err(want)) => assert!(why.contains(want), "{text}: {why}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }
}
