//! A document that is there: it stays, gets a vendor, or is replaced.

use super::vendor;
use super::{at, init};
use crate::desk::Desk;

/// A document in an odd style of somebody else.
const OTHERS: &str = "{\"currency\": \"USD\",\n\t\"groups\": [ {\"id\":\"x\",\"protocol\":\"B\",\"multiplier\":\"1\",\"cluster\":\"c\",\"models\":[{\"id\":\"claude-opus-4-8\",\"prices\":\"catalogue\"}]} ] , \"keys\":[] }\n";

fn with_others(text: &str) -> Desk {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("data")).unwrap();
    desk.write("data/gateway.json", text);
    desk
}

#[test]
fn it_stays_unless_something_else_is_said() {
    let vendor = vendor::openai();
    let address = format!("openai={}", vendor.url("/v1"));
    let desk = with_others(OTHERS);
    let ran = init(&desk, &at(&address));
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains(
            "data/gateway.json is there already: --add adds a vendor to it, --force replaces it"
        ),
        "{}",
        ran.err
    );
    assert_eq!(desk.read("data/gateway.json"), OTHERS);
    assert!(vendor.asked().is_empty(), "the vendor is not even asked");
    let none = init(
        &Desk::new(),
        &[at(&address).as_slice(), &["--add"]].concat(),
    );
    assert_eq!(none.code, 1);
    assert!(
        none.err
            .contains("nothing can be added to it: leave --add out"),
        "{}",
        none.err
    );
    let both = init(
        &desk,
        &[at(&address).as_slice(), &["--add", "--force"]].concat(),
    );
    assert_eq!(both.code, 2);
}

