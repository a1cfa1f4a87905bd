//! Names that say that their value is a credential, in headers.
//!
//! Vendors and gateways have hundreds of names for a key, and new ones come every month, so no list of whole names is
//! ever complete. The words that such names are made of are few.

/// The words of a name: what stands between `-`, `_`, `.`, `$` and brackets.
pub fn words(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'$' | b'[' | b']'))
}

/// Whether a word, in lower case, says that the value is a credential; `before` is the word before it in the name, and
/// empty for the first.
///
/// A key that names a request or an entry of a cache is none: `idempotency-key`, `prompt_cache_key`.
#[inline]
pub fn is_credential(before: &[u8], word: &[u8]) -> bool {
    if is_auth(word) {
        return true;
    }
    // The last byte rules nearly every word out.
    match word.last() {
        Some(b'y') => word.ends_with(b"key") && !matches!(before, b"idempotency" | b"cache"),
        Some(b'n') => word.ends_with(b"token"),
        Some(b't') => word.ends_with(b"secret") || matches!(word, b"jwt" | b"cert"),
        Some(b'd') => word.ends_with(b"password") || matches!(word, b"passwd" | b"pwd"),
        Some(b'e') => {
            word.ends_with(b"cookie")
                || word.ends_with(b"signature")
                || matches!(word, b"passphrase" | b"passcode" | b"certificate")
        }
        Some(b's') => matches!(
            word,
            b"credentials"
                | b"creds"
                | b"secrets"
                | b"cookies"
                | b"keys"
                | b"apikeys"
                | b"jws"
                | b"pass"
        ),
        Some(b'l') => word == b"credential",
        Some(b'r') => word == b"bearer",
        Some(b'g') => word == b"sig",
        Some(b'c') => word == b"hmac",
        Some(b'f') => matches!(word, b"csrf" | b"xsrf"),
        Some(b'p') => matches!(word, b"otp" | b"totp"),
        Some(b'2') => word == b"cookie2",
        _ => false,
    }
}

/// `auth`, `authorization`, `oauth2`, `xauth`, …, and not `author`.
#[inline]
fn is_auth(word: &[u8]) -> bool {
    match word {
        [b'a', b'u', b't', b'h', rest @ ..] => !rest.starts_with(b"or") || rest.starts_with(b"ori"),
        [b'o', b'a', b'u', b't', b'h', ..] => true,
        _ => word.ends_with(b"auth"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a name holds a credential by one of its words.
    fn names_credential(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let mut before: &[u8] = &[];
        words(name.as_bytes()).any(|word| {
            let found = is_credential(before, word);
            before = word;
            found
        })
    }

    #[test]
    fn names_of_credentials() {
        let credentials = [
            "key",
            "KEY",
            "$key",
            "api_key",
            "api-key",
            "apiKey",
            "apikey",
            "x-api-key",
            "access_token",
            "oauth_token",
            "accessToken",
            "token",
            "id.token",
            "auth",
            "authorization",
            "oauth2",
            "xauth",
            "authenticate",
            "authuser",
            "client_secret",
            "clientsecret",
            "password",
            "passwd",
            "pwd",
            "jwt",
            "sig",
            "signature",
            "X-Amz-Signature",
            "X-Amz-Credential",
            "X-Amz-Security-Token",
            "subscription-key",
            "credentials",
            "cookie",
            "bearer",
            "keys",
            "auth[key]",
            "user[password]",
        ];
        for name in credentials {
            assert!(names_credential(name), "{name}");
        }
        let others = [
            "",
            "beta",
            "api-version",
            "limit",
            "after_id",
            "model",
            "stream",
            "alt",
            "author",
            "authors",
            "tokens",
            "max_tokens",
            "idempotency_key",
            "idempotency-key",
            "prompt_cache_key",
            "keyword",
            "monkeys",
            "passage",
            "encode",
            "session_id",
            "cookieless",
        ];
        for name in others {
            assert!(!names_credential(name), "{name}");
        }
    }
}
