//! The word of the Envoys that are connected: what they have taken, and what they reject.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trilane::config::some_of;

use super::session::{EnvoyReport, ResourceName};
use super::snapshot::{ResourceKind, Snapshot};
use crate::terminal::printable;

/// The longest time for Envoy to take clusters: as long as it waits itself for what a cluster needs before that is warm, and a
/// little more.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time for an Envoy that has lost its stream to come back: the longest pause between its attempts, and a little more.
const ABSENCE: Duration = Duration::from_secs(3);
/// The interval at which its word is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// The most clusters that a message names.
const NAMED: usize = 5;
/// The most characters of a reason that are told.
const TOLD: usize = 1000;

/// The result of waiting for Envoy to acknowledge the clusters.
#[derive(Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// Envoy has all of them, or none is connected.
    All,
    /// A wish to stop came before.
    Stopped,
    /// Envoy does not have all of them, in words.
    Missing(String),
}

/// Gets what is rejected whenever that is something else, a line each.
type RejectionsTeller = Box<dyn Fn(&[String]) + Send + Sync>;

/// The word of each stream.
pub struct Acknowledgements {
    streams: Mutex<BTreeMap<u64, StreamWord>>,
    tell: RejectionsTeller,
}

#[derive(Debug, Default)]
struct StreamWord {
    /// The versions of the clusters that it has.
    clusters: BTreeMap<String, String>,
    /// Its rejections: the version, and why.
    rejected: BTreeMap<ResourceName, (String, String)>,
}

impl Acknowledgements {
    /// Begins without a stream. `tell` gets what Envoy rejects, a line each, whenever that is something else.
    pub fn new(tell: impl Fn(&[String]) + Send + Sync + 'static) -> Self {
        Self {
            streams: Mutex::default(),
            tell: Box::new(tell),
        }
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<u64, StreamWord>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what a stream has said.
    pub fn note(&self, stream: u64, word: EnvoyReport) {
        self.change(|streams| {
            let said = streams.entry(stream).or_default();
            match word {
                EnvoyReport::Has(kind, resources) => {
                    for (name, version) in resources {
                        said.rejected.remove(&(kind, name.clone()));
                        if kind == ResourceKind::Cluster {
                            said.clusters.insert(name, version);
                        }
                    }
                }
                EnvoyReport::Removed(kind, names) => {
                    for name in names {
                        said.clusters.remove(&name);
                        said.rejected.remove(&(kind, name));
                    }
                }
                EnvoyReport::Rejects(resource, version, why) => {
                    said.rejected.insert(resource, (version, why));
                }
            }
        });
    }

    /// Forgets a stream that has ended.
    pub fn forget(&self, stream: u64) {
        self.change(|streams| {
            streams.remove(&stream);
        });
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<u64, StreamWord>)) {
        let mut streams = self.streams();
        let before = rejections(&streams);
        change(&mut streams);
        let now = rejections(&streams);
        if now != before {
            // While it is locked, so that two changes are told in their order.
            (self.tell)(&now);
        }
    }

    /// Waits until every Envoy that is connected has these clusters, or says that it will not. `stop` waits for so long, and says
    /// whether to stop.
    pub fn wait(&self, wanted: &Snapshot, stop: impl Fn(Duration) -> bool) -> Acknowledged {
        let begun = Instant::now();
        loop {
            let (missing, rejected) = self.missing(wanted);
            let waited = begun.elapsed();
            match missing {
                Some(missing) if missing.is_empty() && rejected.is_empty() => {
                    return Acknowledged::All;
                }
                Some(missing) if missing.is_empty() => {
                    let what = listed(rejected);
                    return Acknowledged::Missing(format!("Envoy refuses to take {what}"));
                }
                Some(missing) if waited >= PATIENCE => {
                    let seconds = PATIENCE.as_secs();
                    let what = listed(missing);
                    return Acknowledged::Missing(format!(
                        "Envoy has not within {seconds} s taken {what}"
                    ));
                }
                // One that starts gets the clusters before it has the document.
                None if waited >= ABSENCE => return Acknowledged::All,
                _ => {}
            }
            if stop(LOOK) {
                return Acknowledged::Stopped;
            }
        }
    }

