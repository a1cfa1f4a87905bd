//! Single things that happen to a reading.

use serde_json::{Value, json};

use super::gateway::{Gateway, Judged, digest};
use super::service::Service;
use super::*;
use crate::keys::{self, StoredRecord, bucket};
use crate::limits::Limits;

fn good(group: &str) -> Judged {
    Judged::Good(group.to_owned())
}

/// A gateway that has read this service to its end.
fn settled(service: &Service) -> Gateway {
    let mut gateway = Gateway::new();
    gateway.publish(Some("/keys"), &|| ());
    read(&mut gateway, service, 1000);
    gateway
}

fn ask(gateway: &mut Gateway, service: &Service, limit: usize) -> SyncOutcome {
    gateway.now_ms += 500;
    let (status, page) = service.answer(gateway.cursor().as_deref(), limit);
    give(gateway, status, &page)
}

fn give(gateway: &mut Gateway, status: &str, page: &Value) -> SyncOutcome {
    let body = page.to_string();
    let answer = match status {
        "200" => PageAnswer::Page(body.as_bytes()),
        status => PageAnswer::Status(status),
    };
    gateway.answer(answer, &|| ())
}

fn read(gateway: &mut Gateway, service: &Service, limit: usize) {
    while !ask(gateway, service, limit).up_to_date {}
}

fn service(keys: u8) -> Service {
    let mut service = Service::new("f");
    for key in 0..keys {
        service.say(key, Some(("g", false)));
    }
    service
}

fn reason(outcome: &SyncOutcome) -> Option<Reason> {
    outcome.refused.as_ref().map(|(reason, _)| *reason)
}

#[test]
fn what_is_asked() {
    let cases = [
        ("/keys", None, "/keys?limit=250"),
        ("/keys?tenant=1", None, "/keys?tenant=1&limit=250"),
        ("/keys", Some("a-_.~9"), "/keys?limit=250&cursor=a-_.~9"),
        (
            "/k?x",
            Some("a/b?c&d=e%f+#"),
            "/k?x&limit=250&cursor=a%2Fb%3Fc%26d%3De%25f%2B%23",
        ),
    ];
    for (path, cursor, want) in cases {
        let state = FeedState {
            source: Some(FeedSource {
                path: path.to_owned(),
                ..FeedSource::default()
            }),
            cursor: cursor.map(str::to_owned),
            ..FeedState::default()
        };
        assert_eq!(FeedSync::of(state).next_path(250), want);
    }
}

#[test]
fn the_first_reading() {
    let mut gateway = Gateway::new();
    assert!(!gateway.filter.is_ready());
    gateway.publish(Some("/keys"), &|| ());
    assert!(!gateway.filter.is_ready(), "the feed is unread");
    assert_eq!(gateway.filter.judge(0), Judged::Undecided);
    let service = service(5);
    let first = ask(&mut gateway, &service, 2);
    assert!(first.at_once, "there is more: {first:?}");
    assert_eq!((first.taken, first.status), (2, None));
    assert_eq!(gateway.filter.judge(0), good("g"), "what has come counts");
    assert_eq!(
        gateway.filter.judge(4),
        Judged::Undecided,
        "the rest may come"
    );
    assert!(!gateway.filter.is_ready());
    assert_eq!(gateway.state().head, 5);
    ask(&mut gateway, &service, 2);
    let last = ask(&mut gateway, &service, 2);
    assert!(
        !last.at_once && last.up_to_date && last.status.is_some(),
        "{last:?}"
    );
    assert_eq!(
        last.event,
        Some(SyncEvent::Complete {
            version: 5,
            keys: 5
        })
    );
    assert_eq!(gateway.filter.judge(9), Judged::Refused);
    assert!(gateway.filter.is_ready());
}

#[test]
fn a_page_that_changes_nothing_writes_no_record() {
    let service = service(3);
    let mut gateway = settled(&service);
    gateway.shared.written.borrow_mut().clear();
    ask(&mut gateway, &service, 9);
    assert_eq!(*gateway.shared.written.borrow(), ["trilane/feed"]);
}

#[test]
fn a_complete_reading_writes_no_record_for_its_floor() {
    let service = service(3);
    let mut gateway = Gateway::new();
    gateway.publish(Some("/keys"), &|| ());
    gateway.shared.written.borrow_mut().clear();
    ask(&mut gateway, &service, 9);
    let written = gateway.shared.written.borrow();
    let name = |key| {
        let mut name = String::new();
        bucket::write_name(bucket::of(&digest(key)), &mut name);
        name
    };
    // Two of the keys stand in one bucket, which is written once.
    let records: Vec<_> = [0, 2].map(name).to_vec();
    assert_eq!(written[..2], records);
    assert_eq!(
        written[2..],
        ["trilane/feed", "trilane/policy", "trilane/generation"]
    );
}

