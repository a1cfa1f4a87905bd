//! What a running gateway writes into its data directory, and writes again at the next start.

use std::path::{Path, PathBuf};

use crate::data_directory::DataDirectory;

/// The directory `run/` of a data directory: the paths in it.
#[derive(Debug, Clone)]
pub struct RunDirectory(PathBuf);

impl RunDirectory {
    /// That of a data directory.
    pub fn of(data: &DataDirectory) -> Self {
        Self(data.run())
    }

    /// Itself.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// Envoy's configuration.
    pub fn envoy_yaml(&self) -> PathBuf {
        self.0.join("envoy.yaml")
    }

    /// The filter that Envoy loads.
    pub fn filter(&self) -> PathBuf {
        self.0.join("filter").join("trilane.wasm")
    }

    /// The document that is in force, alone in its directory, which Envoy watches.
    pub fn document(&self) -> PathBuf {
        self.0.join("document").join("gateway.json")
    }

    /// Clusters and secrets, as `trilane render` writes them.
    pub fn upstreams(&self) -> PathBuf {
        self.0.join("upstreams")
    }
}
