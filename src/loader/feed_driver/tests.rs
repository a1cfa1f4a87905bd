use sha2::{Digest as _, Sha256};

use super::*;
use crate::host::Clocks;
use crate::host::fake::{FakeHost, FakeProcess, FakeResponse};

fn source() -> FeedSource {
    FeedSource {
        cluster: "feed".to_owned(),
        path: "/keys".to_owned(),
        authority: "feed".to_owned(),
    }
}

/// A driver that follows a feed, and has not requested a page yet.
fn driver(host: &FakeHost) -> FeedDriver {
    let mut driver = FeedDriver::default();
    assert!(driver.follow(Some(&source()), host).is_some());
    host.take_lines();
    driver
}

#[test]
fn what_is_wrong_is_logged_when_it_begins() {
    let page = |version: u64| {
        let page = format!(
            r#"{{"feed": "f", "version": {version}, "cursor": "c", "more": false, "changes": []}}"#
        );
        Some(FakeResponse::ok(page))
    };
    let status = |status: &str| Some(FakeResponse::status(status, ""));
    let failed = "keys feed: no page can be had, what is known of keys stays:";
    let behind = "keys feed: it is behind what it told before, no key is dropped for it:";
    // (the response, how the line begins that is logged)
    let steps = [
        (None, failed),
        (status("503"), ""),
        (page(5), "keys feed: a full reading is complete"),
        (status("503"), failed),
        (None, ""),
        (page(5), ""),
        (page(3), behind),
        (page(3), ""),
        (page(5), ""),
        (page(3), behind),
        // The full sync that begins now has a line of its own.
        (status("410"), "keys feed: a full reading begins"),
        (page(5), "keys feed: a full reading is complete"),
    ];
    let host = FakeHost::of(&FakeProcess::start());
    let mut driver = driver(&host);
    for (step, (response, want)) in steps.into_iter().enumerate() {
        driver.on_response(response.as_ref(), &host);
        let lines = host.take_lines();
        assert_eq!(
            lines.len(),
            usize::from(!want.is_empty()),
            "{step}: {lines:?}"
        );
        assert!(lines.concat().starts_with(want), "{step}: {lines:?}");
    }
}

/// A response that is as long as it says.
struct Long(usize);

impl FetchResponse for Long {
    fn header(&self, _: &str) -> Option<String> {
        Some("200".to_owned())
    }

    fn body_size(&self) -> usize {
        self.0
    }

    fn body(&self) -> Vec<u8> {
        b"{".to_vec()
    }
}

#[test]
fn a_page_that_is_too_long_is_not_read() {
    let cases = [
        ("as long as may be", MAX_BYTES, "invalid"),
        ("longer", MAX_BYTES + 1, "oversize"),
        ("far longer", 2 * MAX_BYTES, "oversize"),
    ];
    for (case, size, reason) in cases {
        let host = FakeHost::of(&FakeProcess::start());
        driver(&host).on_response(Some(&Long(size)), &host);
        for other in ["invalid", "oversize"] {
            let name = format!("trilane_keys_feed_rejections_total;reason={other};");
            let want = u64::from(other == reason);
            assert_eq!(host.stat(&name), Some(want), "{case}: {other}");
        }
    }
}

#[test]
fn the_next_page_waits_for_the_pace() {
    use Reading::{First, Later};
    // (case, the reading, when the next page is requested, milliseconds after the last one, requests)
    let cases = [
        ("more, at once", Later, NextPage::AtPace, 0, 0),
        (
            "more, before its rest is over",
            Later,
            NextPage::AtPace,
            13,
            0,
        ),
        ("more, after a rest", Later, NextPage::AtPace, 14, 1),
        ("no more", Later, NextPage::WithPoll, 14, 0),
        ("more of the first, at once", First, NextPage::AtPace, 0, 0),
        (
            "more of the first, after a rest",
            First,
            NextPage::AtPace,
            2,
            1,
        ),
    ];
    for (case, reading, next, after_ms, requests) in cases {
        let process = FakeProcess::start();
        let host = FakeHost::of(&process);
        let mut driver = driver(&host);
        // The last one took a millisecond.
        let now = host.steady_us();
        driver.pace.read(reading, now - 1000, now);
        driver.next = next;
        process.pass_ms(after_ms);
        driver.request_more(&host);
        assert_eq!(host.take_calls().len(), requests, "{case}");
    }
}

/// Until the first reading is complete the gateway is not ready; after it requests feel every page.
#[test]
fn pages_are_larger_in_the_first_reading() {
    let page = |more: bool, cursor: &str, version: u64| {
        let sha256 = hex::encode(Sha256::digest(version.to_le_bytes()));
        let change = format!(
            r#"{{"version": {version}, "sha256": "{sha256}", "id": "k{version}", "group": "g"}}"#
        );
        let page = format!(
            r#"{{"feed": "f", "version": {version}, "cursor": "{cursor}", "more": {more}, "changes": [{change}]}}"#
        );
        FakeResponse::ok(page)
    };
    // (case, the response, the path requested then)
    let steps = [
        ("the first page", None, "/keys?limit=500"),
        (
            "there is more",
            Some(page(true, "1", 1)),
            "/keys?limit=500&cursor=1",
        ),
        (
            "it is complete",
            Some(page(false, "2", 2)),
            "/keys?limit=100&cursor=2",
        ),
        (
            "changes",
            Some(page(false, "3", 3)),
            "/keys?limit=100&cursor=3",
        ),
        (
            "all anew, which requests feel",
            Some(FakeResponse::status("410", "")),
            "/keys?limit=100",
        ),
    ];
    let host = FakeHost::of(&FakeProcess::start());
    let mut driver = driver(&host);
    for (case, response, want) in steps {
        if let Some(response) = response {
            driver.on_response(Some(&response), &host);
        }
        driver.request(&host);
        let asked: Vec<String> = host
            .take_calls()
            .into_iter()
            .map(|call| call.path)
            .collect();
        assert_eq!(asked, [want], "{case}");
    }
}
