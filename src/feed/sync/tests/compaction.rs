//! Compaction: when a full sync is due for it, what it drops, and what never comes back for it.

use super::gateway::{Gateway, Judged, digest};
use super::service::Service;
use super::*;
use crate::keys::{KeyDigest, bucket, read};
use crate::shared_data::fake::FakeSharedData;

#[path = "../../../../tests/bench/micro/churn.rs"]
mod churn;

const DUE: &str = "there are more tombstones than keys";

fn good() -> Judged {
    Judged::Good("g".to_owned())
}

/// A service with these keys.
fn service(keys: u8) -> Service {
    let mut service = Service::new("f");
    (0..keys).for_each(|key| service.say(key, Some(("g", false))));
    service
}

/// A gateway that compacts where there are two tombstones, and more than there are keys.
fn gateway(service: &Service) -> Gateway {
    let mut gateway = Gateway::new();
    gateway.tombstone_limit = 1;
    gateway.compacts = (0..16).collect();
    gateway.publish(Some("/keys"), &|| ());
    until_level(&mut gateway, service);
    gateway
}

fn ask(gateway: &mut Gateway, service: &Service, limit: usize) -> SyncOutcome {
    gateway.now_ms += 500;
    let (status, page) = service.answer(gateway.cursor().as_deref(), limit);
    let body = page.to_string();
    let answer = match status {
        "200" => PageAnswer::Page(body.as_bytes()),
        status => PageAnswer::Status(status),
    };
    gateway.answer(answer, &|| ())
}

fn until_level(gateway: &mut Gateway, service: &Service) {
    for _ in 0..20 {
        ask(gateway, service, 9);
    }
    assert_eq!(gateway.state().mode, SyncMode::Incremental);
    assert_eq!(gateway.state().head, service.version);
}

/// Whether a record stands for a key.
fn has_record(gateway: &Gateway, key: u8) -> bool {
    read(&digest(key), &*gateway.shared).is_some()
}

#[test]
fn a_full_sync_is_due_when_there_are_more_tombstones_than_keys() {
    let mut service = service(8);
    let mut gateway = gateway(&service);
    for key in 0..4 {
        service.say(key, None);
        let outcome = ask(&mut gateway, &service, 9);
        assert_eq!((outcome.taken, outcome.event), (1, None), "key {key}");
    }
    service.say(4, None);
    let outcome = ask(&mut gateway, &service, 9);
    assert_eq!(outcome.event, Some(SyncEvent::Begun(DUE)), "5 of 8");
    assert!((0..5).all(|key| has_record(&gateway, key)));
    until_level(&mut gateway, &service);
    assert!(!(0..5).any(|key| has_record(&gateway, key)), "dropped");
    assert!((5..8).all(|key| has_record(&gateway, key)));
    for (key, want) in [(0, Judged::Refused), (4, Judged::Refused), (7, good())] {
        assert_eq!(gateway.filter.judge(key), want, "key {key}");
    }
    // None is due again.
    let epoch = gateway.state().epoch;
    until_level(&mut gateway, &service);
    assert_eq!(gateway.state().epoch, epoch);
    assert_eq!((gateway.state().keys, gateway.state().live), (3, 3));
}

/// A service may list its removed keys too: nothing can be dropped, and it is not read without end.
#[test]
fn a_service_that_lists_removals_is_not_synced_again_and_again() {
    let mut gateway = gateway(&service(2));
    let page = |gateway: &Gateway| {
        let changes: Vec<_> = (0..40_u8)
            .map(|key| {
                let sha256 = hex::encode(digest(key).bytes());
                serde_json::json!({"version": 10 + key, "sha256": sha256, "removed": true})
            })
            .collect();
        let cursor = format!("c{}", gateway.now_ms);
        serde_json::json!({"feed": "f", "version": 60, "cursor": cursor, "more": false, "changes": changes})
            .to_string()
    };
    let mut begun = 0;
    for _ in 0..100 {
        gateway.now_ms += 500;
        let page = page(&gateway);
        let outcome = gateway.answer(PageAnswer::Page(page.as_bytes()), &|| ());
        begun += u32::from(outcome.event == Some(SyncEvent::Begun(DUE)));
    }
    assert_eq!(begun, 1);
}

