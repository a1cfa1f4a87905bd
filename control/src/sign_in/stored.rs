//! The files of sign-ins: the key that `login` got, for `token` and `run`, and the token of the API, for commands with `--server`.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::marker::PhantomData;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::client::IssuedTokens;
use crate::base_directory::BaseDirectory;
use crate::console_http::ConsoleUrl;
use crate::failure::Failure;

/// A sign-in as it is stored. `Debug` prints no token.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredSignIn {
    /// The address of the console.
    pub url: ConsoleUrl,
    /// The file of the certificate authorities that are trusted for it; `None`: the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The address of the gateway.
    pub gateway: String,
    /// The token with which another key is fetched.
    pub refresh_token: String,
    /// The key.
    pub access_token: String,
    /// Until when that is good, in seconds since 1970.
    pub good_until: i64,
}

impl fmt::Debug for StoredSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSignIn")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl StoredSignIn {
    /// The same with other tokens, got at this time.
    pub fn with(self, tokens: IssuedTokens, now: i64) -> Self {
        Self {
            good_until: now.saturating_add(tokens.expires_in),
            access_token: tokens.access_token,
            // RFC 6749, 6: without another one it stays the same.
            refresh_token: tokens.refresh_token.unwrap_or(self.refresh_token),
            ..self
        }
    }

    /// Whether the key is good for so many seconds more.
    pub fn is_good(&self, left: i64, now: i64) -> bool {
        self.good_until.saturating_sub(now) >= left
    }
}

/// A token of the API as it is stored. `Debug` does not print it.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredApiToken {
    /// The address of the console.
    pub url: ConsoleUrl,
    /// The file of the certificate authorities that are trusted for it; `None`: the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The token.
    pub token: String,
    /// Until when it is good, in seconds since 1970.
    pub good_until: i64,
}

impl fmt::Debug for StoredApiToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredApiToken")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The content of a file of a sign-in.
pub trait Stored: Serialize + DeserializeOwned {
    /// The extension of a file that is beside the one of the sign-in.
    const BESIDE: Option<&'static str>;
    /// The command that writes another one.
    const COMMAND: &'static str;
}

impl Stored for StoredSignIn {
    const BESIDE: Option<&'static str> = None;
    const COMMAND: &'static str = "trilane login";
}

impl Stored for StoredApiToken {
    const BESIDE: Option<&'static str> = Some("api.json");
    const COMMAND: &'static str = "trilane login --api";
}

/// The place of a sign-in.
#[derive(Debug)]
pub struct SignInFile<T> {
    path: PathBuf,
    content: PhantomData<T>,
}

impl<T: Stored> SignInFile<T> {
    /// The named file, or else the one of this user; a token of the API is beside it.
    ///
    /// # Errors
    /// There is no home.
    pub fn of(named: Option<&Path>) -> Result<Self, Failure> {
        let own = || Some(BaseDirectory::Config.path()?.join("trilane/sign-in.json"));
        let path = named.map(Path::to_owned).or_else(own).ok_or_else(|| {
            Failure::Usage(
                "no place for the sign-in: neither XDG_CONFIG_HOME nor HOME is set. Name one with --file FILE".to_owned(),
            )
        })?;
        let path = match T::BESIDE {
            None => path,
            Some(extension) => path.with_extension(extension),
        };
        Ok(Self {
            path,
            content: PhantomData,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until no other program changes it; until what this returns is dropped none does.
    ///
    /// # Errors
    /// Its directory cannot be made or written.
    pub fn lock(&self) -> Result<File, Failure> {
        if let Some(directory) = self.path.parent().filter(|of| !of.as_os_str().is_empty()) {
            let made = fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory);
            made.map_err(|error| self.failed("make the directory of", &error))?;
        }
        let mut options = OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = lock.open(self.path.with_extension("lock"));
        let lock = lock.map_err(|error| self.failed("lock", &error))?;
        lock.lock().map_err(|error| self.failed("lock", &error))?;
        Ok(lock)
    }

    /// Reads it; `None`: nobody is signed in.
    ///
    /// # Errors
    /// It cannot be read, or others can read it too.
    pub fn read(&self) -> Result<Option<T>, Failure> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("read", &error)),
        };
        let read = |error| self.failed("read", &error);
        let mode = file.metadata().map_err(read)?.permissions().mode();
        if mode & 0o077 != 0 {
            let path = self.path.display();
            let command = T::COMMAND;
            return Err(Failure::Data(format!(
                "others can read {path}: chmod 600 {path}, or {command} again"
            )));
        }
        let text = io::read_to_string(file).map_err(read)?;
        let parsed = serde_json::from_str(&text);
        parsed.map(Some).map_err(|_| {
            let (path, command) = (self.path.display(), T::COMMAND);
            Failure::Data(format!(
                "{path} is no sign-in: {command} URL writes another one"
            ))
        })
    }

    /// Writes it whole, for its owner alone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, sign_in: &T) -> Result<(), Failure> {
        write(&self.path, sign_in).map_err(|error| self.failed("write", &error))
    }

    /// Removes it.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.failed("remove", &error))
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, what: &str, error: &io::Error) -> Failure {
        Failure::at_place(
            &format!("{what} {}", self.path.display()),
            error,
            "--file FILE",
        )
    }
}

/// Writes a file whole, for its owner alone.
fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let directory = path.parent().filter(|of| !of.as_os_str().is_empty());
    // Only its owner can read a new temporary file.
    let mut file = tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?;
    writeln!(file, "{}", serde_json::to_string_pretty(value)?)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign_in() -> StoredSignIn {
        StoredSignIn {
            url: "https://ai.example.com".parse().unwrap(),
            ca: None,
            gateway: "https://ai.example.com".to_owned(),
            refresh_token: "tlf-secret".to_owned(),
            access_token: "tl-secret".to_owned(),
            good_until: 1000,
        }
    }

    #[test]
    fn it_is_its_owners_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deep/sign-in.json");
        let file = SignInFile::<StoredSignIn>::of(Some(&path)).unwrap();
        assert!(file.read().unwrap().is_none(), "nobody is signed in");
        let lock = file.lock().unwrap();
        file.write(&sign_in()).unwrap();
        drop(lock);
        assert_eq!(file.read().unwrap().unwrap().access_token, "tl-secret");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(file.path()), mode(file.path().parent().unwrap())),
            (0o600, 0o700)
        );
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(file.read(), Err(Failure::Data(why)) if why.contains("chmod 600")));
        file.remove().unwrap();
        file.remove().unwrap();
    }

    #[test]
    fn no_token_is_printed() {
        let api = StoredApiToken {
            url: sign_in().url,
            ca: None,
            token: "tlc-secret".to_owned(),
            good_until: 0,
        };
        assert!(!format!("{:?} {api:?}", sign_in()).contains("secret"));
    }

    #[test]
    fn how_long_a_key_is_good() {
        let tokens = IssuedTokens {
            access_token: "tl-next".to_owned(),
            expires_in: 3600,
            refresh_token: None,
        };
        let next = sign_in().with(tokens, 1000);
        assert_eq!(
            next.refresh_token, "tlf-secret",
            "without another one it stays"
        );
        for (now, want) in [(1000, true), (4000, true), (4001, false), (5000, false)] {
            assert_eq!(next.is_good(600, now), want, "{now}");
        }
    }
}
