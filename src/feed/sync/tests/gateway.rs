//! A gateway: a loader with a document in force, and a filter that judges keys.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Mutex;

use super::*;
use crate::auth::{ApiKey, CredentialForm, KeyStatus, KeyStore, PresentedCredential, authenticate};
use crate::config::snapshot::InForce;
use crate::config::snapshot_cache::SnapshotCache;
use crate::config::{Document, compile};
use crate::head::Head;
use crate::keys::{self, KeyDigest, bucket};
use crate::loader::publisher::Publisher;
use crate::protocol::query::RequestTarget;
use crate::shared_data::Conflict;
use crate::shared_data::fake::FakeSharedData;

/// The value of a key. Two keys each stand in one bucket.
fn value(key: u8) -> Vec<u8> {
    static FOUND: Mutex<BTreeMap<u8, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let first = format!("key-{}", key & !1).into_bytes();
    if key & 1 == 0 {
        return first;
    }
    let wanted = bucket::of(&KeyDigest::of(&first));
    let find = || {
        let values = (0..).map(|number| format!("key-{key}-{number}").into_bytes());
        let mut of_bucket = values.filter(|value| bucket::of(&KeyDigest::of(value)) == wanted);
        of_bucket.next().unwrap()
    };
    FOUND
        .lock()
        .unwrap()
        .entry(key)
        .or_insert_with(find)
        .clone()
}

pub(super) fn digest(key: u8) -> KeyDigest {
    KeyDigest::of(&value(key))
}

/// The decision of a filter on a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judged {
    /// Good, for this group.
    Good(String),
    /// 401
    Refused,
    /// 503
    Undecided,
}

/// A filter, which looks at shared data alone.
#[derive(Debug, Default)]
pub(super) struct Filter {
    shared: Rc<FakeSharedData>,
    view: RefCell<SnapshotCache>,
}

impl Filter {
    pub(super) fn judge(&self, key: u8) -> Judged {
        let in_force = self.view.borrow_mut().refresh(&*self.shared);
        let Some(in_force) = in_force else {
            return Judged::Undecided;
        };
        match authenticate(&api_key(key), &in_force, self) {
            KeyStatus::Valid { group, .. } => Judged::Good(group.id.to_string()),
            KeyStatus::Invalid | KeyStatus::Ended(_) => Judged::Refused,
            KeyStatus::Undecided => Judged::Undecided,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        let in_force = self.view.borrow_mut().refresh(&*self.shared);
        in_force.is_some_and(|in_force| in_force.is_ready())
    }
}

fn api_key(key: u8) -> ApiKey {
    let head = Head::new(vec![("x-api-key".to_owned(), value(key))]);
    match CredentialForm::XApiKey.read(&head, &RequestTarget::parse(b"/")) {
        PresentedCredential::Key(key) => key,
        other => panic!("{other:?}"),
    }
}

impl KeyStore for Filter {
    fn record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        keys::read(digest, &*self.shared)
    }

    fn now(&self) -> i64 {
        1_800_000_000
    }

    fn latest_policy(&self) -> Option<Rc<InForce>> {
        self.view.borrow_mut().refresh(&*self.shared)
    }
}

/// Shared data, and somebody who looks at it after every write.
struct Watched<'a> {
    shared: &'a FakeSharedData,
    look: &'a dyn Fn(),
}

impl SharedData for Watched<'_> {
    fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
        self.shared.get(name)
    }

    fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
        self.shared.set(name, value, version)?;
        (self.look)();
        Ok(())
    }
}

/// A loader and its filter.
pub(super) struct Gateway {
    pub(super) shared: Rc<FakeSharedData>,
    pub(super) filter: Filter,
    pub(super) sync: Option<FeedSync>,
    publisher: Publisher,
    pub(super) now_ms: u64,
    /// Up to so many tombstones nothing is compacted.
    pub(super) tombstone_limit: u64,
    /// The keys that are compacted with every answer, where there is something to compact.
    pub(super) compacts: Vec<u8>,
}

impl Gateway {
    /// Without a document.
    pub(super) fn new() -> Self {
        let shared = Rc::new(FakeSharedData::default());
        Self {
            filter: Filter {
                shared: Rc::clone(&shared),
                view: RefCell::default(),
            },
            publisher: Publisher::take_over(&*shared).unwrap(),
            sync: None,
            shared,
            now_ms: 1_000,
            tombstone_limit: TOMBSTONES,
            compacts: Vec::new(),
        }
    }

    /// Brings a document into force whose feed is at `path`.
    pub(super) fn publish(&mut self, path: Option<&str>, look: &dyn Fn()) {
        let watched = Watched {
            shared: &self.shared,
            look,
        };
        let group = |id: &str| {
            format!(r#"{{"id": "{id}", "protocol": "A", "multiplier": "1", "cluster": "c"}}"#)
        };
        let feed = path.map_or("null".to_owned(), |path| {
            format!(r#"{{"cluster": "feed", "path": "{path}"}}"#)
        });
        let (g, h) = (group("g"), group("h"));
        let text = format!(r#"{{"groups": [{g}, {h}], "keys": [], "keys_feed": {feed}}}"#);
        let document = Document::parse(text.as_bytes()).unwrap();
        let compiled = compile(&document).unwrap();
        let status = match &compiled.policy.keys_feed {
            None => {
                self.sync = None;
                FeedSync::end(&watched);
                None
            }
            Some(source) => {
                let sync = match self.sync.take() {
                    Some(sync) if sync.source() == Some(source) => sync,
                    Some(sync) => sync.switch_source(source, &watched, self.now_ms).0,
                    None => FeedSync::resume(source, &watched, self.now_ms).0,
                };
                let status = sync.status();
                self.sync = Some(FeedSync {
                    tombstone_limit: self.tombstone_limit,
                    ..sync
                });
                Some(status)
            }
        };
        self.publisher
            .publish(&document, &compiled, &[0; 32], status, &watched)
            .unwrap();
    }

    /// Another loader begins, with the same document.
    pub(super) fn taken_over(&mut self, path: Option<&str>, look: &dyn Fn()) {
        self.sync = None;
        self.publisher = Publisher::take_over(&*self.shared).unwrap();
        self.publish(path, look);
    }

    /// The cursor of the next question.
    pub(super) fn cursor(&self) -> Option<String> {
        let sync = self.sync.as_ref().unwrap();
        sync.cursor().map(str::to_owned)
    }

    pub(super) fn state(&self) -> FeedState {
        self.sync.as_ref().unwrap().state().clone()
    }

    pub(super) fn answer(&mut self, answer: PageAnswer<'_>, look: &dyn Fn()) -> SyncOutcome {
        let watched = Watched {
            shared: &self.shared,
            look,
        };
        let sync = self.sync.as_mut().unwrap();
        let outcome = sync.on_answer(answer, &watched, self.now_ms);
        if sync.state.compaction.left > 0 && outcome.status.is_none() {
            for key in &self.compacts {
                sync.compact_bucket(bucket::of(&digest(*key)), &watched);
            }
        }
        if let Some(status) = outcome.status {
            self.publisher.open(status, &watched).unwrap();
        }
        outcome
    }
}
