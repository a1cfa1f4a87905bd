//! The feed from a file of JSON lines, which has all keys.
//!
//! The file is read whole ([`reading`]), a [`key`] on each line, and compared with the known keys ([`store`]), so that only
//! changes get a new version. All of it is in memory: a restart begins a new feed.

mod key;
mod reading;
mod store;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use trilane_console::feed::{FeedVersions, PageError, PageRequest};

use self::reading::ReadKeys;
use self::store::KeysFileStore;
use super::watch::{FileState, ReloadableFile};
use crate::tell::Teller;
use crate::watched_files::WatchedFiles;

/// How long a file that is written in place must be unchanged before its removals count.
const REST: Duration = Duration::from_secs(2);

/// The file, and its last valid keys.
#[derive(Debug)]
pub struct KeysFile {
    file: PathBuf,
    keep_removals: Duration,
    teller: Teller,
    known: RwLock<Option<LoadedKeys>>,
    feed: String,
}

#[derive(Debug)]
struct LoadedKeys {
    store: KeysFileStore,
    /// Device and inode of the file that this came from.
    from: Option<(u64, u64)>,
}

impl KeysFile {
    /// Not read yet; `feed` names the sequence of versions that begins here.
    pub fn new(file: PathBuf, feed: String, keep_removals: Duration, teller: Teller) -> Self {
        Self {
            file,
            keep_removals,
            teller,
            known: RwLock::default(),
            feed,
        }
    }

    fn known(&self) -> RwLockReadGuard<'_, Option<LoadedKeys>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        what: impl FnOnce(&KeysFileStore) -> Result<T, PageError>,
    ) -> Result<T, PageError> {
        match &*self.known() {
            Some(known) => what(&known.store),
            None => Err(PageError::Unready(
                "the file of keys was not read yet, or is not good".to_owned(),
            )),
        }
    }

    /// A page.
    ///
    /// # Errors
    /// Why there is none.
    pub fn page(&self, asked: &PageRequest) -> Result<Vec<u8>, PageError> {
        self.with(|store| Ok(store.page(asked)?))
    }

    /// Its versions.
    ///
    /// # Errors
    /// No valid file was read yet.
    pub fn standing(&self) -> Result<FeedVersions, PageError> {
        self.with(|store| Ok(store.standing().clone()))
    }

    /// Compacts old removals.
    pub fn compact(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &mut *known {
            known.store.compact(self.keep_removals, Instant::now());
        }
    }

    /// Whether the file was written in place just now, so that more may follow. A file that was renamed into place is
    /// complete.
    fn is_being_written(&self) -> bool {
        let Ok(found) = fs::metadata(&self.file) else {
            return false;
        };
        let same = self
            .known()
            .as_ref()
            .is_some_and(|known| known.from == Some(inode(&found)));
        let age = found
            .modified()
            .map(|then| SystemTime::now().duration_since(then));
        same && matches!(age, Ok(Ok(age)) if age < REST)
    }

    fn accept(&self, reading: ReadKeys) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| LoadedKeys {
            store: KeysFileStore::new(self.feed.clone()),
            from: None,
        });
        known.from = fs::metadata(&self.file).ok().as_ref().map(inode);
        let changes = known.store.take_up(reading, Instant::now());
        let (keys, version) = (known.store.keys(), known.store.standing().head);
        let [added, changed, removed] = [changes.added, changes.changed, changes.removed];
        let name = name(&self.file);
        let text = format!(
            "keys {name}: {keys} (added {added}, changed {changed}, removed {removed}), version {version}"
        );
        let facts = json!({
            "file": name, "keys": keys, "added": added, "changed": changed, "removed": removed, "version": version,
        });
        self.teller.news("keys", &text, facts);
    }

    fn would_lose(&self, reading: &ReadKeys) -> bool {
        self.known()
            .as_ref()
            .is_some_and(|known| known.store.would_lose(reading))
    }
}

fn inode(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn name(file: &Path) -> String {
    file.display().to_string()
}

impl ReloadableFile for KeysFile {
    fn file(&self) -> PathBuf {
        self.file.clone()
    }

    fn take_up(&self) -> FileState {
        let mut seen = WatchedFiles::default();
        seen.note(&self.file);
        let read = reading::read(&self.file);
        if seen.have_changed() {
            return FileState::No;
        }
        match read {
            Err(_) if self.is_being_written() => return FileState::No,
            Ok(reading) if self.would_lose(&reading) && self.is_being_written() => {
                return FileState::No;
            }
            Ok(reading) => self.accept(reading),
            Err(problems) => {
                let left = match *self.known() {
                    Some(_) => "the keys of before stay",
                    None => "503 is answered until it is good",
                };
                self.teller
                    .refused("the file of keys", &name(&self.file), &problems, left);
            }
        }
        FileState::Yes
    }
}
