//! Paths of requests under an account's URL: the one rule, for the filter, `trilane render` and all who show it.
//!
//! | the URL's path | is | `/v1/chat/completions` goes to |
//! |---|---|---|
//! | none, `/proxy` | before the version | `/v1/chat/completions`, `/proxy/v1/chat/completions` |
//! | `/v1`, `/openai/v1`, `/api/paas/v4` | the whole base: a segment of it is a version, `v` and a digit | `/v1/…`, `/openai/v1/…`, `/api/paas/v4/chat/completions` |
//!
//! Envoy appends. Where a whole base ends in the protocol's own version, that is the same as a base without it; only for
//! the others do requests bring their path without the version along, in
//! [`PATH_HEADER`](crate::exchange::PATH_HEADER).

use crate::protocol::Protocol;

/// The version in the gateway's own paths.
fn version(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::A | Protocol::B => "/v1",
        Protocol::C => "/v1beta",
    }
}

/// The base of an account's paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The prefix of a path without its version: never empty.
    pub root: String,
    /// The prefix of a whole path, empty or not; `None` where the version is another one than the path's, or
    /// something follows it, so that only `root` fits.
    pub prefix: Option<String>,
}

impl Base {
    /// Of an account's URL: its path, without a `/` at the end.
    pub fn new(path: &str, protocol: Protocol) -> Self {
        let own = version(protocol);
        let prefix = if is_versioned(path) {
            path.strip_suffix(own).map(str::to_owned)
        } else {
            Some(path.to_owned())
        };
        let root = match &prefix {
            Some(prefix) => format!("{prefix}{own}"),
            None => path.to_owned(),
        };
        Self { root, prefix }
    }

    /// The path upstream of one of the gateway's own, such as `/v1/messages`.
    pub fn path(&self, path: &str) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}{path}"),
            None => format!("{}{}", self.root, without_version(path)),
        }
    }
}

/// Returns the part behind the version in one of the gateway's own paths; the whole path where it has none.
pub fn without_version(path: &str) -> &str {
    let behind = |protocol| {
        let rest = path.strip_prefix(version(protocol))?;
        rest.starts_with('/').then_some(rest)
    };
    [Protocol::A, Protocol::C]
        .into_iter()
        .find_map(behind)
        .unwrap_or(path)
}

/// Whether a segment is a version: `v1`, `v1beta`, `v4`.
fn is_versioned(path: &str) -> bool {
    path.split('/').any(is_version)
}

fn is_version(segment: &str) -> bool {
    matches!(segment.as_bytes(), [b'v', digit, ..] if digit.is_ascii_digit())
}

