//! The feed from a file of JSON lines: what is in the file is what there is.
//!
//! The file is read whole ([`reading`]), a [`key`] a line, and compared with what was known ([`store`]), so that only
//! what is different gets a new version. All of it is in memory: a restart begins another feed.

mod key;
mod reading;
mod store;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;

use self::reading::Reading;
use self::store::Store;
use super::cursor::Standing;
use super::feed::Refusal;
use super::query::Asked;
use super::tell::Teller;
use super::watch::{Settled, Watched};
use crate::watched_files::WatchedFiles;

/// For how long a file that is written in place must rest before what it lacks is believed.
const REST: Duration = Duration::from_secs(2);

/// The file, and what was good of it last.
#[derive(Debug)]
pub struct KeysFile {
    file: PathBuf,
    keep_removals: Duration,
    teller: Teller,
    known: RwLock<Option<Known>>,
    feed: String,
}

#[derive(Debug)]
struct Known {
    store: Store,
    /// Device and inode of the file that this came from.
    from: Option<(u64, u64)>,
}

impl KeysFile {
    /// Nothing so far; `feed` names the sequence of versions that begins here.
    pub fn new(file: PathBuf, feed: String, keep_removals: Duration, teller: Teller) -> Self {
        Self {
            file,
            keep_removals,
            teller,
            known: RwLock::default(),
            feed,
        }
    }

    fn known(&self) -> RwLockReadGuard<'_, Option<Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, what: impl FnOnce(&Store) -> Result<T, Refusal>) -> Result<T, Refusal> {
        match &*self.known() {
            Some(known) => what(&known.store),
            None => Err(Refusal::Unready(
                "the file of keys was not read yet, or is not good".to_owned(),
            )),
        }
    }

    /// A page.
    ///
    /// # Errors
    /// Why there is none.
    pub fn page(&self, asked: &Asked) -> Result<Vec<u8>, Refusal> {
        self.with(|store| Ok(store.page(asked)?))
    }

    /// Where it stands.
    ///
    /// # Errors
    /// No file was read.
    pub fn standing(&self) -> Result<Standing, Refusal> {
        self.with(|store| Ok(store.standing().clone()))
    }

    /// Forgets old removals.
    pub fn compact(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &mut *known {
            known.store.compact(self.keep_removals, Instant::now());
        }
    }

    /// Whether the file is the one that was taken up last, written again in place and just now: there may be more of it to
    /// come. One that was renamed into its place is whole.
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

    fn accept(&self, reading: Reading) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| Known {
            store: Store::new(self.feed.clone()),
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

    fn would_lose(&self, reading: &Reading) -> bool {
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

impl Watched for KeysFile {
    fn file(&self) -> PathBuf {
        self.file.clone()
    }

    fn take_up(&self) -> Settled {
        let mut seen = WatchedFiles::default();
        seen.note(&self.file);
        let read = reading::read(&self.file);
        if seen.have_changed() {
            return Settled::No;
        }
        match read {
            Err(_) if self.is_being_written() => return Settled::No,
            Ok(reading) if self.would_lose(&reading) && self.is_being_written() => {
                return Settled::No;
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
        Settled::Yes
    }
}
