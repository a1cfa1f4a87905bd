//! `trilane prices`, and documents that take their prices from the catalogue.

use serde_json::{Value, json};

use crate::desk::Desk;

/// A document in an odd style, with the catalogue's prices for two models.
const ASKING: &str = r#"{ "currency":"USD",
  "groups" : [
    {"id": "b", "protocol": "B", "multiplier": "1", "cluster": "c",
     "models": [ {"id": "claude-opus-4-8", "prices" :"catalogue" },
       {"id": "mine",	"upstream": "claude-haiku-4-5-20251001", "prices": "catalogue"}, {"id": "own", "prices": {"input": "1.50", "cache_read": "0.15", "output": "2"}}]}],
  "keys": [{"id": "k", "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "group": "b", "limits": {"budget": {"per_day": "0.01"}}}]
}
"#;
const OPUS: &str = r#"{"input":"5","cache_read":"0.5","cache_write_5m":"6.25","cache_write_1h":"10","output":"25"}"#;
const HAIKU: &str =
    r#"{"input":"1","cache_read":"0.1","cache_write_5m":"1.25","cache_write_1h":"2","output":"5"}"#;

/// [`ASKING`] with numbers, and otherwise as it is.
fn answered() -> String {
    ASKING
        .replacen(r#":"catalogue" }"#, &format!(":{OPUS} }}"), 1)
        .replacen(r#""catalogue""#, HAIKU, 1)
}

#[test]
fn the_list_has_page_and_day() {
    let desk = Desk::new();
    let all = desk.run(&["prices", "list", "--format", "json"]).json();
    let all = all.as_array().unwrap();
    assert!(all.len() >= 20, "{all:?}");
    for model in all {
        assert_eq!(model["currency"], "USD", "{model}");
        assert!(
            model["page"].as_str().unwrap().starts_with("https://"),
            "{model}"
        );
        assert!(model["read"].as_str().unwrap() >= "2026-11-23", "{model}");
        assert!(model["prices"]["input"].is_string(), "{model}");
    }
    let of_c = desk
        .run(&["prices", "list", "--protocol", "C", "--format", "json"])
        .json();
    let of_c: Vec<&str> = of_c
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["model"].as_str().unwrap())
        .collect();
    assert_eq!(of_c, ["gemini-3.6-flash", "gemini-3.5-flash-lite"]);
    let csv = desk.run(&["prices", "list", "--format", "csv"]).out;
    assert!(
        csv.starts_with("model,protocols,input,cache_read,output,read,page\r\n"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), all.len() + 1);
    let table = desk.run(&["prices", "list"]).out;
    assert!(
        table.contains("claude-opus-4-8 ") && table.contains("2026-11-23"),
        "{table}"
    );
}

#[test]
fn one_is_shown_or_not_known() {
    let desk = Desk::new();
    let shown = desk.run(&["prices", "show", "claude-opus-4.5-20251101"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    for line in [
        "model           claude-opus-4-5",
        "output          25",
        "read            2026-11-23",
    ] {
        assert!(shown.out.contains(line), "{line}: {}", shown.out);
    }
    let json = desk
        .run(&["prices", "show", "gpt-6-luna", "--format", "json"])
        .json();
    assert_eq!(json["prices"]["tiers"]["flex"]["output"], "0.25");
    let above = &json["prices"]["above"][0];
    assert_eq!(
        (&above["input_tokens"], &above["prices"]["input"]),
        (&json!(272_000), &json!("0.2"))
    );
    assert!(
        json["note"].as_str().unwrap().contains("fast mode"),
        "{json}"
    );
    let unknown = desk.run(&["prices", "show", "gpt-6-lunar"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (1, ""));
    assert!(
        unknown.err.contains("did you mean \"gpt-6-luna\"?"),
        "{}",
        unknown.err
    );
}

#[test]
fn a_document_is_compared() {
    let desk = Desk::new();
    desk.write("asking.json", ASKING);
    let same = desk.run(&["prices", "check", "--document", "asking.json"]);
    assert_eq!(same.code, 0, "{}", same.err);
    let want = "group  model            prices\nb      claude-opus-4-8  same\nb      mine             same\nb      own              unknown\n";
    assert_eq!(same.out, want);
    desk.write(
        "other.json",
        &answered().replacen(r#""output":"25""#, r#""output":"24.99""#, 1),
    );
    let other = desk.run(&[
        "prices",
        "check",
        "--document",
        "other.json",
        "--format",
        "json",
    ]);
    assert_eq!((other.code, other.err.as_str()), (1, ""));
    let want = json!({"group": "b", "model": "claude-opus-4-8", "prices": "different",
        "differences": [{"of": "output", "document": "24.99", "catalogue": "25"}]});
    assert_eq!(other.json()[0], want);
    let table = desk.run(&["prices", "check", "other.json"]).out;
    assert!(
        table.contains("b      claude-opus-4-8  different  output     24.99         25\n"),
        "{table}"
    );
    let csv = desk
        .run(&["prices", "check", "other.json", "--format", "csv"])
        .out;
    assert!(
        csv.contains("b,claude-opus-4-8,different,output,24.99,25\r\nb,mine,same,,,\r\n"),
        "{csv}"
    );
    desk.write("broken.json", "{");
    assert_eq!(desk.run(&["prices", "check", "broken.json"]).code, 2);
    assert_eq!(desk.run(&["prices", "check", "missing.json"]).code, 2);
}

#[test]
fn check_takes_the_word_and_names_what_is_not_known() {
    let desk = Desk::new();
    desk.write("asking.json", ASKING);
    let good = desk.run(&["check", "--strict", "asking.json"]);
    assert_eq!(good.code, 0, "{}{}", good.out, good.err);
    let unknown = ASKING
        .replace("claude-opus-4-8", "claude-opus-9")
        .replace("\"1.50\"", "\"x\"");
    desk.write("unknown.json", &unknown);
    let ran = desk.run(&["check", "unknown.json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    for line in [
        "unknown.json:4: error: groups[0].models[0].prices: the catalogue has no prices of \"claude-opus-9\" (protocol B): write them yourself; did you mean",
        "unknown.json:5: error: groups[0].models[2].prices.input: must be a plain decimal number",
        "unknown.json: not good (2 problems)",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    desk.write("euro.json", &ASKING.replace("\"USD\"", "\"EUR\""));
    let euro = desk.run(&["check", "euro.json"]).out;
    let line = "euro.json:1: error: currency: is not USD, which the catalogue's prices for groups[0].models[0].prices are in";
    assert!(euro.contains(line), "{euro}");
}

#[test]
fn keys_change_without_the_word_being_touched() {
    let desk = Desk::new();
    desk.write("asking.json", ASKING);
    let ran = desk.run(&["key", "disable", "--document", "asking.json", "--id", "k"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let now = desk.read("asking.json");
    assert_eq!(now.matches("\"catalogue\"").count(), 2, "{now}");
    assert_eq!(now.replace(r#", "disabled": true"#, ""), ASKING);
}

#[test]
fn the_published_document_has_numbers_and_is_otherwise_the_same() {
    let desk = Desk::new();
    desk.write("asking.json", ASKING);
    let render = |file: &str| {
        desk.run(&[
            "render",
            "--document",
            file,
            "--out",
            "out",
            "--publish",
            "there/gateway.json",
            "--filter",
            "key.txt",
        ])
    };
    let ran = render("asking.json");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(desk.read("there/gateway.json"), answered());
    assert_eq!(
        desk.read("asking.json"),
        ASKING,
        "it stays as it is written"
    );
    // What the gateway reads says the same to every subcommand.
    let published: Value = serde_json::from_str(&desk.read("there/gateway.json")).unwrap();
    assert_eq!(
        published["groups"][0]["models"][0]["prices"]["output"],
        "25"
    );
    let again = render("asking.json");
    assert!(again.out.contains("nothing to change"), "{}", again.out);
    desk.write(
        "unknown.json",
        &ASKING.replace("claude-opus-4-8", "claude-opus-9"),
    );
    let ran = render("unknown.json");
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(
        ran.err.contains(
            "groups[0].models[0].prices: the catalogue has no prices of \"claude-opus-9\""
        ),
        "{}",
        ran.err
    );
    assert_eq!(
        desk.read("there/gateway.json"),
        answered(),
        "the one before stays"
    );
}

/// A list in the form of LiteLLM's price file.
const LIST: &str = r#"{
    "gpt-6-luna": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.1e-07, "output_cost_per_token": 5e-07, "cache_read_input_token_cost": 1.1e-08},
    "gpt-9": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05},
    "claude-opus-4-8": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 5e-06, "output_cost_per_token": 2.5e-05,
        "cache_read_input_token_cost": 5e-07, "cache_creation_input_token_cost": 6.25e-06, "cache_creation_input_token_cost_above_1hr": 1e-05},
    "xai/grok-9": {"litellm_provider": "xai", "mode": "chat", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05}
}"#;

#[test]
fn a_list_is_imported() {
    let desk = Desk::new();
    desk.write("list.json", LIST);
    let import = |args: &[&str]| {
        desk.run(&[&["prices", "import", "list.json", "--data", "data"], args].concat())
    };
    let asked = import(&[]);
    assert_eq!(asked.code, 1, "{}", asked.err);
    assert!(asked.err.contains("no terminal to ask at"), "{}", asked.err);
    assert!(!desk.path("data/prices.json").exists(), "nothing unasked");
    let rows: Vec<Vec<&str>> = asked
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for (model, is) in [
        ("claude-opus-4-8", "same"),
        ("gpt-6-luna", "changed"),
        ("gpt-9", "new"),
    ] {
        let row = rows.iter().find(|row| row.first() == Some(&model));
        assert_eq!(row.and_then(|row| row.last()), Some(&is), "{}", asked.out);
    }
    assert!(
        !asked.out.contains("grok-9"),
        "has no preset: {}",
        asked.out
    );

    let taken = import(&["--yes"]);
    assert_eq!(taken.code, 0, "{}", taken.err);
    let own: Value = serde_json::from_str(&desk.read("data/prices.json")).unwrap();
    assert_eq!(own["models"].as_array().unwrap().len(), 3);
    let again = import(&["--yes"]);
    assert_eq!(again.code, 0);
    assert!(again.err.contains("nothing is new"), "{}", again.err);
    let named = import(&["--yes", "--vendor", "xai", "--models", "grok-9"]);
    assert_eq!(named.code, 0, "{}", named.err);

    let shown = ["prices", "show", "--format", "json", "--data", "data"];
    let show = |model| desk.run(&[shown.as_slice(), &[model]].concat()).json();
    let luna = show("gpt-6-luna");
    assert_eq!(
        luna["prices"],
        json!({"input": "0.11", "cache_read": "0.011", "output": "0.5"})
    );
    assert_eq!(luna["page"], "list.json");
    assert_eq!(luna["as_stored"], "LiteLLM's price file");
    assert_eq!(show("grok-9")["prices"]["input"], "3");
    assert_eq!(show("gpt-4")["prices"]["input"], "30", "the others stay");

    let document = r#"{"currency": "USD", "groups": [{"id": "a", "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{"id": "gpt-9", "prices": "catalogue"}]}], "keys": []}"#;
    desk.write("data/gateway.json", document);
    desk.write("elsewhere.json", document);
    assert_eq!(desk.run(&["check", "data/gateway.json"]).code, 0);
    let elsewhere = desk.run(&["check", "elsewhere.json"]);
    assert_eq!(
        elsewhere.code, 1,
        "it lies beside no catalogue of the operator's"
    );
    desk.write("data/prices.json", "{");
    let broken = desk.run(&["check", "data/gateway.json"]);
    assert_eq!(broken.code, 1);
    assert!(broken.out.contains("prices.json"), "{}", broken.out);
}

#[test]
fn an_import_says_what_is_wrong() {
    let desk = Desk::new();
    desk.write("list.json", LIST);
    desk.write("other.json", r#"{"error": "x"}"#);
    for (args, want) in [
        (&["missing.json"][..], "cannot read missing.json"),
        (&["other.json"], "is no price list"),
        (
            &["list.json", "--vendor", "nobody"],
            "it has those of anthropic, openai, xai",
        ),
        (
            &["http://127.0.0.1:9/x"],
            "cannot read http://127.0.0.1:9/x",
        ),
    ] {
        let ran = desk.run(&[&["prices", "import", "--data", "data", "--yes"], args].concat());
        assert_eq!(ran.code, 1, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(want), "{args:?}: {}", ran.err);
    }
}
