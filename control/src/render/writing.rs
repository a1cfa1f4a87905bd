//! Writes what differs, in an order in which Envoy finds everything that a file names.

use std::fs;
use std::io;
use std::path::Path;

use super::kept::KeptClusters;
use super::label;
use super::paths::Paths;
use super::rendered_files::{RenderedFiles, text};
use super::report::RenderReport;
use super::secret;
use crate::files;

/// The name of the file of clusters.
const CLUSTERS: &str = "clusters.json";

/// Writes, or with `check` only reports what would be written. A secret is written before the cluster that needs it, and
/// removed after the cluster. With `keep` nothing is removed. The report has what was done, also before a failure.
///
/// # Errors
/// A file that cannot be read or written.
pub fn run(
    rendering: &RenderedFiles,
    paths: &Paths,
    keep: bool,
    report: &mut RenderReport,
) -> Result<(), String> {
    let Some(out) = &paths.out else {
        return Ok(());
    };
    let (secrets, clusters) = (paths.secrets(), paths.clusters());
    for directory in [&secrets, &clusters] {
        if !report.check {
            fs::create_dir_all(directory).map_err(|error| failed("make", directory, &error))?;
        }
    }
    for (name, content) in &rendering.secrets {
        put(&secrets, name, content, report)?;
    }
    let kept = if keep {
        KeptClusters::of(&present(paths)?, &rendering.clusters)
    } else {
        KeptClusters::default()
    };
    report.kept = kept.names();
    let all = kept.behind(&rendering.clusters);
    put(&clusters, CLUSTERS, &text(&all), report)?;
    if let Some(control_plane) = paths.control_plane {
        let resource = control_plane.resource(&all);
        put(out, control_plane.file(), &text(&resource), report)?;
    }
    if keep {
        return Ok(());
    }
    for name in stale_secrets(paths, rendering)? {
        let file = secrets.join(name);
        if !report.check {
            fs::remove_file(&file).map_err(|error| failed("remove", &file, &error))?;
        }
        report.removed.push(file);
    }
    Ok(())
}

fn put(
    directory: &Path,
    name: &str,
    content: &str,
    report: &mut RenderReport,
) -> Result<(), String> {
    let file = directory.join(name);
    if !files::differs(&file, content).map_err(|error| failed("read", &file, &error))? {
        report.unchanged.push(file);
        return Ok(());
    }
    if !report.check {
        files::replace(directory, name, content).map_err(|error| failed("write", &file, &error))?;
    }
    report.written.push(file);
    Ok(())
}

/// The present content of the file of clusters; nothing if it is missing.
///
/// # Errors
/// A file that cannot be read.
pub fn present(paths: &Paths) -> Result<Vec<u8>, String> {
    let file = paths.clusters().join(CLUSTERS);
    match fs::read(&file) {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed("read", &file, &error)),
    }
}

/// The number of secrets that Envoy still has when new ones are added.
///
/// # Errors
/// A directory that cannot be read.
pub fn outgoing_secrets(paths: &Paths, rendering: &RenderedFiles) -> Result<usize, String> {
    let stale = stale_secrets(paths, rendering)?;
    let is_new = |name: &String| !paths.secrets().join(name).exists();
    let adds = rendering.secrets.keys().any(is_new);
    Ok(if adds { stale.len() } else { 0 })
}

/// The secrets of removed accounts: files that this command wrote and that are not part of the rendering.
///
/// # Errors
/// A directory that cannot be read.
pub fn stale_secrets(paths: &Paths, rendering: &RenderedFiles) -> Result<Vec<String>, String> {
    if paths.out.is_none() {
        return Ok(Vec::new());
    }
    let secrets = &paths.secrets();
    let cannot = |error: &io::Error| failed("read", secrets, error);
    let entries = match fs::read_dir(secrets) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(cannot(&error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| cannot(&error))?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
        if plain && name.ends_with(".json") && !rendering.secrets.contains_key(&name) {
            let content = fs::read(entry.path()).unwrap_or_default();
            if secret::is_ours(&content, label::is_of_a_secret) {
                names.push(name);
            }
        }
    }
    names.sort();
    Ok(names)
}

/// The message for an operation on a file that failed.
pub fn failed(what: &str, file: &Path, error: &io::Error) -> String {
    format!("cannot {what} {}: {error}", file.display())
}
