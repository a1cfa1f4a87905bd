//! Failures to list models, in a sentence each; nothing is written.

use super::vendor::{self, VendorServer};
use super::{at, init};
use crate::desk::Desk;

fn of(status: u16, body: &'static str) -> VendorServer {
    VendorServer::new(move |_| (status, body.to_owned()))
}

#[test]
fn each_has_its_sentence() {
    let gone = of(200, "").url("");
    let wrong_a = vendor::VendorServer::new(|_| {
        (
            401,
            r#"{"error":{"message":"sk-dont-tell-vendor is wrong"}}"#.to_owned(),
        )
    });
    let cases: [(&str, String, &str); 14] = [
        ("refused, A", format!("openai={}", wrong_a.url("/v1")), "refused the credential (401). Is it whole, of this vendor, and not revoked?"),
        ("refused, 403", format!("anthropic={}", of(403, "{}").url("")), "refused the credential (403)"),
        (
            "refused, C",
            format!("gemini={}", of(400, r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#).url("")),
            "refused the credential (400)",
        ),
        ("bad request, C", format!("gemini={}", of(400, "{}").url("")), "answered 400. Is this the base address of Gemini-style models (protocol C)?"),
        ("no such name", "openai=http://no-such-host.invalid/v1".to_owned(), "openai: the name no-such-host.invalid does not resolve"),
        ("nobody listens", "openai=http://127.0.0.1:9/v1".to_owned(), "openai: 127.0.0.1:9 is not reachable"),
        ("closed without an answer", format!("openai={gone}"), "Is this the base address of OpenAI-style models (protocol A)?"),
        ("no TLS", format!("openai={}", of(200, "{}").url("").replace("http:", "https:")), "openai: TLS with 127.0.0.1:"),
        ("another path", format!("openai={}", vendor::openai().url("/openai/v1")), "answered 404. Is this the base address of OpenAI-style models (protocol A)?"),
        ("another protocol", format!("anthropic={}", vendor::openai().url("")), "refused the credential (401)"),
        ("no list", format!("openai={}", of(200, "<html>").url("")), "answered with something else than a list of models"),
        ("no models", format!("openai={}", of(200, r#"{"object":"list","data":[]}"#).url("")), "took the credential and lists no models"),
        ("overloaded", format!("openai={}", of(529, "{}").url("")), "answered 529, so the credential is not tested. Try again later"),
        ("elsewhere", format!("openai={}", of(307, "{}").url("")), "answered 307"),
    ];
    for (case, vendor, sentence) in cases {
        let desk = Desk::new();
        let ran = init(&desk, &at(&vendor));
        assert_eq!(ran.code, 1, "{case}: {}", ran.err);
        assert!(ran.err.contains(sentence), "{case}: {}", ran.err);
        assert_eq!(
            ran.err.lines().count(),
            1,
            "{case}: one sentence: {}",
            ran.err
        );
        assert!(!desk.path("data").exists(), "{case}: nothing is written");
    }
}

#[test]
fn a_redirect_never_gets_the_credential() {
    let vendor = of(307, "{}");
    let ran = init(&Desk::new(), &at(&format!("openai={}", vendor.url("/v1"))));
    assert_eq!(ran.code, 1);
    let asked: Vec<String> = vendor
        .asked()
        .into_iter()
        .map(|asked| asked.target)
        .collect();
    assert_eq!(asked, ["/v1/models"]);
}

#[test]
fn credentials_and_options_that_are_none() {
    let vendor = vendor::openai();
    let address = format!("openai={}", vendor.url("/v1"));
    let desk = Desk::new();
    desk.write("two.key", "sk-dont-tell\nsk-dont-tell");
    desk.write("ca.pem", "nothing");
    let cases: [(&[&str], i32, &str); 9] = [
        (
            &["--vendor", &address, "--credential-file", "nope.key"],
            1,
            "cannot read the credential in nope.key",
        ),
        (
            &["--vendor", &address, "--credential-file", "two.key"],
            1,
            "the credential in two.key has more than one line",
        ),
        (
            &["--vendor", &address, "--credential-env", "NOPE"],
            1,
            "the environment has no NOPE",
        ),
        (
            &[
                "--vendor",
                &address,
                "--credential-env",
                "A",
                "--no-credential",
            ],
            2,
            "cannot be used with",
        ),
        (
            &["--vendor", "opnai"],
            2,
            "expected one of openai, anthropic, gemini, openrouter, deepseek, compatible",
        ),
        (
            &["--vendor", "openai=ftp://x"],
            2,
            "must begin with https:// or http://",
        ),
        (&["--models", "x"], 2, "--vendor"),
        (
            &[
                "--vendor",
                "openai=https://127.0.0.1:9",
                "--credential-file",
                "vendor.key",
                "--ca",
                "ca.pem",
            ],
            1,
            "ca.pem has no certificate",
        ),
        (
            &[],
            2,
            "there is no terminal to ask at: name the vendors with --vendor",
        ),
    ];
    for (args, code, said) in cases {
        let ran = init(&desk, args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    }
    assert!(vendor.asked().is_empty() && !desk.path("data").exists());
}
