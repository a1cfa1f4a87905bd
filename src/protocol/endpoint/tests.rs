use super::*;
use crate::protocol::{Mismatch, match_request};

fn generate(model: &str, method: &str, under_v1: bool) -> Result<Endpoint, Mismatch> {
    Ok(Endpoint::Generate {
        model: model.to_owned(),
        method: method.to_owned(),
        under_v1,
    })
}

fn method(protocol: Option<Protocol>, allow: &'static str) -> Result<Endpoint, Mismatch> {
    Err(Mismatch::WrongMethod { protocol, allow })
}

fn unknown(protocol: Option<Protocol>) -> Result<Endpoint, Mismatch> {
    Err(Mismatch::UnknownPath {
        protocol,
        advice: None,
    })
}

fn not_served(protocol: Option<Protocol>) -> Result<Endpoint, Mismatch> {
    Err(Mismatch::NotServed { protocol })
}

#[test]
fn requests_find_their_endpoint() {
    use Protocol::{A, B, C};
    let cases = [
        ("GET", "/healthz", Ok(Endpoint::Health)),
        ("HEAD", "/healthz", Ok(Endpoint::Health)),
        ("GET", "/v1/models", Ok(Endpoint::Models)),
        ("POST", "/v1/models", method(None, "GET")),
        ("GET", "/v1/usage", Ok(Endpoint::Usage)),
        ("POST", "/v1/usage", method(None, "GET")),
        ("GET", "/v1/usage/x", unknown(None)),
        (
            "GET",
            "/v1/models/gpt-x",
            Ok(Endpoint::Model {
                id: "gpt-x".to_owned(),
            }),
        ),
        (
            "GET",
            "/v1/models/ft:gpt-x",
            Ok(Endpoint::Model {
                id: "ft:gpt-x".to_owned(),
            }),
        ),
        (
            "GET",
            "/v1/models/openai/gpt-x",
            Ok(Endpoint::Model {
                id: "openai/gpt-x".to_owned(),
            }),
        ),
        ("DELETE", "/v1/models/gpt-x", method(None, "GET")),
        ("GET", "/v1/models/", unknown(None)),
        ("GET", "/v1beta/models", Ok(Endpoint::GenerateModels)),
        (
            "GET",
            "/v1beta/models/gem",
            Ok(Endpoint::GenerateModel {
                id: "gem".to_owned(),
            }),
        ),
        ("GET", "/v1beta/models/a/b", unknown(Some(C))),
        ("POST", "/v1/responses", Ok(Endpoint::Responses)),
        ("POST", "/responses", Ok(Endpoint::Responses)),
        ("GET", "/v1/responses", method(Some(A), "POST")),
        ("POST", "/v1/responses/compact", Ok(Endpoint::Compact)),
        ("POST", "/responses/compact", Ok(Endpoint::Compact)),
        (
            "POST",
            "/v1/responses/input_tokens",
            Ok(Endpoint::InputTokens),
        ),
        ("POST", "/responses/input_tokens", Ok(Endpoint::InputTokens)),
        ("GET", "/v1/responses/compact", method(Some(A), "POST")),
        ("POST", "/v1/responses/compact/", not_served(Some(A))),
        ("POST", "/v1/responses/r/compact", not_served(Some(A))),
        (
            "POST",
            "/v1/chat/completions",
            Ok(Endpoint::ChatCompletions),
        ),
        ("POST", "/chat/completions", Ok(Endpoint::ChatCompletions)),
        (
            "POST",
            "/v1/images/generations",
            Ok(Endpoint::ImagesGenerations),
        ),
        ("POST", "/v1/images/edits", Ok(Endpoint::ImagesEdits)),
        ("POST", "/v1/images/variations", not_served(Some(A))),
        ("POST", "/v1/images/others", unknown(Some(A))),
        ("POST", "/v1/embeddings", Ok(Endpoint::Embeddings)),
        ("POST", "/embeddings", Ok(Endpoint::Embeddings)),
        ("GET", "/embeddings", method(Some(A), "POST")),
        ("POST", "/v1/embeddings/", unknown(Some(A))),
        ("GET", "/v1/responses/resp_1", not_served(Some(A))),
        ("POST", "/images/generations", unknown(None)),
        ("POST", "/v1/messages", Ok(Endpoint::Messages)),
        ("PUT", "/v1/messages", method(Some(B), "POST")),
        ("POST", "/messages", Ok(Endpoint::Messages)),
        ("GET", "/messages", method(Some(B), "POST")),
        ("POST", "/messages/count_tokens", Ok(Endpoint::CountTokens)),
        ("POST", "/messages/", unknown(Some(B))),
        ("POST", "/messages/other", unknown(Some(B))),
        (
            "POST",
            "/v1/messages/count_tokens",
            Ok(Endpoint::CountTokens),
        ),
        ("POST", "/v1/messages/batches", not_served(Some(B))),
        ("POST", "/V1/messages", unknown(None)),
        ("POST", "/v1/messages/", unknown(Some(B))),
        (
            "POST",
            "/v1beta/models/gem:generateContent",
            generate("gem", "generateContent", false),
        ),
        (
            "POST",
            "/v1beta/models/gem%3AstreamGenerateContent",
            generate("gem", "streamGenerateContent", false),
        ),
        (
            "POST",
            "/v1beta/models/gem%3acountTokens",
            generate("gem", "countTokens", false),
        ),
        (
            "POST",
            "/v1beta/models/models/gem:embedContent",
            generate("gem", "embedContent", false),
        ),
        ("POST", "/v1beta/models/a/b:embedContent", unknown(Some(C))),
        (
            "POST",
            "/v1beta/models/a%3Fb:embedContent",
            generate("a?b", "embedContent", false),
        ),
        (
            "POST",
            "/v1beta/models/gem:generateContent%2F",
            unknown(Some(C)),
        ),
        (
            "POST",
            "/v1beta/models/:generateContent",
            method(Some(C), "GET"),
        ),
        (
            "GET",
            "/v1beta/models/gem:generateContent",
            method(Some(C), "POST"),
        ),
        (
            "POST",
            "/v1/models/gem:generateContent",
            generate("gem", "generateContent", true),
        ),
        ("GET", "/v1beta/files", Ok(Endpoint::AccountResource)),
        ("POST", "/v1beta/cachedContents", Ok(Endpoint::CreateCache)),
        (
            "GET",
            "/v1beta/cachedContents",
            Ok(Endpoint::AccountResource),
        ),
        (
            "PUT",
            "/v1beta/cachedContents",
            method(Some(C), "GET, POST"),
        ),
        ("POST", "/v1beta/cachedContents/", unknown(Some(C))),
        ("PUT", "/v1beta/files", method(Some(C), "GET, POST")),
        ("DELETE", "/v1beta/files", method(Some(C), "GET, POST")),
        (
            "PATCH",
            "/v1beta/cachedContents/x",
            Ok(Endpoint::AccountResource),
        ),
        (
            "GET",
            "/v1beta/files/x:download",
            Ok(Endpoint::AccountResource),
        ),
        ("POST", "/v1beta/files/x:download", method(Some(C), "GET")),
        (
            "POST",
            "/v1beta/files/x:generateContent",
            not_served(Some(C)),
        ),
        (
            "POST",
            "/v1beta/tunedModels/x:generateContent",
            not_served(Some(C)),
        ),
        ("POST", "/v1beta/openai/chat/completions", unknown(Some(C))),
        ("POST", "/v1beta/interactions", not_served(Some(C))),
        ("GET", "/v1/files", not_served(None)),
        ("GET", "/v1beta/files/%2e%2e", not_served(Some(C))),
        ("GET", "/v1beta/", unknown(Some(C))),
        ("GET", "/v1beta", unknown(Some(C))),
        ("GET", "/", unknown(None)),
        ("GET", "", unknown(None)),
        ("GET", "/v1", unknown(None)),
    ];
    for (verb, path, want) in cases {
        let got = match_request(verb.as_bytes(), path.as_bytes());
        assert_eq!(got, want, "{verb} {path}");
    }
    assert_eq!(match_request(b"GET", b"/\xff"), unknown(None), "not UTF-8");
}