/// The end of a URL that already names an endpoint, where the base of the endpoints is wanted.
pub fn endpoint_in(url: &str, protocol: Protocol) -> Option<&'static str> {
    /// A longer one comes before one that it ends in.
    const ENDPOINTS: [&str; 10] = [
        "/chat/completions",
        "/completions",
        "/responses",
        "/responses/compact",
        "/responses/input_tokens",
        "/images/generations",
        "/images/edits",
        "/messages/count_tokens",
        "/messages",
        "/embeddings",
    ];
    let (_, rest) = url.split_once("://")?;
    let rest = rest.split(['?', '#']).next()?;
    let (_, path) = rest.split_once('/')?;
    let path = path.trim_end_matches('/');
    let is_end = |endpoint: &&str| {
        let before = path.strip_suffix(endpoint.trim_start_matches('/'));
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    if let Some(endpoint) = ENDPOINTS.into_iter().find(is_end) {
        return Some(endpoint);
    }
    let mut segments = path.rsplit('/');
    let last = segments.next().unwrap_or_default();
    let verb = last.rsplit_once(':').map(|(_, verb)| verb);
    if verb.is_some_and(|verb| verb.starts_with(|c: char| c.is_ascii_alphabetic())) {
        return Some(":generateContent");
    }
    // Without a version before it, `models` may be anything.
    let models =
        last == "models" || (protocol == Protocol::C && segments.clone().next() == Some("models"));
    (models && is_versioned(path)).then_some("/models")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &str = "/v1/chat/completions";
    const MESSAGES: &str = "/v1/messages";
    const GENERATE: &str = "/v1beta/models/m:generateContent";

    #[test]
    fn paths_under_a_url() {
        use Protocol::{A, B, C};
        // (protocol, the URL's path, the request's, upstream, whether the version is the protocol's own)
        #[rustfmt::skip]
        let cases = [
            (A, "", CHAT, "/v1/chat/completions", true),
            (A, "/v1", CHAT, "/v1/chat/completions", true),
            (A, "/v1", "/v1/responses", "/v1/responses", true),
            (A, "/v1", "/v1/images/edits", "/v1/images/edits", true),
            (A, "/proxy", CHAT, "/proxy/v1/chat/completions", true),
            (A, "/openai/v1", CHAT, "/openai/v1/chat/completions", true),
            (A, "/openai/deployments/d", CHAT, "/openai/deployments/d/v1/chat/completions", true),
            (A, "/api/paas/v4", CHAT, "/api/paas/v4/chat/completions", false),
            (A, "/v1beta/openai", CHAT, "/v1beta/openai/chat/completions", false),
            (A, "/v1beta", CHAT, "/v1beta/chat/completions", false),
            (A, "/v1/account/gateway/openai", CHAT, "/v1/account/gateway/openai/chat/completions", false),
            (A, "/v1/account/gateway/openai/v1", CHAT, "/v1/account/gateway/openai/v1/chat/completions", true),
            (A, "/v1.1", CHAT, "/v1.1/chat/completions", false),
            (A, "/v", CHAT, "/v/v1/chat/completions", true),
            (A, "/vendor", CHAT, "/vendor/v1/chat/completions", true),
            (A, "/V1", CHAT, "/V1/v1/chat/completions", true),
            (A, "/xv1", CHAT, "/xv1/v1/chat/completions", true),
            (B, "", MESSAGES, "/v1/messages", true),
            (B, "/v1", MESSAGES, "/v1/messages", true),
            (B, "/anthropic", MESSAGES, "/anthropic/v1/messages", true),
            (B, "/v1", "/v1/messages/count_tokens", "/v1/messages/count_tokens", true),
            (B, "/api/v2", "/v1/messages/count_tokens", "/api/v2/messages/count_tokens", false),
            (C, "", GENERATE, "/v1beta/models/m:generateContent", true),
            (C, "/v1beta", GENERATE, "/v1beta/models/m:generateContent", true),
            (C, "/v1beta", "/v1beta/files/f", "/v1beta/files/f", true),
            (C, "/v1", GENERATE, "/v1/models/m:generateContent", false),
            (C, "/v1alpha", "/v1beta/files/f", "/v1alpha/files/f", false),
            (C, "/v1beta1", GENERATE, "/v1beta1/models/m:generateContent", false),
            (C, "/v1/projects/p/locations/l/publishers/google", GENERATE,
             "/v1/projects/p/locations/l/publishers/google/models/m:generateContent", false),
        ];
        for (protocol, url, path, want, own) in cases {
            let base = Base::new(url, protocol);
            assert_eq!(base.path(path), want, "{protocol} {url} {path}: {base:?}");
            assert_eq!(base.prefix.is_some(), own, "{protocol} {url}: {base:?}");
            // What Envoy makes of a request that brings its path without the version.
            let by_root = format!("{}{}", base.root, without_version(path));
            assert_eq!(by_root, want, "{protocol} {url} {path}: by its root");
        }
    }

    #[test]
    fn paths_without_their_version() {
        for (path, want) in [
            ("/v1/messages", "/messages"),
            ("/v1beta/files/a", "/files/a"),
            ("/v1/v1/messages", "/v1/messages"),
            ("/v1betamax", "/v1betamax"),
            ("/v1", "/v1"),
            ("/v12/x", "/v12/x"),
            ("", ""),
        ] {
            assert_eq!(without_version(path), want, "{path}");
        }
    }

    #[test]
    fn endpoints_at_the_end() {
        use Protocol::{A, B, C};
        #[rustfmt::skip]
        let cases = [
            (A, "https://h/v1/chat/completions", Some("/chat/completions")),
            (A, "https://h/api/paas/v4/chat/completions/", Some("/chat/completions")),
            (A, "https://h/chat/completions", Some("/chat/completions")),
            (A, "https://h/v1/completions", Some("/completions")),
            (A, "https://h/v1/responses", Some("/responses")),
            (A, "https://h/responses", Some("/responses")),
            (A, "https://h/openai/responses?api-version=1", Some("/responses")),
            (A, "https://h/v1/images/edits", Some("/images/edits")),
            (A, "https://h/v1/models", Some("/models")),
            (B, "https://h/v1/messages", Some("/messages")),
            (B, "https://h/v1/messages//", Some("/messages")),
            (B, "https://h/v1/messages/count_tokens", Some("/messages/count_tokens")),
            (C, "https://h/v1beta/models/m:generateContent", Some(":generateContent")),
            (C, "https://h/v1beta/models/m:streamGenerateContent?alt=sse", Some(":generateContent")),
            (C, "https://h/v1beta/models/", Some("/models")),
            (C, "https://h/v1beta/models/gemini", Some("/models")),
            (C, "https://h/v1/projects/p/locations/l/publishers/google/models", Some("/models")),
            (A, "https://h", None),
            (A, "https://h:8080", None),
            (A, "https://h:8080/", None),
            (A, "https://messages", None),
            (A, "https://h/v1", None),
            (A, "https://h/mymessages", None),
            (A, "https://h/models", None),
            (A, "https://h/models/org/name/v1", None),
            (A, "https://h/v1/models/name", None),
            (A, "https://h/completions/v1", None),
            (C, "https://h/v1beta", None),
            (A, "h/v1/messages", None),
        ];
        for (protocol, url, want) in cases {
            assert_eq!(endpoint_in(url, protocol), want, "{protocol} {url}");
        }
    }
}
