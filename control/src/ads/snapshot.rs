//! The clusters and secrets that an Envoy is to have.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use prost::Message as _;
use prost_types::Any;
use serde_json::Value;

use super::cluster;
use super::discovery::DiscoveredResource;
use super::secret::SecretValue;
use super::version::VersionKey;

/// The kinds of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// Clusters.
    Cluster,
    /// Secrets.
    Secret,
}

impl ResourceKind {
    /// The URL of the type.
    pub const fn type_url(self) -> &'static str {
        match self {
            Self::Cluster => "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            Self::Secret => "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
        }
    }

    /// The kind with this type.
    pub fn of(type_url: &str) -> Option<Self> {
        let both = [Self::Cluster, Self::Secret];
        both.into_iter().find(|kind| kind.type_url() == type_url)
    }
}

/// The needs of a document's accounts.
#[derive(Debug, Default)]
pub struct Resources {
    /// The clusters, as JSON.
    pub clusters: Vec<Value>,
    /// The secrets by name. Of one without a value the present one stays.
    pub secrets: BTreeMap<String, Option<SecretValue>>,
}

/// The names of resources.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ResourceNames {
    clusters: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

impl Resources {
    /// Their names.
    pub fn names(&self) -> ResourceNames {
        let clusters = self
            .clusters
            .iter()
            .filter_map(|cluster| cluster.get("name")?.as_str());
        ResourceNames {
            clusters: clusters.map(str::to_owned).collect(),
            secrets: self.secrets.keys().cloned().collect(),
        }
    }
}

/// A resource that can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedResource {
    /// Its version.
    pub version: String,
    /// Whether it goes in a message of its own.
    pub is_alone: bool,
    /// The encoded message.
    content: Bytes,
}

impl VersionedResource {
    fn new(key: &VersionKey, content: Vec<u8>, is_alone: bool) -> Self {
        Self {
            is_alone,
            version: key.version(&content),
            content: content.into(),
        }
    }

    /// The resource as it is sent.
    pub fn discovered(&self, kind: ResourceKind, name: &str) -> DiscoveredResource {
        DiscoveredResource {
            version: self.version.clone(),
            resource: Some(Any {
                type_url: kind.type_url().to_owned(),
                value: self.content.to_vec(),
            }),
            name: name.to_owned(),
        }
    }
}

/// Resources of one kind by name.
pub type NamedResources = BTreeMap<String, VersionedResource>;

/// The clusters and secrets that Envoy is to have.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    clusters: NamedResources,
    secrets: NamedResources,
}

/// The differences of a snapshot from the one before.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SnapshotChanges {
    /// The clusters that are new or others.
    pub clusters: usize,
    /// The secrets that are new or others.
    pub secrets: usize,
    /// The names of clusters that stay for now.
    pub kept: Vec<String>,
}

impl Snapshot {
    /// The resources of a kind.
    pub const fn of(&self, kind: ResourceKind) -> &NamedResources {
        match kind {
            ResourceKind::Cluster => &self.clusters,
            ResourceKind::Secret => &self.secrets,
        }
    }

    /// The snapshot after this one: these resources, and what is here beside them.
    ///
    /// # Errors
    /// A cluster that is none.
    pub fn next(
        &self,
        resources: Resources,
        key: &VersionKey,
    ) -> Result<(Self, SnapshotChanges), String> {
        let mut next = Self::default();
        for cluster in &resources.clusters {
            let cluster = cluster::parse(cluster)?;
            let versioned = VersionedResource::new(key, cluster.encode_to_vec(), false);
            next.clusters.insert(cluster.name, versioned);
        }
        for (name, value) in resources.secrets {
            let versioned = match (value, self.secrets.get(&name)) {
                (Some(value), _) => {
                    // Envoy rejects bad ones once: when they come again it says nothing.
                    let is_alone = matches!(value, SecretValue::Authorities(_));
                    VersionedResource::new(key, value.message(&name).encode_to_vec(), is_alone)
                }
                (None, Some(present)) => present.clone(),
                (None, None) => continue,
            };
            next.secrets.insert(name, versioned);
        }
        let stays = self
            .clusters
            .keys()
            .filter(|name| !next.clusters.contains_key(*name));
        let changes = SnapshotChanges {
            kept: stays.cloned().collect(),
            clusters: changed(&self.clusters, &next.clusters),
            secrets: changed(&self.secrets, &next.secrets),
        };
        for (now, before) in [
            (&mut next.clusters, &self.clusters),
            (&mut next.secrets, &self.secrets),
        ] {
            for (name, resource) in before {
                now.entry(name.clone()).or_insert_with(|| resource.clone());
            }
        }
        Ok((next, changes))
    }

    /// Only those of its resources that have these names.
    pub fn only(&self, names: &ResourceNames) -> Self {
        let only = |of: &NamedResources, names: &BTreeSet<String>| {
            let stay = of.iter().filter(|(name, _)| names.contains(*name));
            stay.map(|(name, resource)| (name.clone(), resource.clone()))
                .collect()
        };
        Self {
            clusters: only(&self.clusters, &names.clusters),
            secrets: only(&self.secrets, &names.secrets),
        }
    }
}

/// The number of resources that are not the same as before.
fn changed(before: &NamedResources, now: &NamedResources) -> usize {
    let differs =
        |(name, resource): &(&String, &VersionedResource)| before.get(*name) != Some(resource);
    now.iter().filter(differs).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::version::VersionKey;
    use super::*;

    #[test]
    fn what_changes_and_what_stays() {
        let place = tempfile::tempdir().unwrap();
        let key = VersionKey::open(&place.path().join("key")).unwrap();
        let resources = |clusters: &[&str], secrets: &[(&str, Option<&str>)]| Resources {
            clusters: clusters.iter().map(|name| json!({"name": name})).collect(),
            secrets: secrets
                .iter()
                .map(|(name, value)| {
                    let value =
                        value.map(|value| SecretValue::Credential(value.as_bytes().to_owned()));
                    ((*name).to_owned(), value)
                })
                .collect(),
        };
        let mut snapshot = Snapshot::default();
        for (case, clusters, secrets, changed, kept) in [
            (
                "the first",
                &["a", "b"][..],
                &[("x", Some("1")), ("y", None)][..],
                (2, 1),
                &[][..],
            ),
            ("the same", &["a", "b"], &[("x", Some("1"))], (0, 0), &[]),
            (
                "a value that is not known",
                &["a", "b"],
                &[("x", None)],
                (0, 0),
                &[],
            ),
            (
                "another value, a cluster less",
                &["b"],
                &[("x", Some("2"))],
                (0, 1),
                &["a"],
            ),
            ("none", &["b"], &[("x", Some(""))], (0, 1), &["a"]),
        ] {
            let resources = resources(clusters, secrets);
            let (next, changes) = snapshot.next(resources, &key).unwrap();
            assert_eq!((changes.clusters, changes.secrets), changed, "{case}");
            assert_eq!(changes.kept, kept, "{case}");
            snapshot = next;
        }
        assert!(
            !snapshot.of(ResourceKind::Secret).contains_key("y"),
            "it was never known"
        );
        let names = resources(&["b"], &[]).names();
        let rest = snapshot.only(&names);
        assert_eq!(
            rest.of(ResourceKind::Cluster).keys().collect::<Vec<_>>(),
            ["b"]
        );
        assert!(rest.of(ResourceKind::Secret).is_empty());
        let bad = Resources {
            clusters: vec![json!({"name": "a", "unknown": 1})],
            ..Resources::default()
        };
        assert!(snapshot.next(bad, &key).is_err());
    }
}
