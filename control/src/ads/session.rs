//! A stream of an Envoy's: what it has, what it wants, and what is to be sent to it.
//!
//! Secrets are sent before clusters, so that a cluster which changes finds its secret; what is gone is told last. All that is new
//! goes in one message: an Envoy that starts has every cluster before it opens a listener. Where Envoy rejects a message with
//! several resources, each is sent again in one of its own, so that the bad one is known and the others are taken. Authorities always are.

use std::collections::{BTreeMap, BTreeSet};

use super::discovery::{DeltaDiscoveryRequest, DeltaDiscoveryResponse};
use super::snapshot::{NamedResources, ResourceKind, Snapshot};

/// The name that stands for all resources of a kind.
const ALL: &str = "*";

/// A resource of Envoy's stream.
pub type ResourceName = (ResourceKind, String);

/// Envoy's word on what was sent to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvoyReport {
    /// It has these: names with versions.
    Has(ResourceKind, Vec<(String, String)>),
    /// It has these no longer.
    Removed(ResourceKind, Vec<String>),
    /// It rejects one in this version; why.
    Rejects(ResourceName, String, String),
}

/// The contents of a message.
#[derive(Debug)]
struct SentMessage {
    kind: ResourceKind,
    resources: Vec<(String, String)>,
    removed: Vec<String>,
}

/// A stream.
#[derive(Debug, Default)]
pub struct Session {
    clusters: Subscription,
    secrets: Subscription,
    /// The messages that Envoy has said nothing of, by number.
    sent: BTreeMap<String, SentMessage>,
    number: u64,
}

/// Envoy's interest in the resources of one kind.
#[derive(Debug, Default)]
struct Subscription {
    /// Whether Envoy has asked for the kind.
    is_open: bool,
    /// Whether the first request for it has got its response.
    is_answered: bool,
    /// Whether it wants all.
    all: bool,
    /// The names that it wants.
    names: BTreeSet<String>,
    /// The versions that it has got, by name; an empty one: it was told that there is none.
    got: BTreeMap<String, String>,
    /// The names that are sent in a message of their own.
    alone: BTreeSet<String>,
}

impl Subscription {
    fn wants(&self, name: &str) -> bool {
        self.is_open && (self.all || self.names.contains(name))
    }

    /// Takes in what a request says of it.
    fn ask(&mut self, request: &DeltaDiscoveryRequest) {
        if !self.is_open {
            self.is_open = true;
            self.all = request.resource_names_subscribe.is_empty();
            let has = request.initial_resource_versions.iter();
            self.got
                .extend(has.map(|(name, version)| (name.clone(), version.clone())));
        }
        for name in &request.resource_names_subscribe {
            if name == ALL {
                self.all = true;
            } else if self.names.insert(name.clone())
                && !request.initial_resource_versions.contains_key(name)
            {
                // It wants to hear of it, even if it has asked before.
                self.got.remove(name);
            }
        }
        for name in &request.resource_names_unsubscribe {
            if name == ALL {
                self.all = false;
            }
            self.names.remove(name);
            self.got.remove(name);
        }
    }

    /// The names of what is there and that Envoy does not have so.
    fn changed<'a>(&'a self, there: &'a NamedResources) -> impl Iterator<Item = &'a String> {
        let is_new = |(name, resource): &(&String, &super::snapshot::VersionedResource)| {
            self.wants(name) && self.got.get(*name) != Some(&resource.version)
        };
        there.iter().filter(is_new).map(|(name, _)| name)
    }

    /// The names of what it has, or wants, and that is not there.
    fn gone(&self, there: &NamedResources) -> Vec<String> {
        let has = self.got.iter().filter(|(_, version)| !version.is_empty());
        let has = has.map(|(name, _)| name);
        let waits = self
            .names
            .iter()
            .filter(|name| !self.got.contains_key(*name));
        let all: BTreeSet<&String> = has.chain(waits).collect();
        let gone = all.into_iter().filter(|name| !there.contains_key(*name));
        gone.cloned().collect()
    }
}

