//! Any history of a feed, with any accident on the way: no good key is ever refused, no removed one
//! good again, and in the end the keys are those of the feed.

use std::cell::RefCell;

use proptest::prelude::*;

use super::gateway::{Filter, Gateway, Judged};
use super::service::{Says, Service};
use super::*;

const KEYS: u8 = 8;

#[derive(Debug, Clone)]
enum HistoryEvent {
    /// The service changes a key.
    Say(u8, Says),
    /// The service forgets removals.
    Compact,
    /// The service begins to count anew, under another identity.
    BeginAnew,
    /// A backup of the service is made.
    BackUp,
    /// The service is what the backup was, under the same identity; or has nothing at all.
    Restore {
        empty: bool,
    },
    /// A page is asked for, and what comes is this.
    Page(PageFate),
    /// Another loader takes over.
    TakeOver,
    /// The document names the feed at another path, or none for a moment.
    OtherPath,
    Unnamed,
}

/// The fate of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PageFate {
    Comes,
    IsLost,
    Is(&'static str),
    IsGarbage,
    IsCut(usize),
    HasABadChange,
    /// One of the answers given before comes in its place.
    IsOld(usize),
}

/// The invariants that must hold now.
#[derive(Debug, Default)]
struct Law {
    /// Good without a break since a filter first said so.
    good: [bool; KEYS as usize],
    /// Refused after it was good, and not there since.
    gone: [bool; KEYS as usize],
    was_good: [bool; KEYS as usize],
    /// Whether nothing can be held against anybody: no feed is named.
    off: bool,
}

struct SyncHistory {
    service: Service,
    gateway: Gateway,
    law: RefCell<Law>,
    /// The former state of the service, from which it has only gone on since.
    backup: Service,
    /// The version that the service was at before it was set back.
    lost_head: u64,
    /// Answers given: the cursor asked with, and the page.
    given: Vec<(Option<String>, serde_json::Value)>,
    identities: u32,
    path: &'static str,
    limit: usize,
}

impl SyncHistory {
    fn new(limit: usize, service: Service, tombstones: u64) -> Self {
        let mut world = Self {
            backup: service.clone(),
            service,
            gateway: Gateway::new(),
            law: RefCell::default(),
            lost_head: 0,
            given: Vec::new(),
            identities: 0,
            path: "/keys",
            limit,
        };
        world.gateway.tombstone_limit = tombstones;
        world.gateway.compacts = (0..KEYS).collect();
        world.gateway.publish(Some("/keys"), &|| ());
        world
    }

    /// Whether the gateway has heard all there is to hear, so that what it has now is what it must
    /// keep. A feed that gives every change in turn leads it through what has been since. A service that
    /// was set back comes to the settled version again with other changes.
    fn is_level(&self) -> bool {
        let state = self.gateway.state();
        let level = state.settled == self.service.version && !state.is_rolled_back();
        !self.service.gives_log || level && state.feed.as_deref() == Some(&self.service.identity)
    }

    /// Looks at every key, as a filter would now.
    fn look(filter: &Filter, law: &RefCell<Law>, service: &Service, level: bool) {
        let law = &mut *law.borrow_mut();
        for key in 0..KEYS {
            let i = usize::from(key);
            let judged = filter.judge(key);
            let there = service.good(key).is_some();
            match judged {
                Judged::Good(_) => {
                    assert!(!law.gone[i], "key {key} was removed and is good again");
                    law.was_good[i] = true;
                    law.good[i] |= there && level && !law.off;
                }
                Judged::Refused | Judged::Undecided => {
                    assert!(!law.good[i], "key {key} is good and is {judged:?}");
                    law.gone[i] |=
                        judged == Judged::Refused && law.was_good[i] && !there && level && !law.off;
                }
            }
        }
    }

    fn is_behind(&self) -> bool {
        self.service.version < self.lost_head
    }

    /// The service has changed: what holds from now on.
    fn changed(&mut self, said: Option<u8>) {
        let law = &mut *self.law.borrow_mut();
        for key in 0..KEYS {
            let i = usize::from(key);
            let there = self.service.good(key).is_some();
            if self.service.version < self.lost_head && said != Some(key) {
                // Neither does a backup take a key away, nor does it bring one back.
                continue;
            }
            law.good[i] &= there;
            law.gone[i] &= !there;
        }
    }