/// The full sync takes long; a revocation does not wait for it, nor does a new key.
#[test]
fn changes_do_not_wait_for_a_due_full_sync() {
    let mut service = service(16);
    let mut gateway = gateway(&service);
    (0..9).for_each(|key| service.say(key, None));
    let outcome = ask(&mut gateway, &service, 9);
    assert_eq!(outcome.event, Some(SyncEvent::Begun(DUE)));
    ask(&mut gateway, &service, 1);
    service.say(15, None);
    service.say(0, Some(("g", false)));
    for _ in 0..2 {
        ask(&mut gateway, &service, 2);
    }
    assert!(gateway.state().is_listing(), "it goes on");
    assert_eq!(gateway.filter.judge(15), Judged::Refused);
    assert_eq!(gateway.filter.judge(0), good());
    until_level(&mut gateway, &service);
    let judged = [0, 1, 9, 15].map(|key| gateway.filter.judge(key));
    assert_eq!(judged, [good(), Judged::Refused, good(), Judged::Refused]);
    assert_eq!(gateway.state().keys, 7);
}

/// A page of changes that lags behind the first page of the full sync tells of a key that is removed by then: the full
/// sync names neither, and the incremental sync ends with it.
#[test]
fn a_key_that_was_removed_before_the_full_sync_began_stays_removed() {
    for gives_log in [true, false] {
        let mut service = Service {
            gives_log,
            ..service(1)
        };
        let mut gateway = gateway(&service);
        (0..3).for_each(|key| service.say(key, None));
        while !gateway.state().is_listing() {
            ask(&mut gateway, &service, 1);
        }
        service.say(6, Some(("g", false)));
        if !gives_log {
            // It gives the last change of a key only: this one is asked for between the removal's two sides.
            ask(&mut gateway, &service, 1);
        }
        service.say(6, None);
        until_level(&mut gateway, &service);
        let case = format!("gives_log: {gives_log}");
        assert_eq!(gateway.filter.judge(6), Judged::Refused, "{case}");
        assert_eq!(gateway.state().keys, 0, "{case}");
    }
}

/// The service forgets where the incremental sync was: the full sync goes on alone.
#[test]
fn a_cursor_that_is_not_known_between_two_pages() {
    let mut service = service(8);
    let mut gateway = gateway(&service);
    (0..5).for_each(|key| service.say(key, None));
    ask(&mut gateway, &service, 9);
    let epoch = gateway.state().epoch;
    assert!(gateway.state().changes_cursor.is_some());
    let outcome = gateway.answer(PageAnswer::Status("410"), &|| ());
    assert!(matches!(outcome.refused, Some((Reason::Cursor, _))));
    assert_eq!(gateway.state().changes_cursor, None);
    until_level(&mut gateway, &service);
    assert_eq!(gateway.state().watermark, epoch, "it was not begun again");
}

/// A backup of before the removals is restored, under the same identity. Their tombstones are gone.
#[test]
fn a_rollback_after_a_compaction_brings_nothing_back() {
    let mut service = service(8);
    let mut backup = service.clone();
    backup.knows_ahead = false;
    let mut gateway = gateway(&service);
    (0..5).for_each(|key| service.say(key, None));
    until_level(&mut gateway, &service);
    assert!(!has_record(&gateway, 0), "dropped");
    service.say(9, Some(("g", false)));
    until_level(&mut gateway, &service);
    // A key that the restored service makes is taken when its version is above what was compacted.
    for _ in 0..8 {
        ask(&mut gateway, &backup, 9);
        let judged = [0, 4, 5, 9].map(|key| gateway.filter.judge(key));
        assert_eq!(judged, [Judged::Refused, Judged::Refused, good(), good()]);
    }
    assert!(gateway.state().is_rolled_back());
}

