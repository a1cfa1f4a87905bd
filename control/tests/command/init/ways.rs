//! The way to the vendor: by a proxy of the environment.

use serde_json::Value;

use super::vendor::{self, VendorServer};
use super::{at, init_with};
use crate::desk::Desk;

#[test]
fn a_proxy_of_the_environment_is_used_and_written() {
    // A proxy that makes the tunnel, and is the vendor at its other end.
    let proxy = VendorServer::new(|asked| match asked.method.as_str() {
        "CONNECT" => (200, String::new()),
        _ => (
            200,
            r#"{"object":"list","data":[{"id":"gpt-6-luna"}]}"#.to_owned(),
        ),
    });
    let desk = Desk::new();
    let args = at("openai=http://vendor.invalid/v1");
    let url = proxy.url("");
    let ran = init_with(&desk, &args, &[("HTTPS_PROXY", &url)]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains(&format!(
            "openai: the gateway's requests will go through the proxy {url}"
        )),
        "{}",
        ran.err
    );
    let document: Value = serde_json::from_str(&desk.read("data/gateway.json")).unwrap();
    assert_eq!(
        document["groups"][0]["accounts"][0]["proxy"],
        Value::from(url.as_str())
    );
    assert_eq!(proxy.asked()[0].method, "CONNECT");
    assert_eq!(proxy.asked()[0].target, "vendor.invalid:80");
    assert!(
        proxy.asked()[0]
            .headers
            .values()
            .all(|value| !value.contains("sk-dont")),
        "the proxy sees no credential"
    );
    let checked = desk.run(&["check", "--strict", "data/gateway.json"]);
    assert_eq!(checked.code, 0, "{}", checked.out);
}

#[test]
fn what_no_proxy_names_is_reached_directly() {
    let vendor = vendor::openai();
    let desk = Desk::new();
    let args = at(&format!("openai={}", vendor.url("/v1")))
        .iter()
        .map(|arg| (*arg).to_owned())
        .collect::<Vec<_>>();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let nobody = [
        ("HTTPS_PROXY", "http://127.0.0.1:9"),
        ("NO_PROXY", "127.0.0.1"),
    ];
    let ran = init_with(&desk, &args, &nobody);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!desk.read("data/gateway.json").contains("proxy"));
    let ran = init_with(&Desk::new(), &args, &nobody[..1]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("is not reachable"), "{}", ran.err);
}
