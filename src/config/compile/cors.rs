//! The origins of web pages whose scripts may read answers.

use core::net::Ipv6Addr;
use std::rc::Rc;

use crate::config::cors::{Cors, EVERY_ORIGIN};
use crate::config::document::CorsDocument;
use crate::config::error::Problems;

/// The longest origin, in bytes.
const LONGEST: usize = 256;
/// The largest number of origins: each request of a browser is compared with them.
const MOST: usize = 64;

pub(super) fn compile(document: Option<&CorsDocument>, problems: &mut Problems) -> Option<Cors> {
    let origins = document?.origins.as_deref().unwrap_or_default();
    if origins.is_empty() || origins.len() > MOST {
        problems.push(
            "cors.origins",
            format!("must name 1 to {MOST} origins; leave cors out for none"),
        );
    }
    for (position, origin) in origins.iter().enumerate() {
        let path = format!("cors.origins[{position}]");
        if origin == EVERY_ORIGIN {
            if origins.len() > 1 {
                problems.push(path, "stands for every origin, and so must stand alone");
            }
        } else if !is_origin(origin) {
            problems.push(
                path,
                "must be an origin as browsers send it, such as \"https://app.example.com\" or \"http://localhost:3000\": a scheme and a \
                 host in lower case, a port where it is not the scheme's own, and nothing behind it",
            );
        }
    }
    Some(Cors {
        origins: origins.iter().map(|origin| Rc::from(&**origin)).collect(),
    })
}

/// Whether a text is an origin as browsers send it: they compare byte by byte, and so does the gateway.
fn is_origin(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    // Behind the brackets of an IPv6 address.
    let end = rest.find(']').map_or(0, |end| end.saturating_add(1));
    let (host, port) = match rest.get(end..).and_then(|tail| tail.find(':')) {
        Some(at) => {
            let (host, port) = rest.split_at(end.saturating_add(at));
            (host, port.strip_prefix(':'))
        }
        None => (rest, None),
    };
    text.len() <= LONGEST
        && is_scheme(scheme)
        && is_host(host)
        && port.is_none_or(|port| is_port(port, scheme))
}

fn is_scheme(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(b))
}

fn is_host(text: &str) -> bool {
    if let Some(address) = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        let parsed: Option<Ipv6Addr> = address.parse().ok();
        return parsed.is_some_and(|parsed| parsed.to_string() == address);
    }
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._".contains(&b);
    !text.is_empty() && text.bytes().all(is_plain)
}

/// Whether a text is a port that browsers write: the scheme's own they leave out.
fn is_port(text: &str, scheme: &str) -> bool {
    let number: Option<u16> = text.parse().ok();
    let own = match scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    };
    number.is_some_and(|number| number > 0 && Some(number) != own && number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_as_browsers_send_them() {
        let good = [
            "https://app.example.com",
            "http://localhost:3000",
            "http://localhost",
            "http://127.0.0.1:8080",
            "http://[::1]:8080",
            "https://[2001:db8::1]",
            "https://xn--bcher-kva.example",
            "https://a_b.example:444",
            "http://h:443",
            "chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb",
            "app://obsidian.md",
            "tauri://localhost",
        ];
        for origin in good {
            assert!(is_origin(origin), "{origin}");
        }
        let long = format!("https://{}.example", "a".repeat(LONGEST));
        let bad = [
            "",
            "null",
            "app.example.com",
            "//app.example.com",
            "https://",
            "https://app.example.com/",
            "https://app.example.com/chat",
            "https://app.example.com?x",
            "https://App.example.com",
            "HTTPS://app.example.com",
            "https://app.example.com:443",
            "http://app.example.com:80",
            "https://app.example.com:",
            "https://app.example.com:0",
            "https://app.example.com:0444",
            "https://app.example.com:65536",
            "https://app.example.com:x",
            "https://user@app.example.com",
            "https://*.example.com",
            "https://bücher.example",
            "https://[::1",
            "https://[0:0::1]",
            "https://[app]",
            " https://app.example.com",
            "https://app.example.com,https://b.example.com",
            &long,
        ];
        for origin in bad {
            assert!(!is_origin(origin), "{origin}");
        }
    }
}
