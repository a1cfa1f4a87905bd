//! Beginning of a reading: after another loader, with a state that is lost, with another document.

use super::gateway::{Gateway, Judged};
use super::service::Service;
use super::*;
use crate::feed::state::{STATE, StoredState};
use crate::shared_data::fake::FakeSharedData;

fn service() -> Service {
    let mut service = Service::new("f");
    for key in 0..6 {
        service.say(key, Some(("g", false)));
    }
    service
}

fn ask(gateway: &mut Gateway, service: &Service, limit: usize) -> SyncOutcome {
    gateway.now_ms += 500;
    let page = service.answer(gateway.cursor().as_deref(), limit).1;
    gateway.answer(PageAnswer::Page(page.to_string().as_bytes()), &|| ())
}

fn settled(service: &Service) -> Gateway {
    let mut gateway = Gateway::new();
    gateway.publish(Some("/keys"), &|| ());
    assert!(ask(&mut gateway, service, 9).up_to_date);
    gateway
}

fn judged(gateway: &Gateway, keys: [u8; 3]) -> [Judged; 3] {
    keys.map(|key| gateway.filter.judge(key))
}

fn good() -> Judged {
    Judged::Good("g".to_owned())
}

#[test]
fn another_loader_goes_on() {
    let mut service = service();
    for pages in 1..4 {
        let mut gateway = Gateway::new();
        gateway.publish(Some("/keys"), &|| ());
        for _ in 0..pages {
            ask(&mut gateway, &service, 2);
        }
        let before = gateway.state();
        gateway.taken_over(Some("/keys"), &|| ());
        assert_eq!(gateway.state(), before, "{pages} pages");
        while !ask(&mut gateway, &service, 2).up_to_date {}
        assert_eq!(gateway.state().keys, 6, "{pages} pages");
        assert_eq!(gateway.filter.judge(9), Judged::Refused, "{pages} pages");
    }
    let mut gateway = settled(&service);
    service.say(0, None);
    gateway.taken_over(Some("/keys"), &|| ());
    assert_eq!(
        gateway.filter.judge(9),
        Judged::Refused,
        "all is read already"
    );
    ask(&mut gateway, &service, 2);
    assert_eq!(
        judged(&gateway, [0, 1, 9]),
        [Judged::Refused, good(), Judged::Refused]
    );
}