#[test]
fn a_wrong_base_address_is_named() {
    use Protocol::{A, B, C};
    let cases = [
        ("/v1/v1/messages", Some(B), "without /v1."),
        ("/v1/v1/responses", Some(A), "without /v1."),
        ("/v1/v1/models", None, "without /v1."),
        ("/v1/v1/embeddings", Some(A), "without /v1."),
        (
            "/v1beta/v1beta/models/x:generateContent",
            Some(C),
            "without /v1beta.",
        ),
        (
            "/v1beta/v1/models/x:generateContent",
            Some(C),
            "without /v1beta.",
        ),
        (
            "/v1/v1beta/models/x:generateContent",
            Some(C),
            "must not end in /v1",
        ),
    ];
    for (path, family, part) in cases {
        match match_request(b"POST", path.as_bytes()) {
            Err(Mismatch::UnknownPath { protocol, advice }) => {
                assert_eq!(protocol, family, "{path}");
                assert!(
                    advice.is_some_and(|a| a.contains(part)),
                    "{path}: {advice:?}"
                );
            }
            got => panic!("{path}: {got:?}"),
        }
    }
}

#[test]
fn spellings_of_current_clients() {
    let cases = [
        ("/messages", true),
        ("/messages/count_tokens", true),
        ("/v1/messages", false),
        ("/v1/messages/count_tokens", false),
        ("/v1/models/gem:generateContent", true),
        ("/v1beta/models/gem:generateContent", false),
        ("/responses", false),
        ("/chat/completions", false),
        ("/embeddings", false),
        ("/responses/compact", false),
    ];
    for (path, want) in cases {
        let endpoint = match_request(b"POST", path.as_bytes()).unwrap();
        let got = endpoint.is_for_current_clients(path.as_bytes());
        assert_eq!(got, want, "{path}");
    }
}

#[test]
fn upstream_paths() {
    let cases = [
        ("POST", "/responses", Some("/v1/responses")),
        ("POST", "/chat/completions", Some("/v1/chat/completions")),
        ("POST", "/embeddings", Some("/v1/embeddings")),
        ("POST", "/responses/compact", Some("/v1/responses/compact")),
        (
            "POST",
            "/responses/input_tokens",
            Some("/v1/responses/input_tokens"),
        ),
        ("POST", "/v1/messages", Some("/v1/messages")),
        ("POST", "/messages", Some("/v1/messages")),
        (
            "POST",
            "/messages/count_tokens",
            Some("/v1/messages/count_tokens"),
        ),
        (
            "POST",
            "/v1/models/gem:generateContent",
            Some("/v1beta/models/up:generateContent"),
        ),
        ("GET", "/v1beta/files", None),
    ];
    for (verb, path, want) in cases {
        let endpoint = match_request(verb.as_bytes(), path.as_bytes()).unwrap();
        assert_eq!(endpoint.upstream_path("up").as_deref(), want, "{path}");
    }
}