impl Session {
    /// Takes in a request. Returns what Envoy says with it.
    pub fn receive(&mut self, request: &DeltaDiscoveryRequest) -> Option<EnvoyReport> {
        let kind = ResourceKind::of(&request.type_url)?;
        let subscription = self.subscription(kind);
        let begins = !subscription.is_open;
        subscription.ask(request);
        if begins {
            let has = subscription.got.clone().into_iter().collect();
            return Some(EnvoyReport::Has(kind, has));
        }
        let sent = self.sent.remove(&request.response_nonce)?;
        let Some(rejected) = &request.error_detail else {
            let subscription = self.subscription(kind);
            for (name, _) in &sent.resources {
                subscription.alone.remove(name);
            }
            return Some(match sent.removed.is_empty() {
                true => EnvoyReport::Has(kind, sent.resources),
                false => EnvoyReport::Removed(kind, sent.removed),
            });
        };
        if let [(name, version)] = sent.resources.as_slice() {
            let why = rejected.message.clone();
            return Some(EnvoyReport::Rejects(
                (kind, name.clone()),
                version.clone(),
                why,
            ));
        }
        let subscription = self.subscription(sent.kind);
        for (name, version) in sent.resources {
            // What was sent since then is another version.
            if subscription.got.get(&name) == Some(&version) {
                subscription.got.remove(&name);
            }
            subscription.alone.insert(name);
        }
        None
    }

    /// The messages that are due.
    pub fn due(&mut self, snapshot: &Snapshot) -> Vec<DeltaDiscoveryResponse> {
        let mut messages = Vec::new();
        for kind in [ResourceKind::Secret, ResourceKind::Cluster] {
            let there = snapshot.of(kind);
            let subscription = self.subscription(kind);
            let changed = subscription.changed(there).cloned();
            let (alone, together): (Vec<String>, Vec<String>) = changed.partition(|name| {
                let is_alone = there.get(name).is_some_and(|resource| resource.is_alone);
                is_alone || subscription.alone.contains(name)
            });
            let is_first = subscription.all && !subscription.is_answered;
            if is_first || !together.is_empty() {
                subscription.is_answered = true;
                messages.push(self.message(kind, there, &together));
            }
            for name in alone {
                messages.push(self.message(kind, there, &[name]));
            }
        }
        for kind in [ResourceKind::Cluster, ResourceKind::Secret] {
            let subscription = self.subscription(kind);
            let gone = subscription.gone(snapshot.of(kind));
            if gone.is_empty() {
                continue;
            }
            for name in &gone {
                match subscription.wants(name) && !subscription.all {
                    true => subscription.got.insert(name.clone(), String::new()),
                    false => subscription.got.remove(name),
                };
            }
            let sent = SentMessage {
                kind,
                resources: Vec::new(),
                removed: gone.clone(),
            };
            let nonce = self.nonce(sent);
            messages.push(DeltaDiscoveryResponse {
                type_url: kind.type_url().to_owned(),
                nonce,
                removed_resources: gone,
                ..DeltaDiscoveryResponse::default()
            });
        }
        messages
    }

    /// A message with resources.
    fn message(
        &mut self,
        kind: ResourceKind,
        there: &NamedResources,
        names: &[String],
    ) -> DeltaDiscoveryResponse {
        let found = names
            .iter()
            .filter_map(|name| Some((name, there.get(name)?)));
        let resources: Vec<_> = found
            .clone()
            .map(|(name, resource)| (name.clone(), resource.version.clone()))
            .collect();
        self.subscription(kind).got.extend(resources.clone());
        let nonce = self.nonce(SentMessage {
            kind,
            resources,
            removed: Vec::new(),
        });
        DeltaDiscoveryResponse {
            resources: found
                .map(|(name, resource)| resource.discovered(kind, name))
                .collect(),
            type_url: kind.type_url().to_owned(),
            nonce,
            removed_resources: Vec::new(),
        }
    }

    fn nonce(&mut self, message: SentMessage) -> String {
        self.number = self.number.saturating_add(1);
        let nonce = self.number.to_string();
        self.sent.insert(nonce.clone(), message);
        nonce
    }

    fn subscription(&mut self, kind: ResourceKind) -> &mut Subscription {
        match kind {
            ResourceKind::Cluster => &mut self.clusters,
            ResourceKind::Secret => &mut self.secrets,
        }
    }
}

#[cfg(test)]
mod tests;