#[test]
fn a_vendor_is_added_and_everything_else_stays_byte_for_byte() {
    let vendor = vendor::openai();
    let address = format!("openai={}", vendor.url("/v1"));
    let desk = with_others(OTHERS);
    let args = [at(&address).as_slice(), &["--add", "--key-id", "mine"]].concat();
    let ran = init(&desk, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let now = desk.read("data/gateway.json");
    let (before, behind) = OTHERS.split_at(OTHERS.find(" ] , \"keys\":[").unwrap());
    assert!(now.starts_with(before), "{now}");
    assert!(
        now.contains(" ] , \"keys\":[{") && behind.starts_with(" ] , \"keys\":["),
        "{now}"
    );
    assert!(
        ran.out.contains("the key mine of the group openai"),
        "{}",
        ran.out
    );
    let checked = desk.run(&["check", "--strict", "data/gateway.json"]);
    assert_eq!(checked.code, 0, "{}", checked.out);
    let again = init(
        &desk,
        &[args.as_slice(), &["--key-id", "other"]].concat()[..],
    );
    assert_eq!(again.code, 2, "the option twice");
    let again = init(
        &desk,
        &[at(&address).as_slice(), &["--add", "--key-id", "other"]].concat(),
    );
    assert_eq!(again.code, 1);
    assert!(
        again
            .err
            .contains("the document has a group openai already: name the new one with --group ID"),
        "{}",
        again.err
    );
    assert_eq!(desk.read("data/gateway.json"), now);
    let named = [
        at(&address).as_slice(),
        &["--add", "--key-id", "other", "--group", "second"],
    ]
    .concat();
    assert_eq!(init(&desk, &named).code, 0);
    std::fs::remove_file(desk.path("data/mine.key")).unwrap();
    let known = [
        at(&address).as_slice(),
        &["--add", "--group", "third", "--key-id", "mine"],
    ]
    .concat();
    let before = desk.read("data/gateway.json");
    let known = init(&desk, &known);
    assert_eq!(known.code, 1);
    let said = "the document has a key mine already: name the new one with --key-id ID";
    assert!(known.err.contains(said), "{}", known.err);
    assert_eq!(desk.read("data/gateway.json"), before);
    desk.write("data/mine.key", "");
    let taken = [
        at(&address).as_slice(),
        &["--add", "--group", "third", "--key-id", "mine"],
    ]
    .concat();
    let taken = init(&desk, &taken);
    assert_eq!(taken.code, 1);
    assert!(
        taken
            .err
            .contains("mine.key is there already: name another file with --key-out"),
        "{}",
        taken.err
    );
}

#[test]
fn what_is_added_is_in_all_unless_it_is_to_be_apart() {
    let (a, b) = (vendor::openai(), vendor::anthropic());
    let (c, d) = (vendor::deepseek(), vendor::gemini());
    let desk = Desk::new();
    let added = |vendor: &str, more: &[&str]| {
        let ran = init(&desk, &[at(vendor).as_slice(), more].concat());
        assert_eq!(ran.code, 0, "{vendor}: {}", ran.err);
        let checked = desk.run(&["check", "--strict", "data/gateway.json"]);
        assert_eq!(checked.code, 0, "{vendor}: {}", checked.out);
        ran.out
    };
    let models = |key: &str| {
        let file = format!("data/{key}.key");
        let ran = desk.run(&["models", "data/gateway.json", "--key-file", &file]);
        ran.out
    };
    let first = added(&format!("openai={}", a.url("/v1")), &[]);
    assert!(first.contains("of the group openai"), "{first}");
    let more = &["--add", "--key-id", "second"];
    let second = added(&format!("anthropic={}", b.url("")), more);
    assert!(
        second.contains("the key second of the group all"),
        "{second}"
    );
    assert!(!second.contains("gain"), "nobody had more before: {second}");
    let more = &["--add", "--key-id", "third"];
    let third = added(&format!("deepseek={}", c.url("/v1")), more);
    assert!(third.contains("1 key (second) gains deepseek-"), "{third}");
    for (key, model) in [
        ("second", "gpt-6-luna"),
        ("second", "claude-opus-4-8"),
        ("second", "deepseek-flash"),
        ("third", "gpt-6-luna"),
    ] {
        assert!(models(key).contains(model), "{key}: {}", models(key));
    }
    assert!(!models("first").contains("deepseek"), "{}", models("first"));
    let more = &["--add", "--apart", "--key-id", "fourth"];
    let fourth = added(&format!("gemini={}", d.url("")), more);
    assert!(
        fourth.contains("the key fourth of the group gemini"),
        "{fourth}"
    );
    assert!(!models("second").contains("gemini"), "{}", models("second"));
    let without = init(&desk, &[at("gemini").as_slice(), &["--apart"]].concat());
    assert_eq!(without.code, 2, "--apart is for --add");
}

#[test]
fn what_cannot_be_added_to() {
    let vendor = vendor::openai();
    let address = format!("openai={}", vendor.url("/v1"));
    let args = [at(&address).as_slice(), &["--add"]].concat();
    for (case, text, said) in [
        (
            "no JSON",
            "{",
            "nothing was changed: mend data/gateway.json first",
        ),
        (
            "without groups",
            r#"{"keys": []}"#,
            "has no list of groups: mend it first",
        ),
        (
            "another currency",
            &OTHERS
                .replace("USD", "EUR")
                .replace("\"catalogue\"", "{\"input\":\"1\",\"output\":\"1\"}"),
            "the document's prices are in EUR",
        ),
        (
            "not good",
            &OTHERS.replace("\"multiplier\":\"1\"", "\"multiplier\":\"x\""),
            "nothing was written: the gateway would refuse the document",
        ),
    ] {
        let desk = with_others(text);
        let ran = init(&desk, &args);
        assert_ne!(ran.code, 0, "{case}");
        assert!(ran.err.contains(said), "{case}: {}", ran.err);
        assert_eq!(desk.read("data/gateway.json"), text, "{case}");
        assert!(!desk.path("data/credentials/openai-1").exists(), "{case}");
    }
}

#[test]
fn a_replaced_document_is_kept_beside_the_new_one() {
    let vendor = vendor::openai();
    let address = format!("openai={}", vendor.url("/v1"));
    let desk = with_others(OTHERS);
    let args = [at(&address).as_slice(), &["--force"]].concat();
    assert_eq!(init(&desk, &args).code, 0);
    assert_eq!(desk.read("data/gateway.json.before"), OTHERS);
    let first = desk.read("data/first.key");
    let ran = init(&desk, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_ne!(desk.read("data/first.key"), first, "another key");
    assert_eq!(desk.read("data/first.key.before"), first);
}

#[test]
fn another_key_of_a_vendor_that_is_there() {
    let vendor = vendor::openai();
    let address = format!("openai={}", vendor.url("/v1"));
    let desk = Desk::new();
    let first = init(&desk, &at(&address));
    assert_eq!(first.code, 0, "{}", first.err);
    let before = desk.read("data/gateway.json");
    let asked = vendor.asked().len();
    let args = [at(&address).as_slice(), &["--add", "--another-key"]].concat();
    let ran = init(&desk, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out
            .contains("group openai asks openai-1, then openai-2"),
        "{}",
        ran.out
    );
    assert_eq!(vendor.asked().len(), asked + 1, "the credential is tested");
    assert_eq!(
        desk.read("data/credentials/openai-2").trim(),
        super::CREDENTIAL
    );
    let now = desk.read("data/gateway.json");
    let url = vendor.url("/v1");
    let second = format!(
        r#", {{"id": "openai-2", "url": "{url}", "credential": "openai-2", "priority": 1}}"#
    );
    assert_eq!(now.replace(&second, ""), before, "the rest stays");
    let checked = desk.run(&["check", "--strict", "data/gateway.json"]);
    assert_eq!(checked.code, 0, "{}", checked.out);
    let other = vendor::openai();
    let elsewhere = format!("compatible={}", other.url("/v1"));
    let args = [at(&elsewhere).as_slice(), &["--add", "--another-key"]].concat();
    let ran = init(&desk, &args);
    assert_eq!(ran.code, 1);
    assert!(
        ran.err
            .contains("the document has no group with an account at 127.0.0.1:")
            && ran.err.contains("leave --another-key out"),
        "{}",
        ran.err
    );
    assert!(other.asked().is_empty(), "the credential never left");
    assert_eq!(desk.read("data/gateway.json"), now);
}