#[test]
fn answers_that_are_of_no_use() {
    let service = service(3);
    let mut gateway = settled(&service);
    let cursor = gateway.cursor().unwrap();
    let page = |change: &dyn Fn(&mut Value)| {
        let mut page =
            json!({"feed": "f", "version": 4, "cursor": "f/4", "more": false, "changes": []});
        change(&mut page);
        page.to_string()
    };
    let same = page(&|page| {
        page["more"] = json!(true);
        page["cursor"] = json!(cursor);
    });
    let typo = page(&|page| page["typo"] = json!(1));
    let cases = [
        (
            "none",
            PageAnswer::None("lost"),
            Reason::Unreachable,
            "lost",
        ),
        (
            "500",
            PageAnswer::Status("500"),
            Reason::Unreachable,
            "status 500",
        ),
        (
            "304",
            PageAnswer::Status("304"),
            Reason::Unreachable,
            "status 304",
        ),
        (
            "too long",
            PageAnswer::TooLong(40_000_000),
            Reason::Oversize,
            "40000000 bytes",
        ),
        (
            "no page",
            PageAnswer::Page(b"{"),
            Reason::Invalid,
            "not valid JSON",
        ),
        (
            "a typo",
            PageAnswer::Page(typo.as_bytes()),
            Reason::Invalid,
            "typo: unknown field",
        ),
        (
            "it again",
            PageAnswer::Page(typo.as_bytes()),
            Reason::Invalid,
            "the same as before",
        ),
        (
            "without end",
            PageAnswer::Page(same.as_bytes()),
            Reason::Invalid,
            "cursor: is the one asked",
        ),
    ];
    let before = gateway.state();
    gateway.shared.written.borrow_mut().clear();
    for (case, answer, want, said) in cases {
        let outcome = gateway.answer(answer, &|| ());
        let (reason, why) = outcome.refused.clone().unwrap();
        assert_eq!(reason, want, "{case}");
        assert!(why.contains(said), "{case}: {why}");
        let rest = SyncOutcome {
            refused: None,
            ..outcome
        };
        assert_eq!(rest, SyncOutcome::default(), "{case}");
        assert_eq!(gateway.state(), before, "{case}");
    }
    assert!(gateway.shared.written.borrow().is_empty());
}

#[test]
fn a_cursor_that_is_not_known() {
    let mut service = service(3);
    let mut gateway = settled(&service);
    service.say(0, None);
    service.compact();
    let outcome = ask(&mut gateway, &service, 9);
    assert_eq!(reason(&outcome), Some(Reason::Cursor));
    assert!(
        matches!(outcome.event, Some(SyncEvent::Begun(_))),
        "{outcome:?}"
    );
    assert_eq!(gateway.filter.judge(0), good("g"), "until all is read");
    assert_eq!(gateway.filter.judge(9), Judged::Refused, "still");
    assert_eq!(gateway.cursor(), None);
    let outcome = give(&mut gateway, "410", &Value::Null);
    assert_eq!(
        reason(&outcome),
        Some(Reason::Unreachable),
        "no cursor was given"
    );
    ask(&mut gateway, &service, 9);
    assert_eq!(gateway.filter.judge(0), Judged::Refused);
    assert_eq!(gateway.filter.judge(1), good("g"));
    assert_eq!(gateway.state().keys, 2);
}

#[test]
fn a_service_set_back_under_its_identity() {
    let mut service = service(4);
    let backup = service.clone();
    service.say(0, None);
    service.say(5, Some(("g", false)));
    service.say(1, Some(("h", false)));
    for knows_ahead in [true, false] {
        let mut gateway = settled(&backup);
        ask(&mut gateway, &service, 9);
        let mut restored = backup.clone();
        restored.knows_ahead = knows_ahead;
        restored.say(6, Some(("g", false)));
        for tick in 0..8 {
            ask(&mut gateway, &restored, 9);
            let judged = [0, 1, 5].map(|key| gateway.filter.judge(key));
            let want = [Judged::Refused, good("h"), good("g")];
            assert_eq!(judged, want, "tick {tick}, knows ahead: {knows_ahead}");
        }
        assert!(gateway.state().is_rolled_back());
        assert_eq!(gateway.filter.judge(6), good("g"), "new since");
        restored.say(2, None);
        ask(&mut gateway, &restored, 9);
        assert_eq!(gateway.filter.judge(2), Judged::Refused, "removed since");
        // It is past where it was: what it does not list is gone.
        restored.version = 20;
        restored.say(7, Some(("h", false)));
        ask(&mut gateway, &restored, 9);
        assert_eq!(gateway.filter.judge(7), good("h"));
        ask(&mut gateway, &restored, 9);
        let judged = [0, 1, 3, 5].map(|key| gateway.filter.judge(key));
        let want = [Judged::Refused, good("h"), good("g"), Judged::Refused];
        assert_eq!(judged, want, "knows ahead: {knows_ahead}");
        assert_eq!(gateway.state().keys, 4);
    }
}

