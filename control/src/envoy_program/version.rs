//! Envoy's version, and whether this release is tested with it.

use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The versions that this release is tested with, the one to install first.
pub const TESTED: [EnvoyVersion; 1] = [EnvoyVersion([1, 40, 0])];
/// The longest time for a program to report its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// A version of Envoy: major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvoyVersion([u32; 3]);

/// Whether a version can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionSupport {
    /// It is tested.
    Tested,
    /// Another patch of a tested one.
    Untested,
    /// Another minor or major version: it may read the configuration in another way.
    Unfit,
}

impl EnvoyVersion {
    /// Asks a program for its version.
    ///
    /// # Errors
    /// It does not run, does not end, or is not Envoy.
    pub fn of(program: &Path) -> Result<Self, String> {
        let said = say_version(program).map_err(|error| format!("does not run here: {error}"))?;
        Self::parse(&said).ok_or_else(|| "does not tell a version as Envoy does".to_owned())
    }

    /// Reads the version from the output of `envoy --version`: `FILE  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL`.
    fn parse(said: &str) -> Option<Self> {
        let (_, told) = said.split_once("version:")?;
        let [_, version, _, _, _] = told.split('/').collect::<Vec<_>>().try_into().ok()?;
        let mut numbers = version.split('-').next()?.split('.');
        let mut next = || numbers.next()?.parse().ok();
        Some(Self([next()?, next()?, next()?]))
    }

    /// Whether it can be run.
    pub fn fitness(self) -> VersionSupport {
        let Self([major, minor, _]) = self;
        let is_near = |tested: &Self| matches!(tested.0, [m, n, _] if (m, n) == (major, minor));
        if TESTED.contains(&self) {
            VersionSupport::Tested
        } else if TESTED.iter().any(is_near) {
            VersionSupport::Untested
        } else {
            VersionSupport::Unfit
        }
    }
}

impl fmt::Display for EnvoyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The tested versions, for messages.
pub fn tested() -> String {
    TESTED.map(|version| version.to_string()).join(", ")
}

fn say_version(program: &Path) -> io::Result<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let begun = Instant::now();
    // A version fits into the pipe, so the program can end before it is read.
    while child.try_wait()?.is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("it does not end"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut said = String::new();
    if let Some(out) = child.stdout.as_mut() {
        out.take(4096).read_to_string(&mut said)?;
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (said, want) in [
            (
                "\n/opt/envoy  version: 4dd49e18/1.40.0/Clean/RELEASE/BoringSSL\n",
                Some([1, 40, 0]),
            ),
            (
                "envoy  version: 4dd49e18/1.41.0-dev/Modified/DEBUG/BoringSSL",
                Some([1, 41, 0]),
            ),
            ("envoy  version: 4dd49e18/1.40/Clean", None),
            ("nginx version: nginx/1.22.1", None),
            ("", None),
        ] {
            assert_eq!(EnvoyVersion::parse(said), want.map(EnvoyVersion), "{said}");
        }
    }

    #[test]
    fn fitness() {
        for (version, want) in [
            ([1, 40, 0], VersionSupport::Tested),
            ([1, 40, 3], VersionSupport::Untested),
            ([1, 39, 0], VersionSupport::Unfit),
            ([1, 41, 0], VersionSupport::Unfit),
            ([2, 40, 0], VersionSupport::Unfit),
        ] {
            assert_eq!(EnvoyVersion(version).fitness(), want, "{version:?}");
        }
    }
}
