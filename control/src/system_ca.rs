//! The file of the system's certificate authorities, which Envoy and this command trust.

use std::path::{Path, PathBuf};

/// The variable that names the file.
const VARIABLE: &str = "TRILANE_SYSTEM_CA";
/// The places of the file: Debian, Alpine and Arch; Fedora and Red Hat; openSUSE.
const PLACES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
];

/// The option `--system-ca`.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct SystemCaArg {
    /// The system's certificate authorities, which Envoy trusts too [default: where the distribution has them]
    #[arg(long, value_name = "FILE", env = VARIABLE)]
    pub system_ca: Option<PathBuf>,
}

impl SystemCaArg {
    /// The file, which need not exist.
    pub fn file(&self) -> PathBuf {
        named_or_found(self.system_ca.clone())
    }
}

/// The file that is named, or else that of the distribution.
pub fn named_or_found(named: Option<PathBuf>) -> PathBuf {
    let [debian, ..] = PLACES;
    named.unwrap_or_else(|| {
        let mut places = PLACES.iter().map(Path::new);
        let found = places.find(|place| place.is_file());
        found.unwrap_or(Path::new(debian)).to_owned()
    })
}
