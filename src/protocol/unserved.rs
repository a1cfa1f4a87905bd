//! Endpoints that vendors have and this gateway does not serve.
//!
//! A client that asks for one has the right base address, so the answer says that the endpoint is not served here. Nothing hangs
//! on this list but the words of a 404.

use super::entry::Protocol::{self, A, B, C};

/// Below a version: the beginnings of such paths, and the protocols whose vendors have them.
const KNOWN: [(&str, &[Protocol]); 41] = [
    ("agents", &[B, C]),
    ("assistants", &[A]),
    ("audio", &[A]),
    ("auth_tokens", &[C]),
    ("batches", &[A, C]),
    ("cachedContents", &[C]),
    // Stored ones.
    ("chat/completions", &[A]),
    ("chatkit", &[A]),
    ("complete", &[B]),
    ("completions", &[A]),
    ("containers", &[A]),
    ("conversations", &[A]),
    ("corpora", &[C]),
    ("dynamic", &[C]),
    ("edits", &[A]),
    ("engines", &[A]),
    ("environments", &[B]),
    ("evals", &[A]),
    ("fileSearchStores", &[C]),
    ("files", &[A, B, C]),
    ("fine-tunes", &[A]),
    ("fine_tuning", &[A]),
    ("generatedFiles", &[C]),
    ("images/variations", &[A]),
    ("interactions", &[C]),
    ("messages/batches", &[B]),
    ("moderations", &[A]),
    ("operations", &[C]),
    ("organization", &[A]),
    ("organizations", &[B]),
    ("realtime", &[A]),
    ("rerank", &[A]),
    // Stored ones.
    ("responses", &[A]),
    ("sessions", &[B]),
    ("skills", &[A, B]),
    ("threads", &[A]),
    ("tunedModels", &[C]),
    ("uploads", &[A]),
    ("vector_stores", &[A]),
    ("videos", &[A]),
    ("webhooks", &[C]),
];

/// The protocol of a path that no endpoint here has, where a vendor has such an endpoint: `Some(None)` where several
/// protocols' vendors do.
pub fn owner(path: &[u8]) -> Option<Option<Protocol>> {
    let path = path.strip_prefix(b"/")?;
    // The live API, a WebSocket named after its service; and the path of uploads of files.
    if path.starts_with(b"ws/google.ai.generativelanguage.") {
        return Some(Some(C));
    }
    let upload = path.strip_prefix(b"upload/");
    let (version, rest) = versioned(upload.unwrap_or(path));
    let of_c = upload.is_some() || matches!(version, b"v1beta" | b"v1alpha");
    let (_, owners) = KNOWN.iter().find(|(name, _)| begins(rest, name))?;
    match owners {
        [only] => (!of_c || *only == C).then_some(Some(*only)),
        several if of_c => several.contains(&C).then_some(Some(C)),
        _ => Some(None),
    }
}

/// Splits the version off, where there is one.
fn versioned(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().position(|&b| b == b'/').unwrap_or(path.len());
    match path.split_at_checked(slash) {
        Some((version @ (b"v1" | b"v1beta" | b"v1alpha"), rest)) => {
            (version, rest.strip_prefix(b"/").unwrap_or_default())
        }
        _ => (b"", path),
    }
}

/// Whether a path is this one or leads further below it. A slash at its end alone leads nowhere.
fn begins(path: &[u8], name: &str) -> bool {
    match path.strip_prefix(name.as_bytes()) {
        Some([]) => true,
        Some([b'/', below @ ..]) => !below.is_empty(),
        Some([b':', verb @ ..]) => !verb.is_empty(),
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_endpoints_are_not_served() {
        let cases = [
            ("/v1/completions", Some(Some(A))),
            ("/v1/audio/speech", Some(Some(A))),
            ("/v1/realtime", Some(Some(A))),
            ("/v1/realtime/sessions", Some(Some(A))),
            ("/v1/fine_tuning/jobs", Some(Some(A))),
            ("/v1/moderations", Some(Some(A))),
            ("/v1/vector_stores/vs_1/files", Some(Some(A))),
            ("/v1/assistants", Some(Some(A))),
            ("/v1/threads/t/runs", Some(Some(A))),
            ("/v1/uploads", Some(Some(A))),
            ("/v1/videos", Some(Some(A))),
            ("/v1/images/variations", Some(Some(A))),
            ("/v1/responses/resp_1", Some(Some(A))),
            ("/responses/resp_1/input_items", Some(Some(A))),
            ("/v1/chat/completions/c_1", Some(Some(A))),
            ("/v1/messages/batches", Some(Some(B))),
            ("/v1/messages/batches/b_1/results", Some(Some(B))),
            ("/messages/batches", Some(Some(B))),
            ("/v1/complete", Some(Some(B))),
            ("/v1/files", Some(None)),
            ("/files/f_1/content", Some(None)),
            ("/v1/batches", Some(None)),
            ("/v1/skills", Some(None)),
            ("/v1beta/files:register", Some(Some(C))),
            ("/v1beta/batches/x", Some(Some(C))),
            ("/v1beta/tunedModels/x:generateContent", Some(Some(C))),
            ("/v1/tunedModels", Some(Some(C))),
            ("/v1alpha/auth_tokens", Some(Some(C))),
            ("/upload/v1beta/files", Some(Some(C))),
            ("/upload/v1beta/fileSearchStores/x:upload", Some(Some(C))),
            (
                "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
                Some(Some(C)),
            ),
            // A's name under C's version: the base address is wrong.
            ("/v1beta/moderations", None),
            ("/v1beta/skills", None),
            ("/v1beta/openai/chat/completions", None),
            ("/upload/v1beta/moderations", None),
            // No vendor's path.
            ("/v1/moderation", None),
            ("/v1/moderationsx", None),
            ("/v1/files/", None),
            ("/v1/files:", None),
            ("/v1/responses/", None),
            ("/v1/messages/", None),
            ("/v1/models/", None),
            ("/v2/moderations", None),
            ("/models", None),
            ("/images/generations", None),
            ("/v1", None),
            ("/v1/", None),
            ("/", None),
            ("", None),
            ("moderations", None),
        ];
        for (path, want) in cases {
            assert_eq!(owner(path.as_bytes()), want, "{path}");
        }
        assert_eq!(owner(b"/v1/files/\xff"), Some(None), "not UTF-8");
    }
}