/// It was held up in the middle of a page, and another loader has compacted since.
#[test]
fn a_loader_that_lost_its_lease_brings_nothing_back() {
    let mut service = service(8);
    let mut gateway = gateway(&service);
    service.say(8, Some(("g", false)));
    let late = service.answer(gateway.cursor().as_deref(), 9).1.to_string();
    let mut held_up = FeedSync::of(gateway.state());
    (0..6).for_each(|key| service.say(key, None));
    service.say(8, None);
    until_level(&mut gateway, &service);
    assert!(!has_record(&gateway, 8), "dropped");
    let shared = std::rc::Rc::clone(&gateway.shared);
    held_up.on_answer(PageAnswer::Page(late.as_bytes()), &*shared, 2_000_000);
    assert!(has_record(&gateway, 8), "it was written");
    assert_eq!(gateway.filter.judge(8), Judged::Refused);
}

/// Remains of a day of short-lived keys are gone the next day. `make bench` shows the same by the clock, with a million
/// keys a day.
#[test]
fn thirty_days_of_short_lived_keys_leave_the_store_as_it_was() {
    const DAY: u64 = 1_500;
    let shared = FakeSharedData::default();
    let source = FeedSource::default();
    let mut sync = FeedSync::resume(&source, &shared, 1).0;
    sync.tombstone_limit = 50;
    let mut feed = churn::Churn {
        live: 100,
        version: 0,
    };
    let sha256 = |number| hex::encode(KeyDigest::of(&churn::Churn::key(number)).bytes());
    let mut now_ms = 1;
    let mut read_to_the_end = |feed: &churn::Churn, sync: &mut FeedSync| {
        for turn in 0.. {
            assert!(turn < 1_000, "it goes round and round");
            now_ms += 500;
            let page = feed.page(&sync.next_path(100), 100, sha256);
            let outcome = sync.on_answer(PageAnswer::Page(&page), &shared, now_ms);
            shared.written.borrow_mut().clear();
            assert!(outcome.refused.is_none(), "{outcome:?}");
            if outcome.up_to_date && sync.state().mode == SyncMode::Incremental {
                break;
            }
        }
    };
    let sizes = || {
        let values = shared.values.borrow();
        let buckets = values
            .iter()
            .filter(|(name, _)| name.len() == bucket::NAME_LEN);
        buckets
            .map(|(_, (bytes, _))| bytes.len().saturating_sub(1))
            .sum::<usize>()
    };
    let mut days = Vec::new();
    for _ in 0..30 {
        for _ in 0..30 {
            feed.pass(DAY / 30);
            read_to_the_end(&feed, &mut sync);
        }
        days.push(sizes());
    }
    // Each bucket is compacted once in 512 pages, which here takes ten days: what 15 000 keys leave in them. Of 45 000 without it
    // there would be 2.3 MB.
    let most = |days: &[usize]| days.iter().copied().max().unwrap_or_default();
    assert!(most(&days) < 500_000, "{days:?}");
    assert!(most(&days[20..]) < most(&days[10..20]) + 10_000, "{days:?}");
    for number in feed.keys() {
        let record = read(&KeyDigest::of(&churn::Churn::key(number)), &shared);
        assert!(record.is_some(), "key {number}");
    }
}

#[test]
fn a_compaction_begins_where_it_is_worth_its_while() {
    // (case, tombstones, buckets that are left of the one before, buckets that are left then)
    let cases = [
        ("no tombstones", 0, 0, 0),
        ("as many as may stay", 5, 0, 0),
        ("more", 6, 0, bucket::COUNT),
        ("one is under way", 0, 1, bucket::COUNT),
    ];
    for (case, tombstones, before, want) in cases {
        let mut state = FeedState {
            tombstones,
            ..FeedState::default()
        };
        state.compaction.left = before;
        let mut sync = FeedSync::of(state);
        sync.tombstone_limit = 5;
        sync.begin_compaction();
        assert_eq!(sync.state.compaction.left, want, "{case}");
    }
}

#[test]
fn a_bucket_of_which_nothing_is_dropped_is_not_written() {
    let mut gateway = gateway(&service(1));
    let bucket = bucket::of(&digest(0));
    let mut name = String::new();
    bucket::write_name(bucket, &mut name);
    let before = gateway.shared.get(&name);
    assert!(before.0.is_some());
    let sync = gateway.sync.as_mut().unwrap();
    sync.compact_bucket(bucket, &*gateway.shared);
    assert_eq!(gateway.shared.get(&name), before, "its version too");
}