#[test]
fn a_state_that_cannot_be_read() {
    let values: [(&str, &[u8]); 6] = [
        ("bytes", &[0xff; 40]),
        ("another form", b"[]"),
        ("nothing", b""),
        ("another release's", br#"{"format": 9, "epoch": 99000000}"#),
        ("not sound", br#"{"format": 3, "epoch": 3, "floor": 9}"#),
        (
            "below the floor",
            br#"{"format": 3, "epoch": 3, "floor": 2}"#,
        ),
    ];
    let mut service = service();
    let settled_service = service.clone();
    service.say(0, None);
    service.compact();
    for (case, value) in values {
        for half in [false, true] {
            let mut gateway = settled(&settled_service);
            if half {
                // Another reading was under way.
                gateway.answer(PageAnswer::Status("410"), &|| ());
                ask(&mut gateway, &settled_service, 2);
            }
            let epoch = gateway.state().epoch;
            gateway.shared.set(STATE, value, None).unwrap();
            gateway.now_ms += 1;
            gateway.taken_over(Some("/keys"), &|| ());
            let state = gateway.state();
            assert!(state.epoch > epoch, "{case}: {} > {epoch}", state.epoch);
            assert_eq!((state.base, state.cursor), (state.epoch, None), "{case}");
            assert_eq!(
                judged(&gateway, [0, 1, 9]),
                [good(), good(), Judged::Refused],
                "{case}"
            );
            ask(&mut gateway, &service, 9);
            assert_eq!(
                judged(&gateway, [0, 1, 9]),
                [Judged::Refused, good(), Judged::Refused],
                "{case}, half read: {half}"
            );
        }
    }
}

/// A loader of another release has left its state: all is read anew, and nothing is refused meanwhile.
#[test]
fn a_state_of_another_format() {
    let mut service = service();
    let mut gateway = settled(&service);
    let bytes = gateway.shared.get(STATE).0.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let former = text.replace(r#""format":3"#, r#""format":1"#);
    assert_ne!(former, text);
    gateway.shared.set(STATE, former.as_bytes(), None).unwrap();
    service.say(0, None);
    gateway.taken_over(Some("/keys"), &|| ());
    assert_eq!(gateway.cursor(), None);
    assert_eq!(
        judged(&gateway, [0, 1, 9]),
        [good(), good(), Judged::Refused]
    );
    let outcome = ask(&mut gateway, &service, 9);
    assert_eq!(outcome.taken, 5, "no record is taken for good as it stands");
    assert_eq!(
        judged(&gateway, [0, 1, 9]),
        [Judged::Refused, good(), Judged::Refused]
    );
}

#[test]
fn another_source() {
    let service = service();
    for by_another in [false, true] {
        let mut gateway = settled(&service);
        if by_another {
            gateway.taken_over(Some("/other"), &|| ());
        } else {
            gateway.publish(Some("/other"), &|| ());
        }
        assert_eq!(
            judged(&gateway, [0, 1, 9]),
            [good(), good(), Judged::Undecided]
        );
        assert!(gateway.filter.is_ready(), "what was good is");
        let mut other = Service::new("f");
        other.say(1, Some(("g", false)));
        other.say(9, Some(("g", false)));
        ask(&mut gateway, &other, 1);
        assert_eq!(
            judged(&gateway, [0, 1, 9]),
            [good(), good(), Judged::Undecided]
        );
        ask(&mut gateway, &other, 1);
        assert_eq!(
            judged(&gateway, [0, 1, 9]),
            [Judged::Refused, good(), good()]
        );
        // And another one before any was read to its end.
        let mut gateway = Gateway::new();
        gateway.publish(Some("/keys"), &|| ());
        ask(&mut gateway, &service, 2);
        gateway.publish(Some("/other"), &|| ());
        assert_eq!(
            judged(&gateway, [0, 5, 9]),
            [good(), Judged::Undecided, Judged::Undecided]
        );
        assert!(!gateway.filter.is_ready());
    }
}

#[test]
fn no_feed_and_one_again() {
    let service = service();
    for by_another in [false, true] {
        let mut gateway = settled(&service);
        let name = |gateway: &mut Gateway, path| {
            if by_another {
                gateway.taken_over(path, &|| ());
            } else {
                gateway.publish(path, &|| ());
            }
        };
        name(&mut gateway, None);
        let none = [Judged::Refused, Judged::Refused, Judged::Refused];
        assert_eq!(judged(&gateway, [0, 1, 9]), none);
        assert!(gateway.filter.is_ready());
        name(&mut gateway, Some("/keys"));
        let open = [Judged::Undecided, Judged::Undecided, Judged::Undecided];
        assert_eq!(
            judged(&gateway, [0, 1, 9]),
            open,
            "nothing of before is good"
        );
        assert!(!gateway.filter.is_ready());
        ask(&mut gateway, &service, 9);
        assert_eq!(
            judged(&gateway, [0, 1, 9]),
            [good(), good(), Judged::Refused]
        );
        assert_eq!(gateway.state().keys, 6);
    }
}

/// The last write before a crash was the policy's.
#[test]
fn a_watermark_that_only_the_policy_has() {
    let mut gateway = settled(&service());
    let mut state = gateway.state();
    let watermark = core::mem::take(&mut state.watermark);
    assert!(watermark > 0);
    state.store(&*gateway.shared);
    gateway.taken_over(Some("/keys"), &|| ());
    assert_eq!(gateway.state().watermark, watermark);
    assert_eq!(
        judged(&gateway, [0, 1, 9]),
        [good(), good(), Judged::Refused]
    );
}

#[test]
fn the_end_of_a_feed_is_stored() {
    let state = |source| {
        let shared = FakeSharedData::default();
        let mut state = FeedState {
            source,
            epoch: 7,
            ..FeedState::default()
        };
        state.store(&shared);
        shared
    };
    let unreadable = FakeSharedData::default();
    let bytes = br#"{"format": 9, "epoch": 7}"#;
    unreadable.set(STATE, bytes, None).unwrap();
    // (case, what was stored, the epoch that is stored then, whether it was written)
    let cases = [
        ("nothing", FakeSharedData::default(), None, false),
        ("a feed", state(Some(FeedSource::default())), Some(7), true),
        ("none", state(None), Some(7), false),
        ("what cannot be read", unreadable, Some(7), true),
    ];
    for (case, shared, epoch, written) in cases {
        let before = shared.get(STATE);
        FeedSync::end(&shared);
        let found = match FeedState::stored(&shared) {
            StoredState::State(state) => {
                assert_eq!(state.source, None, "{case}");
                Some(state.epoch)
            }
            _ => None,
        };
        assert_eq!(found, epoch, "{case}");
        assert_eq!(shared.get(STATE) != before, written, "{case}");
    }
}

/// Nothing that a full sync has dropped comes back, and the epoch grows even where the clock was set back.
#[test]
fn what_is_left_of_a_state_that_cannot_be_read() {
    let mut service = service();
    let mut gateway = settled(&service);
    service.say(0, None);
    service.compact();
    gateway.answer(PageAnswer::Status("410"), &|| ());
    assert!(ask(&mut gateway, &service, 9).up_to_date);
    let watermark = gateway.state().watermark;
    let bytes = br#"{"format": 9, "epoch": 99000000}"#;
    gateway.shared.set(STATE, bytes, None).unwrap();
    gateway.taken_over(Some("/keys"), &|| ());
    let state = gateway.state();
    assert_eq!((state.watermark, state.epoch), (watermark, 99_000_001));
    let want = [Judged::Refused, good(), Judged::Refused];
    assert_eq!(judged(&gateway, [0, 1, 9]), want);
}

#[test]
fn a_state_is_read_where_it_is_sound() {
    // (case, the first epoch of the identity, the watermark, whether it is read with epoch 5)
    let cases = [
        ("sound", 5, 5, true),
        ("long ago", 0, 0, true),
        ("an identity that is yet to come", 6, 5, false),
        ("a watermark above all", 5, 6, false),
    ];
    for (case, base, watermark, want) in cases {
        let shared = FakeSharedData::default();
        let mut state = FeedState {
            epoch: 5,
            base,
            watermark,
            ..FeedState::default()
        };
        state.store(&shared);
        let want = if want {
            StoredState::State(Box::new(state))
        } else {
            StoredState::Unreadable(5)
        };
        assert_eq!(FeedState::stored(&shared), want, "{case}");
    }
}
