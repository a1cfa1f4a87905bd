//! The data directory of a gateway: where `trilane init` writes and what `trilane up` runs.
//!
//! | path | what |
//! |---|---|
//! | `gateway.json` | the configuration document |
//! | `prices.json` | the operator's own price catalogue |
//! | `credentials/` | the vendors' credentials, a file each: mode 0700, files 0400 |
//! | `ledger/ledger.jsonl` | the ledger: one line of JSON a request |
//! | `certs/` | the certificate of the TLS listener |
//! | `console/` | the console's database, with `trilane up --console` |
//! | `sealing.keys` | the keys with which that console seals credentials of accounts and secrets of webhooks |
//! | `admin.token` | the token of that console's first admin |
//! | `agent/` | what the agent has from a console: document, keys, credential |
//! | `envoy/` | an Envoy that `trilane envoy install` unpacked |
//! | `run/` | what a running gateway writes, and writes again at the next start: Envoy's configuration, the published document, clusters and secrets, logs, the lock |
//! | `trilane.toml` | the options of `trilane up`, if there are any |
#![allow(
    dead_code,
    reason = "the layout is one place, whoever uses which part of it"
)]

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use trilane_console::prices::{CATALOGUE_NAME, CatalogueFile};

use crate::agent::AgentPlace;
use crate::base_directory::BaseDirectory;
use crate::failure::Failure;
use crate::files;

/// The name of this directory where the data of all programs is.
const NAME: &str = "trilane";
/// The name of that of a demonstration: what is tried out stays apart from what is used.
const DEMO_NAME: &str = "trilane-demo";

/// The name of the file with the keys that seal credentials.
pub const SEALING_KEYS: &str = "sealing.keys";

/// The variable that names the directory.
pub const VARIABLE: &str = "TRILANE_DATA";

/// The option `--data`.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct DataArg {
    /// The data directory: document, credentials, ledger [default: trilane/ in $XDG_DATA_HOME, or in ~/.local/share]
    #[arg(long, value_name = "DIR", env = VARIABLE)]
    pub data: Option<PathBuf>,
}

impl DataArg {
    /// The directory that is meant. It need not exist.
    ///
    /// # Errors
    /// None is named, and this user has no home.
    pub fn directory(&self) -> Result<DataDirectory, Failure> {
        self.directory_called(NAME)
    }

    /// The directory that is meant for a demonstration.
    ///
    /// # Errors
    /// As [`directory`](Self::directory).
    pub fn demo_directory(&self) -> Result<DataDirectory, Failure> {
        self.directory_called(DEMO_NAME)
    }

    fn directory_called(&self, default: &str) -> Result<DataDirectory, Failure> {
        let named = self.data.clone();
        let default = || Some(BaseDirectory::Data.path()?.join(default));
        named
            .or_else(default)
            .map(DataDirectory::new)
            .ok_or_else(|| {
                Failure::Usage(
                "no data directory: neither XDG_DATA_HOME nor HOME is set. Name one with --data DIR"
                    .to_owned(),
            )
            })
    }
}

/// A data directory: the paths in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDirectory(PathBuf);

impl DataDirectory {
    /// The one at this path, which need not exist.
    pub const fn new(root: PathBuf) -> Self {
        Self(root)
    }

    /// Itself.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// The configuration document.
    pub fn document(&self) -> PathBuf {
        self.0.join("gateway.json")
    }

    /// The operator's own price catalogue.
    pub fn prices(&self) -> CatalogueFile {
        CatalogueFile::new(self.0.join(CATALOGUE_NAME))
    }

    /// The directory of the vendors' credentials.
    pub fn credentials(&self) -> PathBuf {
        self.0.join("credentials")
    }

    /// The ledger's file. Rotated ones are beside it.
    pub fn ledger(&self) -> PathBuf {
        self.0.join("ledger").join("ledger.jsonl")
    }

    /// The certificate of the TLS listener: `server.crt` and `server.key`, and perhaps the `ca.crt` that clients trust.
    pub fn certs(&self) -> PathBuf {
        self.0.join("certs")
    }

    /// The directory of the installed Envoy.
    pub fn envoy(&self) -> PathBuf {
        self.0.join("envoy")
    }

    /// The console's database.
    pub fn console(&self) -> PathBuf {
        self.0.join("console")
    }

    /// The keys with which the console seals credentials of accounts and secrets of webhooks.
    pub fn sealing_keys(&self) -> PathBuf {
        self.0.join(SEALING_KEYS)
    }

    /// The token of the console's first admin.
    pub fn admin_token(&self) -> PathBuf {
        self.0.join("admin.token")
    }

    /// The directory of the agent, with the state that it has from a console.
    pub fn agent(&self) -> AgentPlace {
        AgentPlace::new(self.0.join("agent"))
    }

    /// The directory of the files that a running gateway writes for itself.
    pub fn run(&self) -> PathBuf {
        self.0.join("run")
    }

    /// The options of `trilane up`.
    pub fn options(&self) -> PathBuf {
        self.0.join("trilane.toml")
    }

    /// Checks that there is no other file in its place.
    ///
    /// # Errors
    /// Another file is in its place.
    pub fn check(&self) -> Result<(), Failure> {
        if self.0.exists() && !self.0.is_dir() {
            let name = self.0.display();
            let text = format!("{name} is no directory. Choose another with --data DIR");
            return Err(Failure::Data(text));
        }
        Ok(())
    }

    /// Makes the directory and those in it, where they are missing. What is there stays as it is.
    ///
    /// # Errors
    /// The directory that cannot be made, and the reason.
    pub fn create(&self) -> Result<(), Failure> {
        create_private(&self.0)?;
        create_private(&self.credentials())?;
        create_private(&self.certs())?;
        create_private(&self.run())?;
        match self.ledger().parent() {
            Some(ledger) => create_private(ledger),
            None => Ok(()),
        }
    }

    /// Makes the directory of the console's database, where it is missing.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create_console(&self) -> Result<(), Failure> {
        create_private(&self.console())
    }

    /// Writes a credential as a file that only its owner may read, in place of one with that name. Returns its path.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn write_credential(&self, name: &str, credential: &str) -> io::Result<PathBuf> {
        let directory = self.credentials();
        files::replace_as(0o400, &directory, name, credential)?;
        Ok(directory.join(name))
    }
}

/// Makes a directory that only its owner may enter, with those above it.
fn create_private(directory: &Path) -> Result<(), Failure> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(directory);
    made.map_err(|error| {
        let what = format!("make the directory {}", directory.display());
        Failure::at_place(&what, &error, "--data DIR")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_made_is_private() {
        let place = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(place.path().join("a/b"));
        data.create().unwrap();
        data.create().unwrap();
        for made in [
            data.root().to_owned(),
            data.credentials(),
            data.certs(),
            data.run(),
            data.root().join("ledger"),
        ] {
            let mode = fs::metadata(&made).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", made.display());
        }
        let old = data.write_credential("a-1", "old").unwrap();
        let new = data.write_credential("a-1", "new").unwrap();
        assert_eq!(old, new);
        assert_eq!(fs::read_to_string(&new).unwrap(), "new");
        let mode = fs::metadata(&new).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o400);
        let all = fs::read_dir(data.credentials()).unwrap().count();
        assert_eq!(all, 1, "nothing is left behind");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_told() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let failure = DataDirectory::new(file.join("data")).create().unwrap_err();
        let Failure::Data(text) = failure else {
            panic!("{failure:?}");
        };
        assert!(text.contains("file/data"), "{text}");
        assert!(text.contains("--data DIR"), "{text}");
    }
}
