//! Each preset, from its list to what is written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::vendor::{self, VendorServer};
use super::{CREDENTIAL, at, init, init_with};
use crate::desk::Desk;

/// Name, stand-in, path of its base, protocol, what the models have, what is said.
type PresetCase = (
    &'static str,
    VendorServer,
    &'static str,
    &'static str,
    serde_json::Value,
    &'static [&'static str],
);

fn mode(desk: &Desk, name: &str) -> u32 {
    fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777
}

#[test]
fn each_writes_a_document_that_is_good_without_a_warning() {
    let opus = json!({"input":"5","cache_read":"0.5","cache_write_5m":"6.25","cache_write_1h":"10","output":"25"});
    let haiku = json!({"input":"1","cache_read":"0.1","cache_write_5m":"1.25","cache_write_1h":"2","output":"5"});
    let cases: [PresetCase; 5] = [
        (
            "openai",
            vendor::openai(),
            "/v1",
            "A",
            json!([{"id": "gpt-6-luna"}, {"id": "gpt-6.2-sol"}]),
            &[
                "openai: the credential works; 5 models",
                "  export OPENAI_BASE_URL=http://127.0.0.1:10000/v1",
                "  model = \"gpt-6-luna\"",
            ],
        ),
        (
            "anthropic",
            vendor::anthropic(),
            "",
            "B",
            json!([
                {"id": "claude-opus-4-8", "display_name": "Model claude-opus-4-8", "prices": opus},
                {"id": "claude-haiku-4-5", "display_name": "Model claude-haiku-4-5-20251001", "upstream": "claude-haiku-4-5-20251001", "prices": haiku}
            ]),
            &[
                "anthropic: the credential works; 3 models",
                "  export ANTHROPIC_BASE_URL=http://127.0.0.1:10000\n",
                "  claude --model claude-opus-4-8",
            ],
        ),
        (
            "gemini",
            vendor::gemini(),
            "",
            "C",
            json!([{"id": "gemini-3.6-flash"}]),
            &[
                "gemini: the credential works; 3 models",
                "  export GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:10000\n",
                "  gemini --model gemini-3.6-flash",
            ],
        ),
        (
            "openrouter",
            vendor::openrouter(),
            "/api/v1",
            "A",
            json!([
                {"id": "anthropic/claude-opus-4.8", "prices": {"input": "5", "output": "25"}},
                {"id": "meta-llama/llama-4:free", "prices": {"input": "0", "output": "0"}}
            ]),
            &[
                "openrouter: the credential works; 3 models",
                "note: the prices of 2 models of openrouter are those of its list of today",
            ],
        ),
        (
            "deepseek",
            vendor::deepseek(),
            "/v1",
            "A",
            json!([{"id": "deepseek-flash"}, {"id": "deepseek-v4-pro"}]),
            &["deepseek: the credential works; 2 models"],
        ),
    ];
    for (name, vendor, path, protocol, models, said) in cases {
        let desk = Desk::new();
        let url = vendor.url(path);
        let ran = init(&desk, &at(&format!("{name}={url}")));
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        let all = format!("{}{}", ran.err, ran.out);
        for said in said {
            assert!(all.contains(said), "{name}: {said}: {all}");
        }
        let checked = desk.run(&["check", "--strict", "data/gateway.json"]);
        assert_eq!(checked.code, 0, "{name}: {}", checked.out);
        let document: serde_json::Value =
            serde_json::from_str(&desk.read("data/gateway.json")).unwrap();
        let group = &document["groups"][0];
        assert_eq!(document["currency"], "USD");
        assert_eq!(
            (&group["id"], &group["protocol"]),
            (&json!(name), &json!(protocol))
        );
        assert_eq!(group["clients"], "current", "{name}");
        let account =
            json!([{"id": format!("{name}-1"), "url": url, "credential": format!("{name}-1")}]);
        assert_eq!(group["accounts"], account, "{name}");
        let got = group["models"].as_array().unwrap();
        let want = models.as_array().unwrap();
        assert_eq!(got.len(), want.len(), "{name}: {got:?}");
        for (got, want) in got.iter().zip(want) {
            for (member, value) in want.as_object().unwrap() {
                assert_eq!(&got[member], value, "{name}: {got}");
            }
        }
        let file = format!("data/credentials/{name}-1");
        assert_eq!(desk.read(&file).trim_end(), CREDENTIAL);
        assert_eq!(mode(&desk, &file), 0o400, "{name}");
        assert_eq!(mode(&desk, "data/credentials"), 0o700, "{name}");
        assert_eq!(mode(&desk, "data/first.key") & 0o077, 0, "{name}");
        let listed = desk.run(&[
            "models",
            "data/gateway.json",
            "--key-file",
            "data/first.key",
        ]);
        assert_eq!(
            listed.code, 0,
            "{name}: the first key is good: {}",
            listed.err
        );
        assert!(vendor.asked().len() <= 2, "{name}: a request for each page");
    }
}