    fn happens(&mut self, event: &HistoryEvent) {
        match event {
            HistoryEvent::Say(key, says) => {
                // Versions that are given anew must be noticed before they are past the old ones.
                let state = self.gateway.state();
                let noticed =
                    state.is_rolled_back() || state.feed.as_deref() != Some(&self.service.identity);
                if self.is_behind() && self.service.version + 2 > self.lost_head && !noticed {
                    return;
                }
                self.service.say(*key, *says);
                if self.service.version == self.lost_head {
                    // What was given of the lost history would now be taken for this one: nothing
                    // tells them apart.
                    self.given.clear();
                }
                self.changed(Some(*key));
            }
            HistoryEvent::Compact => self.service.compact(),
            HistoryEvent::BeginAnew => {
                self.identities += 1;
                self.service.begin_anew(&format!("f{}", self.identities));
                self.backup = self.service.clone();
                self.lost_head = 0;
                self.given.clear();
                self.changed(None);
            }
            HistoryEvent::BackUp => {
                // A backup of a service that was set back is one of another history.
                if self.lost_head == 0 {
                    self.backup = self.service.clone();
                }
            }
            HistoryEvent::Restore { empty } => {
                let head = self.service.version.max(self.lost_head);
                let state = self.gateway.state();
                if state.head < head || state.feed.as_deref() != Some(&self.service.identity) {
                    // What nobody has heard of is not lost.
                    return;
                }
                if *empty {
                    // It gives versions of before anew. What has both must not come: nothing tells
                    // which of two changes was the later one.
                    self.backup.forget_all();
                }
                self.service = self.backup.clone();
                self.lost_head = head;
                self.changed(None);
            }
            HistoryEvent::Page(fate) => self.page(*fate),
            HistoryEvent::TakeOver => self.name(true, Some(self.path)),
            HistoryEvent::OtherPath => {
                self.path = if self.path == "/keys" {
                    "/other"
                } else {
                    "/keys"
                };
                self.given.clear();
                // What another source says is taken as it is, wherever it was set back to.
                self.lost_head = 0;
                self.changed(None);
                self.name(false, Some(self.path));
            }
            HistoryEvent::Unnamed => {
                *self.law.borrow_mut() = Law {
                    off: true,
                    ..Law::default()
                };
                self.given.clear();
                self.lost_head = 0;
                self.name(false, None);
                for key in 0..KEYS {
                    assert_eq!(
                        self.gateway.filter.judge(key),
                        Judged::Refused,
                        "no feed is named"
                    );
                }
                self.name(false, Some(self.path));
                for key in 0..KEYS {
                    assert_eq!(
                        self.gateway.filter.judge(key),
                        Judged::Undecided,
                        "it is named again"
                    );
                }
                assert!(!self.gateway.filter.is_ready());
                *self.law.borrow_mut() = Law::default();
            }
        }
    }

    fn name(&mut self, by_another: bool, path: Option<&str>) {
        let Self {
            gateway,
            law,
            service,
            ..
        } = self;
        let filter = std::mem::take(&mut gateway.filter);
        let look = || Self::look(&filter, law, service, false);
        if by_another {
            gateway.taken_over(path, &look);
        } else {
            gateway.publish(path, &look);
        }
        gateway.filter = filter;
    }

    fn page(&mut self, fate: PageFate) {
        self.gateway.now_ms += 500;
        // A filter asks at once while there is more, as long as nothing goes wrong.
        for turn in 0.. {
            assert!(turn < 60, "it goes round and round");
            let at_once = self.ask(if turn == 0 { fate } else { PageFate::Comes });
            if !at_once {
                break;
            }
        }
    }

    fn ask(&mut self, fate: PageFate) -> bool {
        let cursor = self.gateway.cursor();
        let (status, page) = self.service.answer(cursor.as_deref(), self.limit);
        let mut page = match fate {
            PageFate::IsOld(which) => self.old(which, cursor.as_deref()).unwrap_or(page),
            _ => page,
        };
        let mut status = if page.is_null() { status } else { "200" };
        if let (PageFate::HasABadChange, Some(changes)) = (fate, page["changes"].as_array_mut()) {
            changes.push(serde_json::json!({"version": 1, "sha256": "00"}));
        }
        let mut body = page.to_string().into_bytes();
        match fate {
            PageFate::Is(other) => status = other,
            PageFate::IsGarbage => body = b"<html>".to_vec(),
            PageFate::IsCut(at) => body.truncate(at % body.len()),
            _ => {}
        }
        let answer = match status {
            _ if fate == PageFate::IsLost => PageAnswer::None("lost"),
            "200" => PageAnswer::Page(&body),
            status => PageAnswer::Status(status),
        };
        let unhurt = matches!(fate, PageFate::Comes | PageFate::IsOld(_));
        let Self {
            gateway,
            law,
            service,
            ..
        } = self;
        let filter = std::mem::take(&mut gateway.filter);
        let outcome = gateway.answer(answer, &|| Self::look(&filter, law, service, false));
        gateway.filter = filter;
        let level = self.is_level();
        Self::look(&self.gateway.filter, &self.law, &self.service, level);
        if status == "200" && unhurt && !page.is_null() {
            self.given.push((cursor, page));
        }
        if self.service.version >= self.lost_head
            && self.lost_head > 0
            && !self.gateway.state().is_rolled_back()
        {
            // It is past where it was, and believed again.
            self.believed();
        }
        outcome.at_once
    }

