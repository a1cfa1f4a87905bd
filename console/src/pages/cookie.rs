//! The console's cookies.

use http::HeaderMap;
use http::header::{COOKIE, HeaderValue};

/// The look that the reader has chosen.
pub const APPEARANCE: &str = "trilane-appearance";
/// The language that the reader has chosen.
pub const LANGUAGE: &str = "trilane-language";

/// The cookie of the session. Where there is TLS no other host and no plain request can set or see it.
pub const fn session(https: bool) -> &'static str {
    if https {
        "__Host-trilane-session"
    } else {
        "trilane-session"
    }
}

/// The cookie of a device with which one has signed in.
pub const fn device(https: bool) -> &'static str {
    if https {
        "__Host-trilane-device"
    } else {
        "trilane-device"
    }
}

/// The cookie of a browser that signs in at an identity provider.
pub const fn authorization(https: bool) -> &'static str {
    if https {
        "__Host-trilane-authorization"
    } else {
        "trilane-authorization"
    }
}

/// The value of a cookie.
pub fn find<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let values = headers.get_all(COOKIE).into_iter();
    let mut cookies = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    cookies.find_map(|cookie| {
        let (of, value) = cookie.split_once('=')?;
        (of.trim() == name).then(|| value.trim())
    })
}

/// The header that sets the session, for as long as it lasts at most; zero seconds remove it.
pub fn set_session(token: &str, seconds: i64, https: bool) -> HeaderValue {
    set(session(https), token, seconds, https)
}

/// The header that tells a device with which one has signed in, for as long as that is remembered.
pub fn set_device(token: &str, seconds: i64, https: bool) -> HeaderValue {
    set(device(https), token, seconds, https)
}

/// The header that tells a browser that signs in at an identity provider; zero seconds remove it.
pub fn set_authorization(token: &str, seconds: i64, https: bool) -> HeaderValue {
    set(authorization(https), token, seconds, https)
}

fn set(name: &str, token: &str, seconds: i64, https: bool) -> HeaderValue {
    let secure = if https { "; Secure" } else { "" };
    header(&format!(
        "{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
    ))
}

/// The header that keeps a choice of the reader, for a year.
pub fn set_choice(name: &str, choice: &str, https: bool) -> HeaderValue {
    set(name, choice, 31_536_000, https)
}

fn header(text: &str) -> HeaderValue {
    // Letters, digits and signs that every header may have: it cannot fail.
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found() {
        let cases = [
            ("alone", "a=1", Some("1")),
            ("among others", "b=2; a=1;c=3", Some("1")),
            ("a longer name", "aa=1", None),
            ("none", "", None),
            ("a value with a sign", "a=x=y", Some("x=y")),
        ];
        for (case, value, want) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_static(value));
            assert_eq!(find(&headers, "a"), want, "{case}");
        }
    }

    #[test]
    fn who_may_have_it() {
        let plain = set_session("tls-x", 60, false);
        assert_eq!(
            plain,
            "trilane-session=tls-x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"
        );
        let over_tls = set_session("tls-x", 60, true);
        assert_eq!(
            over_tls,
            "__Host-trilane-session=tls-x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
    }
}
