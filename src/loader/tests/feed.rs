//! The sync of a feed, as the loader drives it: pages and documents in any order, lost, late and twice.

use std::rc::Rc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::simulation::{FETCHED, SimulatedRoot, in_effect, with_feed};
use crate::config::snapshot;
use crate::host::fake::{FakeCall, FakeProcess, FakeResponse};
use crate::keys::Coverage;

const KEYS: &str = "trilane_keys_feed_keys";
const VERSION: &str = "trilane_keys_feed_version";

/// A service that gives every change it ever had, two to a page.
#[derive(Debug)]
struct ChangeLogService {
    identity: u32,
    /// Each change: a key, and whether it exists from then on.
    log: Vec<(u8, bool)>,
}

impl ChangeLogService {
    fn exists(&self, key: u8) -> bool {
        let last = self.log.iter().rev().find(|(changed, _)| *changed == key);
        last.is_some_and(|(_, exists)| *exists)
    }

    fn keys(&self) -> u64 {
        (0..=u8::MAX).map(|key| u64::from(self.exists(key))).sum()
    }

    fn version(&self) -> u64 {
        u64::try_from(self.log.len()).unwrap()
    }

    fn serve(&self, request: &FakeCall) -> FakeResponse {
        let cursor = request.path.split_once("cursor=").map(|(_, cursor)| cursor);
        let from = match cursor.map(|cursor| cursor.split_once('.')) {
            None => 0,
            Some(Some((identity, at))) if identity == self.identity.to_string() => {
                at.parse().unwrap()
            }
            Some(_) => return FakeResponse::status("410", ""),
        };
        let until = (from + 2).min(self.log.len());
        let changes = self.log[from..until].iter().zip(from + 1..);
        let changes: Vec<Value> = changes
            .map(|((key, exists), version)| {
                let sha256 = hex::encode(Sha256::digest([*key]));
                if *exists {
                    json!({"version": version, "sha256": sha256, "id": format!("k{key}"), "group": "g"})
                } else {
                    json!({"version": version, "sha256": sha256, "removed": true})
                }
            })
            .collect();
        let page = json!({
            "feed": self.identity.to_string(),
            "version": self.version(),
            "cursor": format!("{}.{until}", self.identity),
            "more": until < self.log.len(),
            "changes": changes,
        });
        FakeResponse::ok(page.to_string())
    }
}

#[derive(Debug, Clone)]
enum FeedSimulationEvent {
    /// A root ticks, so many milliseconds after what came before.
    Ticks(usize, u64),
    Responds(usize),
    RespondsTwice(usize),
    Fails(usize),
    /// The service has another key, or removes one.
    Changes(u8, bool),
    /// The service takes another identity, with what it has.
    BeginsAnew,
    /// The document names this feed from now on: 0 for none.
    Names(u8),
    /// A root is replaced by a new one, which outranks it.
    Replaced(usize),
}

struct FeedSimulation {
    process: Rc<FakeProcess>,
    roots: Vec<(u32, SimulatedRoot)>,
    flights: Vec<(u32, FakeCall, FakeResponse)>,
    service: ChangeLogService,
    /// The number of the document, and of the feed that it names.
    document: (u32, u8),
    numbers: u32,
}

impl FeedSimulation {
    fn new() -> Self {
        let mut world = Self {
            process: FakeProcess::start(),
            roots: Vec::new(),
            flights: Vec::new(),
            service: ChangeLogService {
                identity: 0,
                log: Vec::new(),
            },
            document: (0, 1),
            numbers: 0,
        };
        for _ in 0..2 {
            let root = world.root();
            world.roots.push(root);
        }
        world
    }

    fn root(&mut self) -> (u32, SimulatedRoot) {
        self.numbers += 1;
        let blanks = " ".repeat(usize::try_from(self.numbers).unwrap());
        let configuration = FETCHED.to_owned() + &blanks;
        let root = SimulatedRoot::start(&self.process, LoaderRole::Fallback, &configuration);
        (self.numbers, root)
    }

    fn text(&self) -> String {
        let (number, feed) = self.document;
        let path = format!("/keys/{feed}");
        with_feed(number, (feed > 0).then_some(path.as_str()))
    }

    fn take_calls(&mut self, place: usize) {
        let text = self.text();
        let (number, root) = &self.roots[place];
        for call in root.host.take_calls() {
            let response = if call.cluster == "feed" {
                self.service.serve(&call)
            } else {
                FakeResponse::ok(text.as_str())
            };
            self.flights.push((*number, call, response));
        }
    }

