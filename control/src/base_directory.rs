//! The directories of this user for the files of all programs, by the XDG base directory specification.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// A kind of files that have a directory of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseDirectory {
    /// Data: `$XDG_DATA_HOME`, or `~/.local/share`.
    Data,
    /// Configuration: `$XDG_CONFIG_HOME`, or `~/.config`.
    Config,
}

impl BaseDirectory {
    /// The variable that names it, and its place in the home.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Data => ("XDG_DATA_HOME", ".local/share"),
            Self::Config => ("XDG_CONFIG_HOME", ".config"),
        }
    }

    /// Its path; `None`: this user has no home.
    pub fn path(self) -> Option<PathBuf> {
        self.by(|name| env::var_os(name))
    }

    /// A relative path counts as none.
    fn by(self, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let path = |name| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let (named, in_home) = self.names();
        path(named).or_else(|| Some(path("HOME")?.join(in_home)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default() {
        use BaseDirectory::{Config, Data};
        type Case<'a> = (
            &'a str,
            BaseDirectory,
            &'a [(&'a str, &'a str)],
            Option<&'a str>,
        );
        let xdg = [
            ("XDG_DATA_HOME", "/data"),
            ("XDG_CONFIG_HOME", "/config"),
            ("HOME", "/home/a"),
        ];
        let cases: [Case<'_>; 7] = [
            ("data", Data, &xdg, Some("/data")),
            ("configuration", Config, &xdg, Some("/config")),
            (
                "home",
                Data,
                &[("HOME", "/home/a")],
                Some("/home/a/.local/share"),
            ),
            (
                "configuration at home",
                Config,
                &[("HOME", "/home/a")],
                Some("/home/a/.config"),
            ),
            (
                "a relative path counts as none",
                Data,
                &[("XDG_DATA_HOME", "data"), ("HOME", "/home/a")],
                Some("/home/a/.local/share"),
            ),
            ("an empty one too", Data, &[("XDG_DATA_HOME", "")], None),
            ("neither", Data, &[], None),
        ];
        for (case, directory, variables, want) in cases {
            let variable = |name: &str| {
                let found = variables.iter().find(|(each, _)| *each == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(directory.by(variable), want.map(PathBuf::from), "{case}");
        }
    }
}
