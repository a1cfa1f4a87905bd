//! A request's head as Envoy hands it over: one buffer, by the proxy-wasm ABI.
//!
//! The buffer has the number of pairs, the lengths of each one's name and value (all of them 32 bits,
//! little endian), and then the names and values themselves, a zero byte behind each.

/// The head of a request as an official SDK sends it, in that buffer. `key` is the header with the account key; a body
/// of no bytes is none.
pub fn handed_over(method: &str, path: &str, key: (&str, &str), body: usize) -> Vec<u8> {
    let length = body.to_string();
    let mut pairs = vec![
        (":authority", "gateway.example"),
        (":path", path),
        (":method", method),
        (":scheme", "https"),
        key,
        ("accept", "application/json"),
        ("content-type", "application/json"),
        ("user-agent", "OpenAI/Python 2.8.1"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("anthropic-version", "2023-06-01"),
        ("x-stainless-lang", "python"),
        ("x-stainless-package-version", "2.8.1"),
        ("x-stainless-os", "Linux"),
        ("x-stainless-arch", "x64"),
        ("x-stainless-runtime", "CPython"),
        ("x-stainless-runtime-version", "3.13.1"),
        ("x-stainless-retry-count", "0"),
        ("x-stainless-read-timeout", "600"),
        ("x-forwarded-proto", "https"),
        ("x-request-id", "5d4a3c2b-0f1e-4a5b-8c7d-9e8f7a6b5c4d"),
    ];
    if body > 0 {
        pairs.push(("content-length", &length));
    }
    encoded(&pairs)
}

fn encoded(pairs: &[(&str, &str)]) -> Vec<u8> {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = number(pairs.len()).to_vec();
    for (name, value) in pairs {
        bytes.extend(number(name.len()));
        bytes.extend(number(value.len()));
    }
    for (name, value) in pairs {
        for text in [name, value] {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
    }
    bytes
}

/// Reads it with as many allocations and copies as the SDK's `get_map_bytes`, which exists in WebAssembly alone.
pub fn pairs(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let (lengths, mut texts) = bytes.split_at(4 + 8 * number(bytes));
    let mut next = |length: usize| {
        let text = texts[..length].to_vec();
        texts = &texts[length + 1..];
        text
    };
    lengths[4..]
        .chunks_exact(8)
        .map(|pair| {
            let name = String::from_utf8(next(number(pair))).expect("names are ASCII");
            (name, next(number(&pair[4..])))
        })
        .collect()
}

fn number(bytes: &[u8]) -> usize {
    let first = bytes.first_chunk().copied().unwrap_or_default();
    usize::try_from(u32::from_le_bytes(first)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_over_is_read_again() {
        let bytes = encoded(&[(":path", "/v1"), ("x-empty", ""), ("a", "b")]);
        assert_eq!(bytes[..12], [3, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0]);
        let want = [(":path", "/v1"), ("x-empty", ""), ("a", "b")];
        let want = want.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        assert_eq!(pairs(&bytes), want);
    }
}