    /// An answer given before, which a cache may give again: to the same question, or one that is older
    /// than what has been told since.
    fn old(&self, which: usize, cursor: Option<&str>) -> Option<serde_json::Value> {
        let head = self.gateway.state().head;
        let fit: Vec<_> = self
            .given
            .iter()
            .filter(|(asked, page)| {
                asked.as_deref() == cursor || page["version"].as_u64() < Some(head)
            })
            .filter(|_| self.gateway.state().feed.is_some())
            .collect();
        let count = fit.len();
        (count > 0).then(|| fit[which % count].1.clone())
    }

    fn believed(&mut self) {
        let law = &mut *self.law.borrow_mut();
        for key in 0..KEYS {
            let i = usize::from(key);
            let there = self.service.good(key).is_some();
            law.good[i] &= there;
            law.gone[i] &= !there;
        }
    }

    /// All is well from now on.
    fn ends_well(&mut self) {
        if self.lost_head > 0 {
            for _ in 0..8 {
                self.page(PageFate::Comes);
            }
            // Nobody knows what the versions mean that were given twice: each key is said anew.
            self.service.version = self.service.version.max(self.lost_head);
            for key in 0..KEYS {
                let says = self.service.says(key);
                self.service.say(key, says);
            }
            self.changed(None);
        }
        // Pages that change nothing come one a tick: an old cursor leads through all of the history again.
        for _ in 0..200 {
            self.gateway.now_ms += 61_000;
            self.page(PageFate::Comes);
        }
        for key in 0..KEYS {
            let judged = self.gateway.filter.judge(key);
            let want = self
                .service
                .good(key)
                .map_or(Judged::Refused, |group| Judged::Good(group.to_owned()));
            assert_eq!(
                judged,
                want,
                "key {key} in the end, {:?}",
                self.service.keys.get(&key)
            );
        }
        let state = self.gateway.state();
        let good = (0..KEYS)
            .filter(|key| self.service.good(*key).is_some())
            .count();
        assert_eq!(
            state.keys,
            u64::try_from(good).unwrap(),
            "the number of keys"
        );
        assert_eq!(state.head, self.service.version);
        assert!(!state.is_listing() && !state.is_rolled_back(), "{state:?}");
        assert!(self.gateway.filter.is_ready());
    }
}

fn events() -> impl Strategy<Value = Vec<HistoryEvent>> {
    let says = prop_oneof![
        3 => Just(Some(("g", false))),
        2 => Just(Some(("h", false))),
        1 => Just(Some(("g", true))),
        3 => Just(None),
    ];
    let fate = prop_oneof![
        12 => Just(PageFate::Comes),
        2 => Just(PageFate::IsLost),
        1 => Just(PageFate::Is("500")),
        1 => Just(PageFate::Is("410")),
        1 => Just(PageFate::IsGarbage),
        1 => any::<usize>().prop_map(PageFate::IsCut),
        1 => Just(PageFate::HasABadChange),
        4 => any::<usize>().prop_map(PageFate::IsOld),
    ];
    let event = prop_oneof![
        16 => (0..KEYS, says).prop_map(|(key, says)| HistoryEvent::Say(key, says)),
        20 => fate.prop_map(HistoryEvent::Page),
        2 => Just(HistoryEvent::Compact),
        1 => Just(HistoryEvent::BeginAnew),
        2 => Just(HistoryEvent::BackUp),
        1 => any::<bool>().prop_map(|empty| HistoryEvent::Restore { empty }),
        2 => Just(HistoryEvent::TakeOver),
        1 => Just(HistoryEvent::OtherPath),
        1 => Just(HistoryEvent::Unnamed),
    ];
    proptest::collection::vec(event, 1..120)
}

proptest! {
    #![proptest_config(crate::seeds_beside_source())]

    #[test]
    fn nothing_is_lost_and_nothing_returns(
        events in events(),
        limit in 1usize..6,
        gives_log in any::<bool>(),
        knows_ahead in any::<bool>(),
        lists_by_digest in any::<bool>(),
        tombstones in prop_oneof![0_u64..4, Just(u64::MAX)],
    ) {
        let service = Service { gives_log, knows_ahead, lists_by_digest, ..Service::new("f0") };
        let mut world = SyncHistory::new(limit, service, tombstones);
        for event in &events {
            world.happens(event);
        }
        world.ends_well();
    }
}
