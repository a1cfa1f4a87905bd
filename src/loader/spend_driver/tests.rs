use super::*;
use crate::config::Document;
use crate::host::Clocks as _;
use crate::host::fake::{FakeHost, FakeProcess, FakeResponse};
use crate::limits::FleetSpend;
use crate::shared_data::SharedData as _;

fn policy(rest: &str) -> Policy {
    let group = r#"{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}"#;
    let text = format!(r#"{{"groups": [{group}], "keys": []{rest}}}"#);
    let document = Document::parse(text.as_bytes()).unwrap();
    crate::config::compile(&document).unwrap().policy
}

fn page(cursor: &str, more: bool, key: &str, spent: &str) -> Option<FakeResponse> {
    let subject =
        format!(r#"{{"kind": "key", "id": "{key}", "elsewhere": {{"2026-11": "{spent}"}}}}"#);
    let page = format!(r#"{{"cursor": "{cursor}", "more": {more}, "subjects": [{subject}]}}"#);
    Some(FakeResponse::ok(page))
}

const FED: &str = r#", "spend_feed": {"cluster": "agent"}"#;

fn record(host: &FakeHost, key: &str) -> Option<FleetSpend> {
    FleetSpend::decode(&host.get(&format!("trilane/spend/1/key/{key}")).0?)
}

#[test]
fn pages_are_read_to_the_end_and_then_with_each_poll() {
    let host = FakeHost::of(&FakeProcess::start());
    let mut driver = SpendDriver::default();
    driver.poll(&host);
    assert!(host.take_calls().is_empty(), "no feed is named");

    driver.follow(&policy(FED), &host);
    let first = host.take_calls().remove(0);
    let instance = crate::limits::elsewhere::instance(&host).unwrap();
    assert_eq!(first.cluster, "agent");
    assert_eq!(first.path, format!("/spend?limit=100&instance={instance}"));
    assert_eq!(driver.next.more(), None);

    assert!(driver.next.awaits(first.id));
    driver.on_response(page("c/1", true, "a", "1").as_ref(), &host);
    assert!(
        !crate::limits::elsewhere::is_complete(&host),
        "there is more"
    );
    assert_eq!(driver.next.more(), Some(true));
    host.process.pass_ms(60);
    driver.request_more(&host);
    let second = host.take_calls().remove(0);
    assert!(second.path.ends_with("&cursor=c%2F1"), "{}", second.path);
    driver.on_response(page("c/2", false, "b", "2").as_ref(), &host);
    assert!(crate::limits::elsewhere::is_complete(&host));
    for key in ["a", "b"] {
        assert!(record(&host, key).is_some(), "{key}");
    }
    driver.request_more(&host);
    assert!(host.take_calls().is_empty(), "not before the next poll");
    driver.poll(&host);
    assert_eq!(host.take_calls().len(), 1);
    driver.poll(&host);
    assert!(host.take_calls().is_empty(), "one is awaited");

    // Another document with the same feed changes nothing; another currency begins anew.
    driver.on_response(page("c/3", false, "b", "3").as_ref(), &host);
    driver.follow(&policy(FED), &host);
    assert!(host.take_calls().is_empty());
    driver.follow(&policy(&format!(r#", "currency": "USD"{FED}"#)), &host);
    let anew = host.take_calls().remove(0);
    assert_eq!(
        anew.path,
        format!("/spend?limit=100&instance={instance}&currency=USD")
    );
    driver.follow(&policy(""), &host);
    driver.poll(&host);
    assert!(host.take_calls().is_empty(), "no feed is named any more");
}

#[test]
fn a_failure_changes_nothing_and_is_logged_when_it_begins() {
    let host = FakeHost::of(&FakeProcess::start());
    let mut driver = SpendDriver::default();
    driver.follow(&policy(FED), &host);
    driver.on_response(page("c", false, "a", "1").as_ref(), &host);
    let before = record(&host, "a").unwrap();
    let rejections = |reason: &str| {
        let name = format!("trilane_spend_feed_rejections_total;reason={reason};");
        host.stat(&name).unwrap()
    };
    // (the response, whether a line is logged)
    let steps = [
        (None, true),
        (Some(FakeResponse::status("503", "")), false),
        (Some(FakeResponse::ok("{}")), false),
        (page("c", false, "b", "1"), false),
        (page("c", false, "a", "-1"), true),
    ];
    for (step, (response, logged)) in steps.into_iter().enumerate() {
        host.process.pass_ms(500);
        driver.poll(&host);
        driver.on_response(response.as_ref(), &host);
        assert_eq!(host.take_lines().len(), usize::from(logged), "{step}");
        assert_eq!(record(&host, "a"), Some(before.clone()), "{step}");
    }
    assert_eq!((rejections("unreachable"), rejections("invalid")), (2, 2));
    assert_eq!(host.stat("trilane_spend_feed_changes_total"), Some(2));
    host.process.pass_ms(700);
    driver.poll(&host);
    // The last good page came half a second before the last failure.
    assert_eq!(host.stat("trilane_spend_feed_age_ms"), Some(1200));
    assert!(host.steady_ms() > 0);
}