/// The service loses everything, counts from zero under its identity, and is then set back to a
/// backup of before. Between the two the document may name another path, and what the gateway knew
/// of versions is void.
#[test]
fn a_service_set_back_to_what_was_before_it_began_from_zero() {
    let mut backup = Service::new("f");
    backup.knows_ahead = false;
    backup.say(0, Some(("g", false)));
    backup.say(3, Some(("g", true)));
    // (case, the version it begins from, the path then, the backup's identity, what becomes of keys 3 and 4)
    let cases = [
        (
            "a version given twice: nothing tells that the greater one is older",
            0,
            "/other",
            "f",
            [Judged::Refused, good("g")],
        ),
        (
            "no version given twice",
            2,
            "/other",
            "f",
            [good("g"), good("g")],
        ),
        (
            "the backup has an identity of its own",
            0,
            "/other",
            "restored",
            [Judged::Refused, Judged::Refused],
        ),
        (
            "a version given twice, of which the greater is known",
            0,
            "/keys",
            "f",
            [Judged::Refused, good("g")],
        ),
    ];
    for (case, from, path, identity, want) in cases {
        let mut gateway = settled(&backup);
        let mut second = backup.clone();
        second.forget_all();
        second.version = from;
        second.say(3, Some(("g", false)));
        for _ in 0..8 {
            second.say(4, Some(("g", false)));
        }
        gateway.publish(Some(path), &|| ());
        read(&mut gateway, &second, 9);
        let between = if path == "/keys" {
            Judged::Refused
        } else {
            good("g")
        };
        assert_eq!(gateway.filter.judge(3), between, "{case}: between the two");
        let mut restored = backup.clone();
        restored.identity = identity.to_owned();
        for _ in 0..8 {
            ask(&mut gateway, &restored, 9);
        }
        let judged = [3, 4].map(|key| gateway.filter.judge(key));
        assert_eq!(judged, want, "{case}");
    }
}

/// A key is removed, and nothing but a full reading tells it. Then the service is set back under its
/// identity to what it was before, and goes on from where it was: the key is what is listed now.
#[test]
fn a_removed_key_that_is_listed_again_as_it_was_before() {
    let cases = [
        ("switched off", Some(("g", true)), Judged::Refused, 1),
        ("of another group", Some(("h", false)), good("h"), 2),
    ];
    for (case, before, want, keys) in cases {
        let mut service = service(1);
        service.say(6, before);
        let mut restored = service.clone();
        service.say(6, Some(("g", false)));
        let mut gateway = settled(&service);
        assert_eq!(gateway.filter.judge(6), good("g"), "{case}");
        service.say(6, None);
        service.compact();
        ask(&mut gateway, &service, 9);
        read(&mut gateway, &service, 9);
        assert_eq!(gateway.filter.judge(6), Judged::Refused, "{case}: removed");
        restored.version = service.version;
        restored.say(0, Some(("g", false)));
        restored.compact();
        ask(&mut gateway, &restored, 9);
        read(&mut gateway, &restored, 9);
        assert_eq!(gateway.filter.judge(6), want, "{case}");
        assert_eq!(gateway.state().keys, keys, "{case}");
    }
}

/// A replica that lags now and then must not make all keys be read again.
#[test]
fn a_replica_that_lags() {
    let mut service = service(4);
    let mut gateway = settled(&service);
    let epoch = gateway.state().epoch;
    for round in 0..10 {
        let mut late = service.clone();
        late.knows_ahead = false;
        service.say(round % 4, Some(("h", false)));
        ask(&mut gateway, &service, 9);
        let outcome = ask(&mut gateway, &late, 9);
        assert_eq!(reason(&outcome), Some(Reason::Behind));
        assert_eq!((outcome.taken, outcome.event), (0, None));
        ask(&mut gateway, &service, 9);
    }
    assert_eq!(gateway.state().epoch, epoch);
    assert_eq!(
        (0..4)
            .map(|key| gateway.filter.judge(key))
            .collect::<Vec<_>>(),
        vec![good("h"); 4]
    );
}

