//! The resources of an upstream account of protocol C that a group may open: an allow-list of paths.
//!
//! | path below `/v1beta/` | methods |
//! |---|---|
//! | `files` | `GET`, `POST` (of a file's metadata) |
//! | `files/{id}` | `GET`, `DELETE` |
//! | `files/{id}:download` | `GET` |
//! | `cachedContents` | `GET`, `POST` (an endpoint of its own: a model reads the content) |
//! | `cachedContents/{id}` | `GET`, `PATCH`, `DELETE` |
//! | `operations`, `operations/{id}` | `GET`, the latter `DELETE` too |
//! | `operations/{id}:cancel` | `POST` |
//! | `fileSearchStores` | `GET`, `POST` |
//! | `fileSearchStores/{id}` | `GET`, `DELETE` |
//! | `fileSearchStores/{id}/documents` | `GET` |
//! | `fileSearchStores/{id}/documents/{id}` | `GET`, `DELETE` |
//! | `fileSearchStores/{id}/operations/{id}`, `fileSearchStores/{id}/upload/operations/{id}` | `GET` |
//!
//! Nothing else here runs or trains a model, now or later: no `tunedModels`, `batches`, `interactions`, `agents`, `corpora`, no
//! `openai/…`. A store's `:importFile` and `:uploadToFileSearchStore` run an embedding model over the whole file and report
//! nothing of it.

/// The methods that a path takes, as an `allow` header lists them; `rest` is what follows `/v1beta/`. `None` where it
/// names no resource, or has anything that a second decoding upstream could turn into another path.
pub fn methods(rest: &str) -> Option<&'static str> {
    let (path, verb) = match rest.split_once(':') {
        Some((path, verb)) => (path, Some(verb)),
        None => (rest, None),
    };
    if !is_plain(rest) {
        return None;
    }
    // None is deeper than five.
    let segments: Vec<&str> = path.split('/').take(6).collect();
    Some(match (segments.as_slice(), verb) {
        (["files" | "cachedContents" | "fileSearchStores"], None) => "GET, POST",
        (["operations"], None) => "GET",
        (["files" | "operations" | "fileSearchStores", _], None) => "GET, DELETE",
        (["cachedContents", _], None) => "GET, PATCH, DELETE",
        (["files", _], Some("download")) => "GET",
        (["operations", _], Some("cancel")) => "POST",
        (["fileSearchStores", _, "documents"], None) => "GET",
        (["fileSearchStores", _, "documents", _], None) => "GET, DELETE",
        (["fileSearchStores", _, "operations", _], None)
        | (["fileSearchStores", _, "upload", "operations", _], None) => "GET",
        _ => return None,
    })
}

/// Whether every segment is there, is no dot segment, and has no byte with a second meaning.
fn is_plain(rest: &str) -> bool {
    rest.split(['/', ':']).all(|segment| {
        !segment.is_empty()
            && segment.bytes().any(|b| b != b'.')
            && segment
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources() {
        let cases = [
            ("files", Some("GET, POST")),
            ("files/abc-123", Some("GET, DELETE")),
            ("files/abc:download", Some("GET")),
            ("cachedContents", Some("GET, POST")),
            ("cachedContents/a", Some("GET, PATCH, DELETE")),
            ("operations", Some("GET")),
            ("operations/a", Some("GET, DELETE")),
            ("operations/a:cancel", Some("POST")),
            ("fileSearchStores", Some("GET, POST")),
            ("fileSearchStores/a", Some("GET, DELETE")),
            ("fileSearchStores/a/documents", Some("GET")),
            ("fileSearchStores/a/documents/d", Some("GET, DELETE")),
            ("fileSearchStores/a/operations/o", Some("GET")),
            ("fileSearchStores/a/upload/operations/o", Some("GET")),
        ];
        for (path, want) in cases {
            assert_eq!(methods(path), want, "{path}");
        }
        let none = [
            "",
            "/",
            "files/",
            "files//a",
            "files/a/",
            "files/a/b",
            "files/.",
            "files/..",
            "files/...",
            "files/%2e%2e",
            "files/a?b",
            "files/a;b",
            "files/a@b",
            "files/a:generateContent",
            "files/a:predict",
            "files/a:download:generateContent",
            "files/a:generateContent:download",
            "files/a%3AgenerateContent",
            "files/a%3agenerateContent",
            "files/a:",
            "files:register",
            "files/models/gem:generateContent",
            "Files",
            "models",
            "models/gem:generateContent",
            "models%2Fgem:generateContent",
            "tunedModels",
            "tunedModels/x",
            "tunedModels/x:generateContent",
            "tunedModels/x:streamGenerateContent",
            "batches",
            "batches/x",
            "batches/x:cancel",
            "interactions",
            "interactions/x",
            "openai/chat/completions",
            "openai/v1/chat/completions",
            "dynamic/x:generateContent",
            "agents",
            "corpora/x:query",
            "corpora/x/documents/y:query",
            "generatedFiles/x",
            "cachedContents/a:generateContent",
            "operations/a:wait",
            "operations/a/b",
            "fileSearchStores/a:importFile",
            "fileSearchStores/a:uploadToFileSearchStore",
            "fileSearchStores/a/documents:query",
            "fileSearchStores/a/documents/d:query",
            "fileSearchStores/a/documents/d/chunks",
            "fileSearchStores/a/upload/operations",
            "fileSearchStores/a/upload/operations/o/p",
            "fileSearchStores/a/upload/files/o",
            "v1beta/models/x:generateContent",
            "v1/models/x:generateContent",
            "projects/p/locations/l/publishers/google/models/m:generateContent",
        ];
        for path in none {
            assert_eq!(methods(path), None, "{path}");
        }
    }
}
