use super::*;
use crate::limits::service::OnFailure;

#[test]
fn every_problem_of_fields_at_the_top_is_named() {
    // (case, JSON pointer, what to put there, or null to take it out, the problem)
    let cases = [
        (
            "no groups",
            "/groups",
            json!([]),
            "groups: is missing or empty",
        ),
        ("no keys", "/keys", Value::Null, "keys: is missing"),
        (
            "window too great",
            "/inspect_window",
            json!(2_000_000),
            "inspect_window: must be between",
        ),
        (
            "body limit too small",
            "/max_body",
            json!(1),
            "max_body: must be between",
        ),
        (
            "feed without a cluster",
            "/keys_feed",
            json!({}),
            "keys_feed.cluster: must be 1 to 128",
        ),
        (
            "feed with an odd cluster",
            "/keys_feed",
            json!({"cluster": "a b"}),
            "keys_feed.cluster: must be 1 to 128",
        ),
        (
            "feed with an odd path",
            "/keys_feed",
            json!({"cluster": "c", "path": "keys"}),
            "keys_feed.path: must start with /",
        ),
        (
            "feed with a fragment",
            "/keys_feed",
            json!({"cluster": "c", "path": "/keys#a"}),
            "keys_feed.path: must start with /",
        ),
        (
            "feed with an odd authority",
            "/keys_feed",
            json!({"cluster": "c", "authority": "a\nb"}),
            "keys_feed.authority: must be visible ASCII",
        ),
        (
            "limits service that fails in an unknown way",
            "/limits_service",
            json!({"failure": "ajar"}),
            "limits_service.failure: must be \"open\"",
        ),
        (
            "no origin",
            "/cors",
            json!({"origins": []}),
            "cors.origins: must name 1 to 64 origins",
        ),
        (
            "no origins",
            "/cors",
            json!({}),
            "cors.origins: must name 1 to 64 origins",
        ),
        (
            "an address of a page",
            "/cors",
            json!({"origins": ["https://a.example", "https://b.example/chat"]}),
            "cors.origins[1]: must be an origin as browsers send it",
        ),
        (
            "every origin and another",
            "/cors",
            json!({"origins": ["*", "https://a.example"]}),
            "cors.origins[0]: stands for every origin",
        ),
        (
            "too many labels",
            "/labels",
            json!({"a": "x-a", "b": "x-b", "c": "x-c", "d": "x-d", "e": "x-e"}),
            "labels: must have at most 4 labels",
        ),
        (
            "the name of a label",
            "/labels",
            json!({"Project": "x-project"}),
            "labels: \"Project\" must be a name of 1 to 32",
        ),
        (
            "the header of a label",
            "/labels",
            json!({"project": "X-Project"}),
            "labels.project: must be the name of a header, in lower case",
        ),
        (
            "a label with a credential",
            "/labels",
            json!({"project": "x-project-key"}),
            "labels.project: is a header that may hold a credential",
        ),
        (
            "an unknown treatment of a ledger that cannot be written",
            "/ledger_unwritable",
            json!("wait"),
            "ledger_unwritable: must be \"serve\"",
        ),
        (
            "currency",
            "/currency",
            json!("dollars"),
            "currency: must be a code of three letters",
        ),
        (
            "a contact of nothing",
            "/contact",
            json!(""),
            "contact: must be a line of at most 200 bytes",
        ),
        (
            "a contact of two lines",
            "/contact",
            json!("ann\nbob"),
            "contact: must be a line of at most 200 bytes",
        ),
        (
            "a long contact",
            "/contact",
            json!("x".repeat(201)),
            "contact: must be a line of at most 200 bytes",
        ),
    ];
    each_is_named(cases);
}

#[test]
fn where_a_feed_is() {
    let cases = [
        ("none", json!(null), None),
        (
            "defaults",
            json!({"cluster": "c"}),
            Some(("c", "/keys", "c")),
        ),
        (
            "all of it",
            json!({"cluster": "outbound|80||keys", "path": "/k?tenant=1", "authority": "keys.internal:80"}),
            Some(("outbound|80||keys", "/k?tenant=1", "keys.internal:80")),
        ),
    ];
    for (case, feed, want) in cases {
        let mut document = sample();
        document["keys_feed"] = feed;
        let compiled = compile_value(&document).unwrap();
        let source = compiled.policy.keys_feed.as_ref();
        let got = source.map(|s| (&*s.cluster, &*s.path, &*s.authority));
        assert_eq!(got, want, "{case}");
    }
}

#[test]
fn what_a_failing_limits_service_means() {
    let cases = [
        ("not named", json!(null), None),
        ("default", json!({}), Some(OnFailure::Open)),
        ("open", json!({"failure": "open"}), Some(OnFailure::Open)),
        (
            "closed",
            json!({"failure": "closed"}),
            Some(OnFailure::Closed),
        ),
    ];
    for (case, service, want) in cases {
        let mut document = sample();
        document["limits_service"] = service;
        let compiled = compile_value(&document).unwrap();
        assert_eq!(compiled.policy.limits_service, want, "{case}");
        // The filter reads it from the snapshot, which has no keys.
        let document = Document::parse(document.to_string().as_bytes()).unwrap();
        let (policy, _) = compile_policy(&document.without_keys()).unwrap();
        assert_eq!(policy.limits_service, want, "{case}: in the snapshot");
    }
}

#[test]
fn which_pages_may_read_answers() {
    let listed = json!({"origins": ["https://a.example", "http://localhost:3000"]});
    let cases = [
        ("none", json!(null), "https://a.example", None),
        (
            "the first",
            listed.clone(),
            "https://a.example",
            Some("https://a.example"),
        ),
        (
            "the last",
            listed.clone(),
            "http://localhost:3000",
            Some("http://localhost:3000"),
        ),
        (
            "another port",
            listed.clone(),
            "http://localhost:3001",
            None,
        ),
        (
            "more behind it",
            listed.clone(),
            "https://a.example.org",
            None,
        ),
        ("no page", listed, "null", None),
        ("all", json!({"origins": ["*"]}), "null", Some("*")),
    ];
    for (case, cors, origin, want) in cases {
        let mut document = sample();
        document["cors"] = cors;
        let allowed = |policy: &Policy| {
            let cors = policy.cors.as_ref();
            cors.and_then(|cors| cors.allowed(origin.as_bytes()))
        };
        let compiled = compile_value(&document).unwrap();
        assert_eq!(allowed(&compiled.policy).as_deref(), want, "{case}");
        let document = Document::parse(document.to_string().as_bytes()).unwrap();
        let (policy, _) = compile_policy(&document.without_keys()).unwrap();
        assert_eq!(allowed(&policy).as_deref(), want, "{case}: in the snapshot");
    }
}

#[test]
fn when_requests_need_a_ledger() {
    let cases = [
        ("not named", json!(null), false),
        ("serve", json!("serve"), false),
        ("refuse", json!("refuse"), true),
    ];
    for (case, treatment, want) in cases {
        let mut document = sample();
        document["ledger_unwritable"] = treatment;
        let compiled = compile_value(&document).unwrap();
        assert_eq!(compiled.policy.requires_ledger, want, "{case}");
        let document = Document::parse(document.to_string().as_bytes()).unwrap();
        let (policy, _) = compile_policy(&document.without_keys()).unwrap();
        assert_eq!(policy.requires_ledger, want, "{case}: in the snapshot");
    }
}