#[test]
fn a_key_that_should_have_been_given_before() {
    let mut service = service(4);
    // The page of a reading in which one key was forgotten.
    let mut gateway = Gateway::new();
    gateway.publish(Some("/keys"), &|| ());
    let mut less = service.clone();
    less.keys.remove(&2);
    read(&mut gateway, &less, 9);
    assert_eq!(gateway.filter.judge(2), Judged::Refused);
    let page = |service: &Service| service.answer(Some("f/2"), 9).1;
    let outcome = give(&mut gateway, "200", &page(&service));
    assert_eq!((outcome.taken, outcome.stale), (0, 1));
    assert!(
        matches!(outcome.event, Some(SyncEvent::Begun(_))),
        "{outcome:?}"
    );
    ask(&mut gateway, &service, 9);
    assert_eq!(gateway.filter.judge(2), good("g"));
    // A feed that goes on like that is not read without end.
    service.keys.remove(&2);
    let mut begun = 0;
    for _ in 0..300 {
        gateway.now_ms += 500;
        let contradiction = json!({
            "feed": "f", "version": 4, "cursor": "f/4", "more": false,
            "changes": [{"version": 1, "sha256": "00".repeat(32), "id": "k", "group": "g"}],
        });
        let full = gateway.state().is_listing();
        let page = if full {
            service.answer(None, 9).1
        } else {
            contradiction
        };
        let outcome = give(&mut gateway, "200", &page);
        begun += u32::from(matches!(outcome.event, Some(SyncEvent::Begun(_))));
    }
    assert!((2..=4).contains(&begun), "{begun}");
}

#[test]
fn another_identity() {
    let mut service = service(6);
    let mut gateway = settled(&service);
    service.say(0, None);
    service.begin_anew("other");
    // It knows nothing of the cursor, but does not say so.
    let page = service.answer(None, 9).1;
    let outcome = give(&mut gateway, "200", &page);
    assert_eq!(reason(&outcome), Some(Reason::Cursor));
    assert_eq!(
        (outcome.taken, gateway.filter.judge(0)),
        (0, good("g")),
        "it is not used"
    );
    ask(&mut gateway, &service, 3);
    assert_eq!(gateway.filter.judge(0), good("g"), "until all is read");
    ask(&mut gateway, &service, 3);
    assert_eq!(gateway.filter.judge(0), Judged::Refused);
    assert_eq!(gateway.state().keys, 5);
    assert_eq!(gateway.state().feed.as_deref(), Some("other"));
}

/// A page that says this of key 1.
fn page_of(version: u64, limits: &Value) -> Value {
    let sha256 = hex::encode(digest(1).bytes());
    let longest = |letter: &str| letter.repeat(64);
    let change = json!({"version": version, "sha256": sha256, "id": longest("i"), "group": longest("g"),
        "expires_at": "2099-01-01T00:00:00Z", "limits": limits});
    json!({"feed": "f", "version": version, "cursor": format!("f/{version}"), "more": false, "changes": [change]})
}

#[test]
fn limits_of_a_key_stand_in_its_bucket() {
    use crate::limits::Rate;
    use crate::money::Amount;

    let all = json!({
        "requests_per_minute": 1, "input_tokens_per_minute": 2, "output_tokens_per_minute": 3, "concurrent_requests": 4,
        "budget": {"per_day": "5", "per_month": "6",
            "spent": {"at": "2026-11-22T00:00:00Z", "in_day": "0.7", "in_month": "0.70000000000000000008"}},
    });
    let mut gateway = Gateway::new();
    gateway.publish(Some("/keys"), &|| ());
    let of_key = |gateway: &Gateway| {
        let record = keys::read(&digest(1), &*gateway.shared).unwrap();
        let key = StoredRecord::decode(&record).unwrap().key.unwrap();
        (record.len(), key.limits)
    };
    give(&mut gateway, "200", &page_of(1, &all));
    let (len, limits) = of_key(&gateway);
    let limits = limits.unwrap();
    assert_eq!(len, 245, "the longest record there is");
    assert_eq!(
        Rate::ALL.map(|rate| limits.per_minute(rate)),
        [Some(1), Some(2), Some(3)]
    );
    assert_eq!(limits.concurrent_requests, Some(4));
    let budget = limits.budget;
    assert_eq!(
        budget.per_day.zip(budget.per_month),
        Amount::parse("5").ok().zip(Amount::parse("6").ok())
    );
    assert_eq!(
        budget.spent.unwrap().in_month.to_string(),
        "0.70000000000000000008"
    );

    // Nothing but limits changes; a page with bad ones changes nothing; and then there are none.
    let outcome = give(
        &mut gateway,
        "200",
        &page_of(2, &json!({"requests_per_minute": 9})),
    );
    assert_eq!(outcome.taken, 1);
    let requests =
        |limits: Option<Box<Limits>>| limits.and_then(|limits| limits.per_minute(Rate::Requests));
    assert_eq!(requests(of_key(&gateway).1), Some(9));
    let bad = page_of(3, &json!({"requests_per_minute": 0}));
    assert_eq!(
        reason(&give(&mut gateway, "200", &bad)),
        Some(Reason::Invalid)
    );
    assert_eq!(requests(of_key(&gateway).1), Some(9));
    give(&mut gateway, "200", &page_of(4, &Value::Null));
    assert_eq!(of_key(&gateway).1, None);
}

