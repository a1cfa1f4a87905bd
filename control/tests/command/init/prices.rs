//! The models that are taken, and their prices.

use super::vendor;
use super::{at, init};
use crate::desk::Desk;

/// Case, options, what the document has and has not.
type ChoiceCase<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str]);

#[test]
fn models_and_prices_are_chosen() {
    let vendor = vendor::openai();
    let address = format!("openai={}", vendor.url("/v1"));
    let luna = r#"{"id": "gpt-6-luna", "created_at": "2025-09-29T00:00:00Z", "prices": {"#;
    let cases: [ChoiceCase<'_>; 5] = [
        (
            "those with a price",
            &[],
            &[luna],
            &["text-embedding-3-small"],
        ),
        (
            "all",
            &["--models", "all"],
            &[
                luna,
                r#"{"id": "gpt-image-2", "created_at": "2025-09-29T00:00:00Z"}"#,
                r#"{"id": "text-embedding-3-small", "created_at": "2025-09-29T00:00:00Z"}"#,
            ],
            &["tts-1"],
        ),
        (
            "named, with a price of the operator",
            &[
                "--models",
                "gpt-6-luna,gpt-image-2",
                "--price",
                "gpt-image-2=5/1.25/40",
            ],
            &[
                luna,
                r#"{"id": "gpt-image-2", "created_at": "2025-09-29T00:00:00Z", "prices": {"input": "5", "cache_read": "1.25", "output": "40"}}"#,
            ],
            &["gpt-6.2-sol"],
        ),
        (
            "the operator's instead of the catalogue's",
            &["--models", "gpt-6-luna", "--price", "gpt-6-luna=0.2/0.02/1"],
            &[
                r#"{"id": "gpt-6-luna", "created_at": "2025-09-29T00:00:00Z", "prices": {"input": "0.2", "cache_read": "0.02", "output": "1"}}"#,
            ],
            &[],
        ),
        (
            "free",
            &["--models", "gpt-image-2", "--free"],
            &[r#"{"id": "gpt-image-2", "created_at": "2025-09-29T00:00:00Z", "free": true}"#],
            &["prices"],
        ),
    ];
    for (case, args, has, has_not) in cases {
        let desk = Desk::new();
        let ran = init(&desk, &[at(&address).as_slice(), args].concat());
        assert_eq!(ran.code, 0, "{case}: {}", ran.err);
        let document = desk.read("data/gateway.json");
        for text in has {
            assert!(document.contains(text), "{case}: {text}: {document}");
        }
        for text in has_not {
            assert!(!document.contains(text), "{case}: {text}: {document}");
        }
        let unpriced = case == "all";
        assert_eq!(
            ran.err
                .contains("note: what these models cost is not counted"),
            unpriced,
            "{case}"
        );
    }
}

#[test]
fn a_budget_needs_some_price_and_no_price_is_invented() {
    let vendor = vendor::openai();
    let address = format!("openai={}", vendor.url("/v1"));
    let cases: [(&[&str], i32, &str); 10] = [
        (
            &["--models", "gpt-image-2", "--budget-day", "1"],
            1,
            "a budget allows only models with a price, and these have none: gpt-image-2. Name it with --price",
        ),
        (
            &["--models", "all", "--budget-day", "1"],
            0,
            "keys under a budget may not use them, for they have no known price: text-embedding-3-small, gpt-image-2.",
        ),
        (&["--models", "nope"], 1, "openai lists no model nope"),
        (
            &["--price", "nope=1/1/2"],
            1,
            "--price nope: openai has no such model among those that are taken",
        ),
        (
            &["--price", "gpt-6-luna=1/2"],
            2,
            "expected INPUT/CACHED/OUTPUT",
        ),
        (&[], 0, "note: openai: left out: tts-1: for speech"),
        (
            &[],
            0,
            "note: openai: not taken, for they have no known price: text-embedding-3-small, gpt-image-2. Take them with --models",
        ),
        (
            &["--models", "tts-1"],
            1,
            "openai: tts-1 cannot be taken: for speech",
        ),
        (
            &["--price", "gpt-6-luna=1/1/x"],
            2,
            "the price x must be a plain decimal number",
        ),
        (
            &["--models", "gpt-6-luna", "--budget-day", "0.01"],
            0,
            "openai: the credential works",
        ),
    ];
    for (args, code, said) in cases {
        let desk = Desk::new();
        let ran = init(&desk, &[at(&address).as_slice(), args].concat());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
        assert_eq!(
            desk.path("data/gateway.json").exists(),
            code == 0,
            "{args:?}"
        );
    }
}

#[test]
fn an_address_without_a_list_takes_named_models_untested() {
    let vendor = vendor::VendorServer::new(|_| (404, "{}".to_owned()));
    let address = format!("compatible={}", vendor.url("/v1"));
    let desk = Desk::new();
    let ran = init(
        &desk,
        &[
            at(&address).as_slice(),
            &["--models", "mine", "--price", "mine=1/1/2"],
        ]
        .concat(),
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("warning: ") && ran.err.contains("the credential is not tested"),
        "{}",
        ran.err
    );
    assert!(
        desk.read("data/gateway.json")
            .contains(r#"{"id": "mine", "prices""#)
    );
    let all = init(
        &Desk::new(),
        &[at(&address).as_slice(), &["--models", "all"]].concat(),
    );
    assert_eq!(all.code, 1, "{}", all.err);
}
