use std::path::Path;

use trilane::config::base::Base;
use trilane::protocol::Protocol;

use super::super::envoy::SecretSource;
use super::*;

fn account(url: &str, http: HttpVersion, retries: u32, proxy: Option<&str>) -> Account {
    Account {
        id: "a".into(),
        base: Base::new(&Origin::parse(url).unwrap().base_path, Protocol::A),
        origin: Origin::parse(url).unwrap(),
        credential: "c".to_owned(),
        header: CredentialHeader::Bearer,
        weight: 1,
        priority: 0,
        http,
        retries,
        ca: None,
        proxy: proxy.map(|url| Origin::parse(url).unwrap()),
        region: None,
        cost: None,
        state: None,
        limits: trilane::limits::Limits::default(),
    }
}

fn rendered(account: &Account) -> Value {
    let secrets = SecretSource::Files(Path::new("/"));
    let authorities = secrets.reference("ca~1".to_owned());
    let identity = Identity {
        cluster: "account/g/a",
        label: "account~g~a",
        secret: &secrets.reference("account~g~a".to_owned()),
        authorities: account.origin.tls.then_some(&authorities),
        only: true,
        judge: Some("/judge.wasm"),
        proxy: account.proxy.as_ref().map(|proxy| (proxy, "proxy/g/a")),
    };
    cluster(account, &identity)
}

fn options(cluster: &Value) -> &Value {
    let options = &cluster["typed_extension_protocol_options"];
    &options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]
}

#[test]
fn versions_of_http() {
    for (http, field, want) in [
        (
            HttpVersion::Negotiated,
            "auto_config",
            json!({"http2_protocol_options": http2()}),
        ),
        (
            HttpVersion::One,
            "explicit_http_config",
            json!({"http_protocol_options": {}}),
        ),
        (
            HttpVersion::Two,
            "explicit_http_config",
            json!({"http2_protocol_options": http2()}),
        ),
    ] {
        let cluster = rendered(&account("https://h", http, 0, None));
        let options = options(&cluster).as_object().unwrap();
        assert_eq!(options[field], want, "{http:?}");
        let configs = options.keys().filter(|k| k.ends_with("_config")).count();
        assert_eq!(configs, 1, "{http:?}: Envoy takes one of them");
        assert_eq!(
            options["common_http_protocol_options"]["idle_timeout"], "55s",
            "{http:?}"
        );
    }
}

#[test]
fn retries() {
    for (retries, want) in [(0, None), (1, Some(1)), (3, Some(3))] {
        let cluster = rendered(&account("http://h", HttpVersion::One, retries, None));
        let policy = options(&cluster).get("retry_policy");
        let number = policy.map(|policy| policy["num_retries"].as_u64().unwrap());
        assert_eq!(number, want, "{retries}");
        // An answer, whatever it says, is no broken connection.
        let on = policy.map(|policy| policy["retry_on"].as_str().unwrap());
        assert!(
            on.is_none_or(|on| !on.contains("5xx") && !on.contains("status")),
            "{on:?}"
        );
    }
}

#[test]
fn an_account_behind_a_proxy() {
    let proxy = Some("http://proxy.example:3128");
    for (url, name, target, inner) in [
        (
            "https://api.example",
            "api.example",
            "api.example:443",
            "envoy.transport_sockets.tls",
        ),
        (
            "https://api.example:8443",
            "api.example:8443",
            "api.example:8443",
            "envoy.transport_sockets.tls",
        ),
        (
            "https://[2001:db8::1]",
            "[2001:db8::1]",
            "[2001:db8::1]:443",
            "envoy.transport_sockets.tls",
        ),
        (
            "http://api.example",
            "api.example",
            "api.example:80",
            "envoy.transport_sockets.raw_buffer",
        ),
    ] {
        let cluster = rendered(&account(url, HttpVersion::One, 0, proxy));
        let host = &cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0];
        assert_eq!(host["endpoint"]["hostname"], name, "{url}");
        assert_eq!(
            host["metadata"]["filter_metadata"]["trilane"],
            json!({
                "account": "a",
                "proxy": "proxy/g/a",
                "target": target,
                "via": "http://proxy.example:3128",
            }),
            "{url}"
        );
        let socket = &cluster["transport_socket"]["typed_config"]["transport_socket"];
        assert_eq!(socket["name"], inner, "{url}");
        assert_eq!(cluster["type"], "STATIC", "{url}: the proxy looks it up");
    }
}

#[test]
fn what_comes_before_a_path() {
    // (the URL's path, before the whole path, before a path without its version)
    let cases = [
        ("", None, "/v1"),
        ("/v1", None, "/v1"),
        ("/proxy", Some("/proxy"), "/proxy/v1"),
        ("/openai/v1", Some("/openai"), "/openai/v1"),
        ("/api/paas/v4", Some("/api/paas/v4"), "/api/paas/v4"),
    ];
    for (path, base, root) in cases {
        let account = account(&format!("http://h{path}"), HttpVersion::One, 0, None);
        let cluster = rendered(&account);
        let found = &cluster["metadata"]["filter_metadata"]["trilane"];
        assert_eq!(found["base"].as_str(), base, "{path}");
        assert_eq!(found["root"], root, "{path}");
    }
}

/// Only where another account may be asked is an answer judged.
#[test]
fn who_is_judged() {
    for (case, only, judge, judged) in [
        ("one of several", false, Some("/judge.wasm"), true),
        ("the only one", true, Some("/judge.wasm"), false),
        ("one of several, without the judge", false, None, false),
    ] {
        let account = account("http://h", HttpVersion::One, 0, None);
        let secrets = SecretSource::Files(Path::new("/"));
        let cluster = cluster(
            &account,
            &Identity {
                cluster: "account/g/a",
                label: "account~g~a",
                secret: &secrets.reference("account~g~a".to_owned()),
                authorities: None,
                only,
                judge,
                proxy: None,
            },
        );
        let first = &options(&cluster)["http_filters"][0];
        let is_judge = first["name"] == "envoy.filters.http.composite";
        assert_eq!(is_judge, judged, "{case}");
        assert_eq!(first.to_string().contains("/judge.wasm"), judged, "{case}");
    }
}
