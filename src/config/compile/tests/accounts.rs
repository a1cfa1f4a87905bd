use super::*;

fn with_accounts(accounts: Value, failover: Value) -> Value {
    let mut document = sample();
    let group = &mut document["groups"][1];
    group.as_object_mut().unwrap().remove("cluster");
    group["accounts"] = accounts;
    group["failover"] = failover;
    document
}

#[test]
fn accounts_are_those_of_the_document() {
    use crate::config::account::{CredentialHeader, HttpVersion};
    let accounts = json!([
        {"id": "one", "url": "https://api.example.com/base/", "credential": "one.key"},
        {"id": "two", "url": "http://127.0.0.1:9101", "credential": "/run/secrets/two", "header": "x-api-key",
         "weight": 3, "priority": 1, "http": "2", "proxy": "http://proxy:3128", "cost": "0.8500"}
    ]);
    let compiled = compile_value(&with_accounts(accounts, json!({"tries": 2}))).unwrap();
    let GroupKind::Source(source) = &compiled.policy.groups()[1].kind else {
        panic!("a source");
    };
    assert_eq!(source.cluster, "source/a");
    let accounts = source.accounts.as_ref().unwrap();
    assert_eq!(accounts.failover.tries, Some(2));
    assert_eq!(accounts.failover.total_seconds, 600, "the default");
    let shown: Vec<_> = accounts
        .accounts
        .iter()
        .map(|a| {
            (
                a.id.as_str(),
                a.origin.to_string(),
                a.header,
                a.weight,
                a.priority,
                a.http,
            )
        })
        .collect();
    let want = [
        (
            "one",
            "https://api.example.com/base".to_owned(),
            CredentialHeader::Bearer,
            1,
            0,
            HttpVersion::Negotiated,
        ),
        (
            "two",
            "http://127.0.0.1:9101".to_owned(),
            CredentialHeader::XApiKey,
            3,
            1,
            HttpVersion::Two,
        ),
    ];
    assert_eq!(shown, want);
    let costs = accounts
        .accounts
        .iter()
        .map(|account| account.cost.map(|cost| cost.to_string()));
    assert_eq!(costs.collect::<Vec<_>>(), [None, Some("0.8500".to_owned())]);
    let marks = accounts.marks.clone();
    let mut cheaper = accounts.accounts.clone();
    cheaper.iter_mut().for_each(|account| account.cost = None);
    let without = crate::config::account::Accounts::new("a", cheaper, accounts.failover, false);
    assert_eq!(without.marks, marks, "a cost is no other account");
}