    fn respond(&mut self, place: usize, fails: bool, stays: bool) {
        let (number, call, response) = self.flights[place].clone();
        if !stays {
            self.flights.remove(place);
        }
        let found = self.roots.iter().position(|(known, _)| *known == number);
        if let Some(place) = found {
            self.roots[place]
                .1
                .respond(&call, (!fails).then_some(&response));
            self.take_calls(place);
        }
    }

    fn happens(&mut self, happens: FeedSimulationEvent) {
        let flight = |n: usize| n.checked_rem(self.flights.len());
        match happens {
            FeedSimulationEvent::Ticks(n, after) => {
                self.process.pass_ms(after);
                let place = n % self.roots.len();
                let (_, root) = &mut self.roots[place];
                root.loader.on_tick(&root.host);
                self.take_calls(place);
            }
            FeedSimulationEvent::Responds(n) => {
                if let Some(place) = flight(n) {
                    self.respond(place, false, false);
                }
            }
            FeedSimulationEvent::RespondsTwice(n) => {
                if let Some(place) = flight(n) {
                    self.respond(place, false, true);
                }
            }
            FeedSimulationEvent::Fails(n) => {
                if let Some(place) = flight(n) {
                    self.respond(place, true, false);
                }
            }
            FeedSimulationEvent::Changes(key, exists) => self.service.log.push((key, exists)),
            FeedSimulationEvent::BeginsAnew => self.service.identity += 1,
            FeedSimulationEvent::Names(feed) => self.document = (self.document.0 + 1, feed),
            FeedSimulationEvent::Replaced(n) => {
                let place = n % self.roots.len();
                self.roots[place] = self.root();
            }
        }
    }
}

fn happens() -> impl Strategy<Value = FeedSimulationEvent> {
    let after = prop_oneof![Just(5u64), Just(500), 0u64..5000];
    prop_oneof![
        12 => (any::<usize>(), after).prop_map(|(n, after)| FeedSimulationEvent::Ticks(n, after)),
        10 => any::<usize>().prop_map(FeedSimulationEvent::Responds),
        2 => any::<usize>().prop_map(FeedSimulationEvent::RespondsTwice),
        2 => any::<usize>().prop_map(FeedSimulationEvent::Fails),
        6 => (0u8..6, any::<bool>()).prop_map(|(key, exists)| FeedSimulationEvent::Changes(key, exists)),
        1 => Just(FeedSimulationEvent::BeginsAnew),
        1 => (0u8..3).prop_map(FeedSimulationEvent::Names),
        1 => any::<usize>().prop_map(FeedSimulationEvent::Replaced),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..crate::seeds_beside_source() })]

    #[test]
    fn whatever_happens_all_keys_come(events in prop::collection::vec(happens(), 0..120)) {
        let mut world = FeedSimulation::new();
        for event in events {
            world.happens(event);
        }
        // From now on all goes well.
        world.happens(FeedSimulationEvent::Names(1));
        while !world.flights.is_empty() {
            world.respond(0, true, false);
        }
        for _ in 0..80 {
            world.process.pass_ms(500);
            for place in 0..world.roots.len() {
                world.happens(FeedSimulationEvent::Ticks(place, 60));
                while !world.flights.is_empty() {
                    world.respond(0, false, false);
                }
            }
        }
        prop_assert_eq!(in_effect(&world.process), Some(world.document.0));
        let (_, leader) = world
            .roots
            .iter_mut()
            .max_by_key(|(number, _)| *number)
            .unwrap();
        prop_assert_eq!(leader.host.stat(VERSION), Some(world.service.version()));
        prop_assert_eq!(leader.host.stat(KEYS), Some(world.service.keys()));
        prop_assert_eq!(leader.loader.feed.next.more(), Some(false), "nothing more to read");
    }
}

/// A loader whose document is in effect, and its first call for a page.
fn begun(process: &Rc<FakeProcess>) -> (SimulatedRoot, FakeCall) {
    let mut root = SimulatedRoot::start(process, LoaderRole::Singleton, FETCHED);
    let call = root.next_tick().remove(0);
    root.respond(&call, Some(&FakeResponse::ok(with_feed(0, Some("/keys")))));
    let calls = root.next_tick();
    let (pages, polls): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|call| call.cluster == "feed");
    root.respond(&polls[0], Some(&FakeResponse::status("304", "")));
    let page = pages.into_iter().next();
    (root, page.unwrap())
}