/// A cache gives a page of before once more: that contradicts nothing.
#[test]
fn what_was_said_before_begins_no_full_sync() {
    let mut service = service(3);
    let mut gateway = settled(&service);
    service.say(0, Some(("h", false)));
    read(&mut gateway, &service, 9);
    let sha256 = |key| hex::encode(digest(key).bytes());
    let cases = [
        (
            "a key as it was before",
            json!({"version": 1, "sha256": sha256(0), "id": "k0", "group": "g"}),
        ),
        (
            "a removal of what nobody knows",
            json!({"version": 2, "sha256": sha256(9), "removed": true}),
        ),
    ];
    for (case, change) in cases {
        let page =
            json!({"feed": "f", "version": 4, "cursor": "f/4", "more": false, "changes": [change]});
        let outcome = give(&mut gateway, "200", &page);
        assert_eq!((outcome.taken, outcome.stale), (0, 1), "{case}");
        assert_eq!(outcome.event, None, "{case}");
        assert_eq!(gateway.filter.judge(0), good("h"), "{case}");
    }
}

#[test]
fn a_rollback_sync_tells_once_that_it_is_complete() {
    let mut service = service(4);
    let mut restored = service.clone();
    restored.knows_ahead = false;
    service.say(0, None);
    let mut gateway = settled(&service);
    let outcomes = (0..8).map(|_| ask(&mut gateway, &restored, 9));
    let complete: Vec<SyncEvent> = outcomes
        .filter_map(|outcome| outcome.event)
        .filter(|event| !matches!(event, SyncEvent::Begun(_)))
        .collect();
    let want = SyncEvent::CompleteButBehind {
        version: 4,
        head: 5,
    };
    assert_eq!(complete, [want]);
    assert_eq!(gateway.state().mode, SyncMode::Rollback { listed: true });
}

#[test]
fn what_comes_in_the_middle_of_a_full_sync() {
    let all = service(4);
    let mut late = service(3);
    late.knows_ahead = false;
    let mut other = all.clone();
    other.identity = "other".to_owned();
    // (case, the service that answers, why its page is not used, whether a full sync begins)
    let cases = [
        ("a replica lags", &late, Reason::Behind, false),
        ("another identity", &other, Reason::Cursor, true),
    ];
    for (case, service, want, begins) in cases {
        let mut gateway = Gateway::new();
        gateway.publish(Some("/keys"), &|| ());
        ask(&mut gateway, &all, 2);
        let asked = gateway.cursor().unwrap();
        let cursor = asked.replacen('f', &service.identity, 1);
        let page = service.answer(Some(&cursor), 2).1;
        let outcome = give(&mut gateway, "200", &page);
        assert_eq!(reason(&outcome), Some(want), "{case}");
        assert_eq!(outcome.taken, 0, "{case}: it is not used");
        let begun = matches!(outcome.event, Some(SyncEvent::Begun(_)));
        assert_eq!(begun, begins, "{case}");
        let state = gateway.state();
        assert_eq!(state.mode, SyncMode::Full, "{case}");
        assert_eq!(state.feed.as_deref(), Some("f"), "{case}");
        assert_eq!(gateway.cursor(), (!begins).then_some(asked), "{case}");
        read(&mut gateway, &all, 2);
        assert_eq!(gateway.state().keys, 4, "{case}");
    }
}
