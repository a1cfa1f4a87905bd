//! The clusters as a resource of a control plane that hands Envoy its configuration.

use serde_json::{Value, json};

use super::envoy;

/// A control plane that takes clusters as patches of what it generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ControlPlane {
    /// An EnvoyFilter
    Istio,
    /// An EnvoyPatchPolicy
    EnvoyGateway,
}

impl ControlPlane {
    /// The name of the file with the resource.
    pub fn file(self) -> &'static str {
        match self {
            Self::Istio => "envoyfilter.json",
            Self::EnvoyGateway => "envoypatchpolicy.json",
        }
    }

    /// Describes the additions that its gateways need for groups with several accounts, besides the clusters.
    pub fn several_accounts(self) -> String {
        let directory = match self {
            Self::Istio => "istio",
            Self::EnvoyGateway => "envoy-gateway",
        };
        format!(
            "a group has several accounts: a request whose first account fails gets 502 until the gateway has \
             envoy/{directory}/failover.yaml too, and the filter as a file"
        )
    }

    /// The resource for the clusters of a file of clusters, with one patch for each. Its name is always the same, so that
    /// applying it again removes the clusters that it no longer has.
    pub fn resource(self, file: &Value) -> Value {
        let clusters = envoy::resources(file).iter().map(without_type);
        match self {
            Self::Istio => envoy_filter(clusters),
            Self::EnvoyGateway => patch_policy(clusters),
        }
    }
}

fn envoy_filter(clusters: impl Iterator<Item = Value>) -> Value {
    let patch = |cluster: Value| {
        json!({
            "applyTo": "CLUSTER",
            "match": {"context": "GATEWAY"},
            "patch": {"operation": "ADD", "value": cluster},
        })
    };
    json!({
        "apiVersion": "networking.istio.io/v1alpha3",
        "kind": "EnvoyFilter",
        "metadata": metadata(),
        "spec": {
            "workloadSelector": {"labels": {"istio": "trilane"}},
            "configPatches": clusters.map(patch).collect::<Vec<_>>(),
        },
    })
}

fn patch_policy(clusters: impl Iterator<Item = Value>) -> Value {
    let patch = |cluster: Value| {
        json!({
            "type": envoy::type_url(envoy::CLUSTER),
            "name": cluster.get("name"),
            "operation": {"op": "add", "path": "", "value": cluster},
        })
    };
    json!({
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyPatchPolicy",
        "metadata": metadata(),
        "spec": {
            "targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "trilane"},
            "type": "JSONPatch",
            "jsonPatches": clusters.map(patch).collect::<Vec<_>>(),
        },
    })
}

fn metadata() -> Value {
    json!({"name": "trilane-accounts", "namespace": "trilane"})
}

/// Both control planes know the type of a cluster by where it stands.
fn without_type(cluster: &Value) -> Value {
    let mut cluster = cluster.clone();
    if let Some(fields) = cluster.as_object_mut() {
        fields.remove("@type");
    }
    cluster
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_patch_for_each_cluster() {
        let clusters = vec![json!({"name": "a", "type": "STATIC"}), json!({"name": "b"})];
        let file = envoy::response(envoy::CLUSTER, clusters);
        for (plane, patches, cluster) in [
            (ControlPlane::Istio, "/spec/configPatches", "/patch/value"),
            (
                ControlPlane::EnvoyGateway,
                "/spec/jsonPatches",
                "/operation/value",
            ),
        ] {
            let resource = plane.resource(&file);
            assert_eq!(
                resource["metadata"]["name"], "trilane-accounts",
                "{plane:?}"
            );
            let patches = resource.pointer(patches).and_then(Value::as_array).unwrap();
            let clusters: Vec<_> = patches
                .iter()
                .map(|patch| patch.pointer(cluster).unwrap())
                .collect();
            assert_eq!(
                clusters,
                [
                    &json!({"name": "a", "type": "STATIC"}),
                    &json!({"name": "b"})
                ],
                "{plane:?}"
            );
        }
    }

    #[test]
    fn without_clusters_there_are_no_patches() {
        for file in [json!({}), envoy::response(envoy::CLUSTER, Vec::new())] {
            assert_eq!(
                ControlPlane::Istio.resource(&file)["spec"]["configPatches"],
                json!([])
            );
            assert_eq!(
                ControlPlane::EnvoyGateway.resource(&file)["spec"]["jsonPatches"],
                json!([])
            );
        }
    }
}
