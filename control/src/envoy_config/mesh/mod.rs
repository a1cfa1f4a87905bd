//! The parts of the configuration that a control plane needs, as resources for `kubectl apply`.
//!
//! A control plane generates Envoy's configuration itself. The [`parts`] of the original that it lacks are wrapped in the form
//! that it reads: by [`istio`] as patches of an `EnvoyFilter`, by [`envoy_gateway`] as those of an `EnvoyPatchPolicy`. Each
//! patch has a remark that says what it is for, which [`manifest`] writes above it.

mod envoy_gateway;
mod istio;
mod manifest;
mod parts;

use std::path::PathBuf;

use clap::ValueEnum;
use yaml_serde::Value;

use self::parts::MeshParts;
use super::change;
use crate::render::ControlPlane;

/// A control plane, and what the names in its resources are.
#[derive(Debug, Clone)]
pub struct MeshSettings {
    /// The control plane that reads the resource.
    pub control_plane: ControlPlane,
    /// The resource to write, of those for the control plane.
    pub part: MeshPart,
    /// The image of the filter, without a scheme.
    pub image: String,
    /// The filter as a file of the pods, if it is elsewhere than in the original.
    pub filter: Option<PathBuf>,
}

/// One of a control plane's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MeshPart {
    /// All that every gateway needs
    Gateway,
    /// The additions for groups with several accounts: the filter must be a file of the pods
    Failover,
    /// The settings that only the bootstrap can have
    Bootstrap,
}

/// The resource as YAML, taken from this configuration.
///
/// # Errors
/// The place that the configuration does not have, or a path that is no text.
pub fn text(mut config: Value, settings: &MeshSettings) -> Result<String, String> {
    if let Some(file) = &settings.filter {
        change::filter(&mut config, file)?;
    }
    let parts = MeshParts::of(config)?;
    match (settings.control_plane, settings.part) {
        (ControlPlane::Istio, MeshPart::Gateway) => istio::gateway(&parts, &settings.image),
        (ControlPlane::Istio, MeshPart::Failover) => istio::failover(&parts),
        (ControlPlane::Istio, MeshPart::Bootstrap) => istio::bootstrap(&parts),
        (ControlPlane::EnvoyGateway, MeshPart::Gateway) => envoy_gateway::gateway(&parts),
        (ControlPlane::EnvoyGateway, MeshPart::Failover) => envoy_gateway::failover(&parts),
        (ControlPlane::EnvoyGateway, MeshPart::Bootstrap) => envoy_gateway::bootstrap(&parts),
    }
}