#[test]
fn an_address_of_ones_own() {
    let desk = Desk::new();
    let local = vendor::local();
    let address = format!("compatible={}", local.url("/v1"));
    let args = [
        "--vendor",
        &address,
        "--group",
        "ollama",
        "--no-credential",
        "--free",
        "--key-id",
        "me",
    ];
    let ran = init(&desk, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains(" answers; 2 models"), "{}", ran.err);
    let document = desk.read("data/gateway.json");
    assert!(
        document.contains(
            r#"{"id": "llama3.2:3b", "created_at": "2025-09-29T00:00:00Z", "free": true}"#
        ),
        "{document}"
    );
    assert_eq!(desk.read("data/credentials/ollama-1").trim_end(), "none");
    assert!(desk.path("data/me.key").exists());
    assert_eq!(
        desk.run(&["check", "--strict", "data/gateway.json"]).code,
        0
    );
    let without = init(&Desk::new(), &["--vendor", &address]);
    assert_eq!(without.code, 2);
    assert!(
        without.err.contains("say where the credential is"),
        "{}",
        without.err
    );
    assert_eq!(init(&Desk::new(), &["--vendor", "compatible"]).code, 2);
}

#[test]
fn a_compatible_address_of_each_protocol() {
    for (protocol, vendor, path, model) in [
        ("A", vendor::deepseek(), "/v1", "deepseek-flash"),
        ("B", vendor::anthropic(), "", "claude-opus-4-8"),
        ("B", vendor::anthropic(), "/v1", "claude-opus-4-8"),
        ("C", vendor::gemini(), "", "gemini-3.6-flash"),
    ] {
        let desk = Desk::new();
        let address = format!("compatible={}", vendor.url(path));
        let more = ["--protocol", protocol, "--group", "mine"];
        let ran = init(&desk, &[at(&address).as_slice(), &more].concat());
        assert_eq!(ran.code, 0, "{protocol}: {}", ran.err);
        let listed = desk.run(&[
            "models",
            "data/gateway.json",
            "--key-file",
            "data/first.key",
        ]);
        assert!(listed.out.contains(model), "{protocol}: {}", listed.out);
        let checked = desk.run(&["check", "--strict", "data/gateway.json"]);
        assert_eq!(checked.code, 0, "{protocol}: {}", checked.out);
    }
}

#[test]
fn several_vendors_share_a_group_and_a_key() {
    let desk = Desk::new();
    let (a, b, c) = (vendor::openai(), vendor::anthropic(), vendor::gemini());
    let vendors = [
        format!("openai={}", a.url("/v1")),
        format!("anthropic={}", b.url("")),
        format!("gemini={}", c.url("")),
    ];
    let args: Vec<&str> = vendors
        .iter()
        .flat_map(|vendor| ["--vendor", vendor])
        .collect();
    let args = [args, vec!["--budget-day", "0.01"]].concat();
    let variables = [
        ("OPENAI_API_KEY", CREDENTIAL),
        ("ANTHROPIC_API_KEY", CREDENTIAL),
        ("GEMINI_API_KEY", CREDENTIAL),
    ];
    let ran = init_with(&desk, &args, &variables);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for line in [
        "group all, which serves all of them to one key",
        "claude --model",
        "wire_api = \"responses\"",
        "gemini --model",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    let checked = desk.run(&["check", "--strict", "data/gateway.json"]);
    assert_eq!(checked.code, 0, "{}", checked.out);
    let models = desk
        .run(&[
            "models",
            "data/gateway.json",
            "--key-file",
            "data/first.key",
        ])
        .out;
    for line in [
        "gpt-6-luna",
        "claude-opus-4-8",
        "gemini-3.6-flash",
        "vc_generate_content",
    ] {
        assert!(models.contains(line), "{line}: {models}");
    }
    let keys = desk.run(&["key", "list", "data/gateway.json"]).out;
    assert!(keys.contains("0.01"), "{keys}");
    let missing = init(&Desk::new(), &args);
    assert_eq!(missing.code, 1);
    assert!(
        missing
            .err
            .contains("the environment has no OPENAI_API_KEY: set it"),
        "{}",
        missing.err
    );
    let both = init(
        &Desk::new(),
        &[args.as_slice(), &["--models", "gpt-6-luna"]].concat(),
    );
    assert_eq!(both.code, 2);
    assert!(
        both.err.contains("--models is for one vendor"),
        "{}",
        both.err
    );
}
