//! The messages of the incremental discovery service (`envoy.service.discovery.v3`). Members that are not read here are left out.

use std::collections::HashMap;

use prost_types::Any;

/// A request of Envoy's: what it wants to have, and what it says of what it has got.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeltaDiscoveryRequest {
    /// The type of the resources.
    #[prost(string, tag = "2")]
    pub type_url: String,
    /// The names that it wants to have from now on.
    #[prost(string, repeated, tag = "3")]
    pub resource_names_subscribe: Vec<String>,
    /// The names that it does not want to have any longer.
    #[prost(string, repeated, tag = "4")]
    pub resource_names_unsubscribe: Vec<String>,
    /// The resources that it has at the beginning of a stream: versions by name.
    #[prost(map = "string, string", tag = "5")]
    pub initial_resource_versions: HashMap<String, String>,
    /// The response that it acknowledges or rejects.
    #[prost(string, tag = "6")]
    pub response_nonce: String,
    /// The reason that it rejects that response.
    #[prost(message, optional, tag = "7")]
    pub error_detail: Option<Status>,
}

impl DeltaDiscoveryRequest {
    /// Whether it only says that a response is taken.
    pub fn is_acknowledgement(&self) -> bool {
        !self.response_nonce.is_empty()
            && self.error_detail.is_none()
            && self.resource_names_subscribe.is_empty()
            && self.resource_names_unsubscribe.is_empty()
    }
}

/// A reason (`google.rpc.Status`).
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Status {
    /// The reason, as text.
    #[prost(string, tag = "2")]
    pub message: String,
}

/// A response: resources that are new or have changed, and names that are gone.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeltaDiscoveryResponse {
    /// The resources.
    #[prost(message, repeated, tag = "2")]
    pub resources: Vec<DiscoveredResource>,
    /// Their type.
    #[prost(string, tag = "4")]
    pub type_url: String,
    /// The number of the response.
    #[prost(string, tag = "5")]
    pub nonce: String,
    /// The names of resources that are not there.
    #[prost(string, repeated, tag = "6")]
    pub removed_resources: Vec<String>,
}

/// A resource with its name and version (`Resource`).
#[derive(Clone, PartialEq, prost::Message)]
pub struct DiscoveredResource {
    /// The version.
    #[prost(string, tag = "1")]
    pub version: String,
    /// The resource itself.
    #[prost(message, optional, tag = "2")]
    pub resource: Option<Any>,
    /// The name.
    #[prost(string, tag = "3")]
    pub name: String,
}
