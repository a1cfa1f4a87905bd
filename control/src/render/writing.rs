//! Writing what is different, in an order in which Envoy finds everything that it is told of.

use std::fs;
use std::io;
use std::path::Path;

use super::files;
use super::kept::Kept;
use super::label;
use super::places::Places;
use super::rendering::{Rendering, text};
use super::report::Report;
use super::secret;

/// The file of clusters.
const CLUSTERS: &str = "clusters.json";

/// Writes, or with `check` only finds out what would be written: a secret must be there when a cluster that needs
/// it comes, and may go when the cluster has gone. With `keep` nothing goes. The report has what was done, also before
/// it failed.
///
/// # Errors
/// A file that cannot be read or written.
pub fn run(
    rendering: &Rendering,
    places: &Places,
    keep: bool,
    report: &mut Report,
) -> Result<(), String> {
    if places.out.is_none() {
        return Ok(());
    }
    let (secrets, clusters) = (places.secrets(), places.clusters());
    for directory in [&secrets, &clusters] {
        if !report.check {
            fs::create_dir_all(directory).map_err(|error| failed("make", directory, &error))?;
        }
    }
    for (name, content) in &rendering.secrets {
        put(&secrets, name, content, report)?;
    }
    let kept = if keep {
        Kept::of(&present(places)?, &rendering.clusters)
    } else {
        Kept::default()
    };
    report.kept = kept.names();
    let content = text(&kept.behind(&rendering.clusters));
    put(&clusters, CLUSTERS, &content, report)?;
    if keep {
        return Ok(());
    }
    for name in left_over(places, rendering)? {
        let file = secrets.join(name);
        if !report.check {
            fs::remove_file(&file).map_err(|error| failed("remove", &file, &error))?;
        }
        report.removed.push(file);
    }
    Ok(())
}

fn put(directory: &Path, name: &str, content: &str, report: &mut Report) -> Result<(), String> {
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

/// The file of clusters as it is; nothing for one that is not there.
///
/// # Errors
/// A file that cannot be read.
pub fn present(places: &Places) -> Result<Vec<u8>, String> {
    let file = places.clusters().join(CLUSTERS);
    match fs::read(&file) {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed("read", &file, &error)),
    }
}

/// How many secrets Envoy still has when new ones come.
///
/// # Errors
/// A directory that cannot be read.
pub fn going(places: &Places, rendering: &Rendering) -> Result<usize, String> {
    let left = left_over(places, rendering)?;
    let is_new = |name: &String| !places.secrets().join(name).exists();
    let comes = rendering.secrets.keys().any(is_new);
    Ok(if comes { left.len() } else { 0 })
}

/// The secrets of accounts that are gone: files of this command's making that it does not make now.
///
/// # Errors
/// A directory that cannot be read.
pub fn left_over(places: &Places, rendering: &Rendering) -> Result<Vec<String>, String> {
    if places.out.is_none() {
        return Ok(Vec::new());
    }
    let secrets = &places.secrets();
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

/// What could not be done with a file, and why.
pub fn failed(what: &str, file: &Path, error: &io::Error) -> String {
    format!("cannot {what} {}: {error}", file.display())
}