    /// The clusters that an Envoy does not have, and those that it rejects. `None`: none is connected.
    fn missing(&self, wanted: &Snapshot) -> (Option<BTreeSet<String>>, BTreeSet<String>) {
        let streams = self.streams();
        let (mut missing, mut rejected) = (BTreeSet::new(), BTreeSet::new());
        for said in streams.values() {
            for (name, resource) in wanted.of(ResourceKind::Cluster) {
                if said.clusters.get(name) == Some(&resource.version) {
                    continue;
                }
                let of = said.rejected.get(&(ResourceKind::Cluster, name.clone()));
                match of.is_some_and(|(version, _)| *version == resource.version) {
                    true => rejected.insert(name.clone()),
                    false => missing.insert(name.clone()),
                };
            }
        }
        ((!streams.is_empty()).then_some(missing), rejected)
    }
}

impl std::fmt::Debug for Acknowledgements {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Acknowledgements")
            .field(&*self.streams())
            .finish()
    }
}

/// Lists the rejections, a line each.
fn rejections(streams: &BTreeMap<u64, StreamWord>) -> Vec<String> {
    let all = streams.values().flat_map(|said| &said.rejected);
    let lines: BTreeSet<String> = all
        .map(|((kind, name), (_, why))| match kind {
            ResourceKind::Cluster => {
                let why: String = printable(why).chars().take(TOLD).collect();
                format!(
                    "Envoy does not take the cluster {name}, what was there before stays: {why}"
                )
            }
            // The reason could have a part of it.
            ResourceKind::Secret => {
                format!("Envoy does not take the secret {name}, what was there before stays")
            }
        })
        .collect();
    lines.into_iter().collect()
}

fn listed(names: BTreeSet<String>) -> String {
    let names: Vec<String> = names.into_iter().collect();
    format!("the clusters {}", some_of(&names, NAMED))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::snapshot::Resources;
    use super::super::version::VersionKey;
    use super::*;

    #[test]
    fn whether_an_envoy_has_them() {
        let place = tempfile::tempdir().unwrap();
        let key = VersionKey::open(&place.path().join("key")).unwrap();
        let resources = Resources {
            clusters: ["a", "b"].map(|name| json!({"name": name})).to_vec(),
            ..Resources::default()
        };
        let (wanted, _) = Snapshot::default().next(resources, &key).unwrap();
        let version = |name: &str| wanted.of(ResourceKind::Cluster)[name].version.clone();
        let has = |names: &[&str]| {
            let all = names.iter().map(|name| ((*name).to_owned(), version(name)));
            EnvoyReport::Has(ResourceKind::Cluster, all.collect())
        };
        let rejects = |kind, name: &str, version: String| {
            EnvoyReport::Rejects((kind, name.to_owned()), version, "a\nreason".to_owned())
        };
        let told = Arc::new(Mutex::new(Vec::new()));
        let tells = Arc::clone(&told);
        let said = Acknowledgements::new(move |all| tells.lock().unwrap().push(all.to_vec()));
        // A wish to stop comes at once: it is told from an answer that is there.
        let now = || said.wait(&wanted, |_| true);
        assert_eq!(
            now(),
            Acknowledged::Stopped,
            "none is connected, and may come back"
        );
        said.note(1, has(&[]));
        assert_eq!(now(), Acknowledged::Stopped, "it has said nothing");
        said.note(1, has(&["a"]));
        assert_eq!(now(), Acknowledged::Stopped, "one is missing");
        said.note(1, rejects(ResourceKind::Cluster, "b", "old".to_owned()));
        assert_eq!(now(), Acknowledged::Stopped, "it rejects another version");
        said.note(1, rejects(ResourceKind::Cluster, "b", version("b")));
        let refused = Acknowledged::Missing("Envoy refuses to take the clusters b".to_owned());
        assert_eq!(now(), refused);
        said.note(1, has(&["b"]));
        assert_eq!(now(), Acknowledged::All);
        said.note(2, has(&["a"]));
        assert_eq!(now(), Acknowledged::Stopped, "another Envoy has not all");
        said.forget(2);
        assert_eq!(now(), Acknowledged::All);
        said.note(
            1,
            rejects(ResourceKind::Secret, "account~g~a", "1".to_owned()),
        );
        assert_eq!(now(), Acknowledged::All, "a secret holds up no document");
        said.note(
            1,
            EnvoyReport::Removed(ResourceKind::Cluster, vec!["a".to_owned()]),
        );
        assert_eq!(now(), Acknowledged::Stopped);
        let cluster =
            "Envoy does not take the cluster b, what was there before stays: a\u{fffd}reason";
        let secret = "Envoy does not take the secret account~g~a, what was there before stays";
        assert_eq!(
            *told.lock().unwrap(),
            [vec![cluster], vec![], vec![secret]],
            "without a reason"
        );
    }
}
