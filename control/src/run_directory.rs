//! The files that a running gateway writes into its data directory, and writes again at the next start.

use std::path::{Path, PathBuf};

use crate::carried_filter::judge_beside;
use crate::data_directory::DataDirectory;
use crate::envoy_admin::AdminPlace;

/// The directory `run/` of a data directory: the paths in it.
#[derive(Debug, Clone)]
pub struct RunDirectory(PathBuf);

impl RunDirectory {
    /// Returns the run directory of a data directory.
    pub fn of(data: &DataDirectory) -> Self {
        Self(data.run())
    }

    /// Finds the data directory of the gateway that runs on this configuration of Envoy, if such a gateway writes it there.
    pub fn data_of(envoy_yaml: &Path) -> Option<DataDirectory> {
        let data = DataDirectory::new(envoy_yaml.parent()?.parent()?.to_owned());
        (Self::of(&data).envoy_yaml() == envoy_yaml).then_some(data)
    }

    /// Envoy's configuration.
    pub fn envoy_yaml(&self) -> PathBuf {
        self.0.join("envoy.yaml")
    }

    /// The filter that Envoy loads.
    pub fn filter(&self) -> PathBuf {
        self.0.join("filter").join("trilane.wasm")
    }

    /// The judge that Envoy loads for accounts.
    pub fn judge(&self) -> PathBuf {
        judge_beside(&self.filter())
    }

    /// The document that is in force, alone in its directory, which Envoy watches.
    pub fn document(&self) -> PathBuf {
        self.0.join("document").join("gateway.json")
    }

    /// The socket on which Envoy gets clusters and secrets, in a directory of its own.
    pub fn ads_socket(&self) -> PathBuf {
        self.0.join("ads").join("ads.sock")
    }

    /// Clusters and secrets, where `trilane render` writes them for an Envoy that is run by hand.
    pub fn upstreams(&self) -> PathBuf {
        self.0.join("upstreams")
    }

    /// The spend of budgets by the ledger, where there is no console.
    pub fn spend(&self) -> PathBuf {
        self.0.join("spend.db")
    }

    /// The lock: whoever has it runs the gateway.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// The file of Envoy's output.
    pub fn envoy_log(&self) -> PathBuf {
        self.0.join("envoy.log")
    }

    /// The file to which Envoy writes the address of its admin interface.
    pub fn admin_address(&self) -> PathBuf {
        self.0.join("admin-address")
    }

    /// The admin interface of the Envoy that runs.
    pub fn admin(&self) -> AdminPlace {
        AdminPlace::ToldIn(self.admin_address())
    }

    /// The file with the address of the console that has document and keys, as people reach it.
    pub fn console_address(&self) -> PathBuf {
        self.0.join("console-address")
    }

    /// The file with the source of the document that was put in force here last.
    pub fn published_from(&self) -> PathBuf {
        self.0.join("published-from")
    }
}
