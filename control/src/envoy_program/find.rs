//! The search for the Envoy to run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::version::{EnvoyVersion, VersionSupport, tested};
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::terminal::say;

/// The variable that names the program, beside `TRILANE_ENVOY`.
const VARIABLE: &str = "ENVOY";
/// The program's name.
pub const NAME: &str = "envoy";

/// An Envoy that this release can run.
#[derive(Debug, Clone)]
pub struct EnvoyProgram {
    /// The file, absolute.
    pub file: PathBuf,
    /// The version of this Envoy.
    pub version: EnvoyVersion,
}

impl EnvoyProgram {
    /// Finds it. Warns of a version that is untested, but near a tested one.
    ///
    /// # Errors
    /// There is no Envoy, or it is not one that this release can run.
    pub fn find(named: Option<&Path>, data: &DataDirectory) -> Result<Self, Failure> {
        let file = candidate(named, env::var_os(VARIABLE), env::var_os("PATH"), data)?;
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
        Ok(Self { file, version })
    }
}

/// The first program that there is, in the order of who says so. One that is named must be there.
fn candidate(
    named: Option<&Path>,
    variable: Option<OsString>,
    path: Option<OsString>,
    data: &DataDirectory,
) -> Result<PathBuf, Failure> {
    let variable = variable.filter(|value| !value.is_empty());
    let by_option = named.map(|file| ("--envoy", file.to_owned()));
    let by_variable = || Some((VARIABLE, PathBuf::from(variable?)));
    if let Some((who, file)) = by_option.or_else(by_variable) {
        let bare = file.components().count() == 1 && !is_program(&file);
        let found = if bare {
            in_path(file.as_os_str(), path.as_deref())
        } else {
            Some(file.clone())
        };
        let found = found.filter(|file| is_program(file)).ok_or_else(|| {
            let name = file.display();
            Failure::Data(format!("{who}: {name} is no program. {}", way_out(data)))
        })?;
        return std::path::absolute(&found)
            .map_err(|error| Failure::Data(format!("{who}: {}: {error}", found.display())));
    }
    let installed = data.envoy().join(NAME);
    if is_program(&installed) {
        return Ok(installed);
    }
    in_path(OsStr::new(NAME), path.as_deref())
        .ok_or_else(|| Failure::Data(format!("there is no Envoy here. {}", way_out(data))))
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
        let path = Some(at("bin").into_os_string());
        let find = |named: Option<&Path>, variable: Option<&Path>| {
            let variable = variable.map(|file| file.as_os_str().to_owned());
            candidate(named, variable, path.clone(), &data)
        };
        let Err(Failure::Data(text)) = find(None, None) else {
            panic!("there is none");
        };
        assert!(
            text.contains("trilane envoy install --data") && text.contains("--envoy FILE"),
            "{text}"
        );
        for (file, named, variable) in [
            (at("bin/envoy"), None, None),
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