#[test]
fn pages_follow_at_their_pace_and_polls_go_on() {
    let process = FakeProcess::start();
    let (mut root, mut page) = begun(&process);
    let service = ChangeLogService {
        identity: 0,
        log: (0..20).map(|key| (key, true)).collect(),
    };
    let mut pages = 1;
    loop {
        root.respond(&page, Some(&service.serve(&page)));
        assert!(root.host.take_calls().is_empty(), "requests come first");
        if root.loader.feed.next.more() == Some(false) {
            break;
        }
        assert_eq!(root.host.period.get().unwrap().as_millis(), 5);
        let calls = root.next_tick();
        assert_eq!(calls.len(), 1, "the next page, and no poll: {calls:?}");
        page = calls.into_iter().next().unwrap();
        pages += 1;
    }
    assert_eq!(pages, 10);
    assert_eq!(root.host.stat(KEYS), Some(20));
    assert_eq!(
        root.host.period.get().unwrap().as_millis(),
        500,
        "it is read"
    );
    let calls = root.next_tick();
    let clusters: Vec<&str> = calls.iter().map(|call| call.cluster.as_str()).collect();
    assert!(clusters.contains(&"feed"), "{clusters:?}");
}

#[test]
fn a_page_counts_only_while_the_lease_is_held() {
    let process = FakeProcess::start();
    let (mut root, page) = begun(&process);
    let service = ChangeLogService {
        identity: 0,
        log: vec![(1, true)],
    };
    let mut other = Candidate::enter(LoaderRole::Singleton, b"newer", 99, 2000, &root.host);
    assert_eq!(other.acquire_or_renew(0, &root.host), Acquisition::Acquired);
    let before = process.shared.values.borrow().clone();
    root.respond(&page, Some(&service.serve(&page)));
    assert!(
        *process.shared.values.borrow() == before,
        "nothing is written"
    );
    assert!(!root.loader.feed.next.awaits(page.id));
}

/// The path of the page that is requested with the next poll, if one is.
fn next_page(root: &mut SimulatedRoot) -> Option<String> {
    let calls = root.next_tick();
    let page = calls.into_iter().find(|call| call.cluster == "feed");
    page.map(|call| call.path)
}

/// Has the root load this document with its next poll.
fn edit(root: &mut SimulatedRoot, document: &str) {
    let calls = root.next_tick();
    let poll = calls.into_iter().find(|call| call.cluster == "source");
    root.respond(&poll.unwrap(), Some(&FakeResponse::ok(document)));
}

#[test]
fn what_is_read_of_a_feed_is_published() {
    let process = FakeProcess::start();
    let (mut root, page) = begun(&process);
    let service = ChangeLogService {
        identity: 0,
        log: vec![(1, true)],
    };
    let coverage = || {
        let policy = process.shared.get(snapshot::POLICY).0.unwrap();
        snapshot::Snapshot::read(policy)
            .unwrap()
            .feed
            .unwrap()
            .coverage
    };
    assert_eq!(coverage(), Coverage::Nothing);
    root.respond(&page, Some(&service.serve(&page)));
    assert_eq!(coverage(), Coverage::Whole);
}

#[test]
fn a_document_that_comes_while_a_page_is_awaited() {
    // (case, the feed that it names, the keys that are known then, the next page)
    let cases = [
        (
            "the same feed",
            Some("/keys"),
            1,
            Some("/keys?limit=100&cursor=0.1"),
        ),
        ("another feed", Some("/other"), 0, Some("/other?limit=500")),
        ("none", None, 0, None),
    ];
    for (case, feed, keys, next) in cases {
        let process = FakeProcess::start();
        let (mut root, page) = begun(&process);
        let service = ChangeLogService {
            identity: 0,
            log: vec![(1, true)],
        };
        edit(&mut root, &with_feed(1, feed));
        root.respond(&page, Some(&service.serve(&page)));
        assert_eq!(root.host.stat(KEYS), Some(keys), "{case}");
        assert_eq!(next_page(&mut root).as_deref(), next, "{case}");
    }
}

#[test]
fn a_feed_that_is_named_again_is_read_anew() {
    let process = FakeProcess::start();
    let (mut root, page) = begun(&process);
    let service = ChangeLogService {
        identity: 0,
        log: vec![(1, true)],
    };
    root.respond(&page, Some(&service.serve(&page)));
    edit(&mut root, &with_feed(1, None));
    assert_eq!(root.host.stat(KEYS), Some(0));
    edit(&mut root, &with_feed(2, Some("/keys")));
    assert_eq!(next_page(&mut root).as_deref(), Some("/keys?limit=500"));
}

#[test]
fn a_peer_continues_the_sync_of_an_inline_document() {
    let process = FakeProcess::start();
    let configuration = format!(r#"{{"inline": {}}}"#, with_feed(1, Some("/keys")));
    drop(SimulatedRoot::start(
        &process,
        LoaderRole::Fallback,
        &configuration,
    ));
    let mut peer = SimulatedRoot::start(&process, LoaderRole::Fallback, &configuration);
    let page = (0..100).find_map(|_| next_page(&mut peer));
    assert_eq!(page.as_deref(), Some("/keys?limit=500"));
}