#[test]
fn every_problem_of_an_account_is_named() {
    let good = json!({"id": "one", "url": "https://h", "credential": "one.key"});
    let with = |field: &str, value: Value| {
        let mut account = good.clone();
        account[field] = value;
        json!([account])
    };
    let at = "groups[1].accounts[0]";
    let cases = [
        (
            "none",
            json!([]),
            json!(null),
            "groups[1].accounts: must be 1 to 64".to_owned(),
        ),
        (
            "id twice",
            json!([good, good]),
            json!(null),
            "groups[1].accounts[1].id: is the id of another".to_owned(),
        ),
        (
            "id odd",
            with("id", json!("a/b")),
            json!(null),
            format!("{at}.id: must be 1 to 64"),
        ),
        (
            "url missing",
            with("url", json!(null)),
            json!(null),
            format!("{at}.url: is missing"),
        ),
        (
            "a credential in the url",
            with("url", json!("https://k@h")),
            json!(null),
            format!("{at}.url: must hold no credential"),
        ),
        (
            "an endpoint in the url",
            with("url", json!("https://h/v1/messages/")),
            json!(null),
            format!("{at}.url: ends in an endpoint: leave off what begins with /messages,"),
        ),
        (
            "a model's method in the url",
            with("url", json!("https://h/v1beta/models/m:generateContent")),
            json!(null),
            format!("{at}.url: ends in an endpoint: leave off what begins with :generateContent,"),
        ),
        (
            "a query in the url",
            with("url", json!("https://h/openai/v1?api-version=preview")),
            json!(null),
            format!("{at}.url: must have no query"),
        ),
        (
            "no credential",
            with("credential", json!(null)),
            json!(null),
            format!("{at}.credential: is missing"),
        ),
        (
            "header",
            with("header", json!("cookie")),
            json!(null),
            format!("{at}.header: must be"),
        ),
        (
            "weight",
            with("weight", json!(0)),
            json!(null),
            format!("{at}.weight: must be between 1 and 1000"),
        ),
        (
            "priority",
            with("priority", json!(10)),
            json!(null),
            format!("{at}.priority: must be between 0 and 9"),
        ),
        (
            "http",
            with("http", json!("3")),
            json!(null),
            format!("{at}.http: must be"),
        ),
        (
            "http negotiated without TLS",
            json!([{"id": "x", "url": "http://h", "credential": "k", "http": "auto"}]),
            json!(null),
            format!("{at}.http: can be \"auto\" for https only"),
        ),
        (
            "retries",
            with("retries", json!(4)),
            json!(null),
            format!("{at}.retries: must be between 0 and 3"),
        ),
        (
            "a cost that is none",
            with("cost", json!("1,5")),
            json!(null),
            format!("{at}.cost: has a comma"),
        ),
        (
            "a negative cost",
            with("cost", json!("-1")),
            json!(null),
            format!("{at}.cost: must be a plain decimal number"),
        ),
        (
            "a cost as a number",
            with("cost", json!(0.5)),
            json!(null),
            "groups[1].accounts[0].cost: ".to_owned(),
        ),
        (
            "proxy with a path",
            with("proxy", json!("https://p/x")),
            json!(null),
            format!("{at}.proxy: must be http://"),
        ),
        (
            "region",
            with("region", json!("US")),
            json!(null),
            format!("{at}.region: must be named by"),
        ),
        (
            "a region without a name",
            with("region", json!("")),
            json!(null),
            format!("{at}.region: must be named by"),
        ),
        (
            "tries",
            with("weight", json!(1)),
            json!({"tries": 11}),
            "groups[1].failover.tries: must be between".to_owned(),
        ),
        (
            "a budget",
            with("limits", json!({"budget": {"per_day": "1"}})),
            json!(null),
            format!("{at}.limits.budget: is of keys"),
        ),
        (
            "no limit",
            with("limits", json!({})),
            json!(null),
            format!("{at}.limits: limits nothing"),
        ),
        (
            "an order that there is not",
            with("weight", json!(1)),
            json!({"order": "random"}),
            "groups[1].failover.order: must be \"conversation\" or".to_owned(),
        ),
        (
            "the least busy, and a state",
            with("state", json!("org")),
            json!({"order": "least_busy"}),
            "groups[1].failover.order: cannot be \"least_busy\" where".to_owned(),
        ),
        (
            "a label with a blank",
            with("state", json!("my org")),
            json!(null),
            format!("{at}.state: "),
        ),
        (
            "a day and a second",
            with("weight", json!(1)),
            json!({"prompt_cache_seconds": 86_401}),
            "groups[1].failover.prompt_cache_seconds: must be between".to_owned(),
        ),
    ];
    for (case, accounts, failover, want) in cases {
        let problems = compile_value(&with_accounts(accounts, failover)).expect_err(case);
        let found = problems.0.iter().any(|p| p.to_string().starts_with(&want));
        assert!(found, "{case}: {problems:?}");
    }
    let mut stateful = sample();
    stateful["groups"][1] = json!({"id": "c", "protocol": "C", "multiplier": "1", "models": [],
        "account_resources": true, "accounts": [good, {"id": "y", "url": "https://h", "credential": "k"}]});
    let problems = compile_value(&stateful).expect_err("state of one of several accounts");
    let at = "groups[1].account_resources: cannot be there with several";
    assert!(
        problems.0.iter().any(|p| p.to_string().starts_with(at)),
        "{problems:?}"
    );
    let mut both = with_accounts(json!([good]), json!(null));
    both["groups"][1]["cluster"] = json!("a1");
    assert!(compile_value(&both).is_err(), "accounts and a cluster");
}

#[test]
fn regions_are_tiers_of_prices() {
    let account = |id: &str, region: &str| json!({"id": id, "url": "https://h", "credential": id, "region": region});
    let regions = ["us", "global", "eu", "us"];
    let accounts = regions.iter().zip(["a", "b", "c", "d"]);
    let accounts: Vec<Value> = accounts.map(|(region, id)| account(id, region)).collect();
    let mut document = with_accounts(accounts.into(), json!(null));
    let tier = |input: &str| json!({"input": input, "output": "2"});
    let mut prices = tier("1");
    prices["tiers"] = json!({"us": tier("1.1")});
    let models = document["groups"][1]["models"].as_array_mut().unwrap();
    for model in models.iter_mut() {
        model.as_object_mut().unwrap().remove("prices");
    }
    models.push(json!({"id": "m", "prices": prices}));
    let compiled = compile_value(&document).unwrap();
    let GroupKind::Source(source) = &compiled.policy.groups()[1].kind else {
        panic!("a source");
    };
    let accounts = source.accounts.as_ref().unwrap();
    let named: Vec<&str> = accounts.regions().map(|region| region.as_str()).collect();
    assert_eq!(named, ["us", "eu"], "each once, and anywhere is none");
    for (id, want) in [
        ("a", Some("us")),
        ("b", None),
        ("c", Some("eu")),
        ("x", None),
    ] {
        assert_eq!(
            accounts
                .named(id)
                .and_then(|account| account.region.as_ref())
                .map(|region| region.as_str()),
            want,
            "{id}"
        );
    }
    let warned: Vec<String> = compiled.warnings.iter().map(ToString::to_string).collect();
    let [only] = warned.as_slice() else {
        panic!("{warned:?}");
    };
    assert!(
        only.starts_with("groups[1].accounts[2].region: has no prices of its own in m:"),
        "{only}"
    );
}
