//! Changes that others make to the ledger's files, so that lines may be lost: the open one becomes shorter, as by logrotate's
//! `copytruncate`, or one is gone before the console had all of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::ledger_file::{FileMark, SentFile};

/// The time for which a fault is shown.
const SHOWN: Duration = Duration::from_secs(86_400);
/// The number of passes after which a missing file counts as gone: it may be given another name between two looks.
const MISSED: u32 = 3;

/// The files as they were seen.
#[derive(Debug, Default)]
pub struct LedgerWatch {
    /// The open file, and its identity once it has a line.
    open: Option<(FileMark, Option<String>)>,
    /// The files that have more than the console, by their identities.
    unsent: BTreeMap<String, UnsentFile>,
    /// The identities of this pass.
    seen: BTreeMap<String, PathBuf>,
    told: Vec<(String, bool)>,
    lasting: Option<(Instant, String)>,
}

/// A file that has more than the console.
#[derive(Debug)]
struct UnsentFile {
    path: PathBuf,
    bytes: u64,
    missed: u32,
}

impl LedgerWatch {
    /// Begins a pass over all files, and looks at the open one.
    pub fn begin_pass(&mut self, ledger: &Path) {
        self.seen.clear();
        let now = FileMark::at(ledger).ok().map(|mark| {
            let file = SentFile::open(ledger, false).ok().flatten();
            (mark, file.map(|file| file.id))
        });
        if let (Some((before, known)), Some((mark, id))) = (&self.open, &now)
            && before.is_same_file(mark)
            && (mark.length < before.length || known.is_some() && id.is_some() && id != known)
        {
            self.is_shorter(ledger);
        }
        self.open = now;
    }

    /// The open file is shorter than it was.
    pub fn is_shorter(&mut self, ledger: &Path) {
        let ledger = ledger.display();
        let line = format!(
            "{ledger} became shorter while Envoy writes to it: lines may be lost. Rotate it by a rename and Envoy's /reopen_logs, \
             without copytruncate"
        );
        self.add(line, false);
    }

    /// A file with this identity is there. False: another one of this pass has it as well.
    pub fn sees(&mut self, id: &str, path: &Path) -> bool {
        if self.seen.get(id).is_some_and(|seen| seen != path) {
            return false;
        }
        self.seen.insert(id.to_owned(), path.to_owned());
        if let Some(unsent) = self.unsent.get_mut(id) {
            unsent.missed = 0;
            unsent.path = path.to_owned();
        }
        true
    }

    /// The console lacks so many bytes of the file with this identity.
    pub fn has_left(&mut self, id: &str, bytes: u64) {
        if bytes == 0 {
            self.unsent.remove(id);
        } else if let Some(path) = self.seen.get(id).cloned() {
            let unsent = UnsentFile {
                path,
                bytes,
                missed: 0,
            };
            self.unsent.insert(id.to_owned(), unsent);
        }
    }

    /// Ends a pass. What is to be told, and of each whether a file is gone.
    pub fn end_of_pass(&mut self) -> Vec<(String, bool)> {
        let mut gone = Vec::new();
        for (id, unsent) in &mut self.unsent {
            if !self.seen.contains_key(id) {
                unsent.missed = unsent.missed.saturating_add(1);
                if unsent.missed >= MISSED {
                    gone.push(id.clone());
                }
            }
        }
        for id in gone {
            if let Some(UnsentFile { path, bytes, .. }) = self.unsent.remove(&id) {
                let path = path.display();
                let line = format!(
                    "{path} is gone, and the console lacks {bytes} bytes of it: put it back, under any name that begins with the \
                     ledger's, not compressed"
                );
                self.add(line, true);
            }
        }
        core::mem::take(&mut self.told)
    }

    /// The text that is still shown.
    pub fn lasting(&self) -> Option<String> {
        let (since, line) = self.lasting.as_ref()?;
        (since.elapsed() < SHOWN).then(|| line.clone())
    }

    fn add(&mut self, line: String, is_gone: bool) {
        self.lasting = Some((Instant::now(), line.clone()));
        self.told.push((line, is_gone));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_that_becomes_shorter() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ledger.jsonl");
        let mut watch = LedgerWatch::default();
        let append = |text: &str| {
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        let shorten = |length: u64| {
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_len(length).unwrap();
        };
        let mut pass = |case: &str, want: bool| {
            watch.begin_pass(&path);
            let told = watch.end_of_pass();
            assert_eq!(told.len(), usize::from(want), "{case}: {told:?}");
            if want {
                assert!(watch.lasting().is_some(), "{case}");
            }
        };
        pass("it is not there", false);
        fs::write(&path, "{\"a\":1}\n").unwrap();
        pass("the first line", false);
        append("{\"a\":2}\n");
        pass("it grows", false);
        fs::rename(&path, place.path().join("ledger.jsonl.1")).unwrap();
        fs::write(&path, "{}\n").unwrap();
        pass("another file, by a rename", false);
        append("{\"a\":3}\n");
        pass("it grows", false);
        shorten(0);
        pass("copytruncate", true);
        append("{\"b\":1}\n{\"b\":2}\n");
        pass("it grows again", false);
        shorten(0);
        append("{\"c\":1}\n{\"c\":2}\n{\"c\":3}\n");
        pass("it is longer than before by now", true);
    }

    #[test]
    fn a_file_that_is_gone() {
        let mut watch = LedgerWatch::default();
        let (one, two) = (Path::new("ledger.jsonl"), Path::new("ledger.jsonl.1"));
        let nowhere = tempfile::tempdir().unwrap();
        let mut pass = |case: &str, seen: Option<&Path>, left: Option<u64>, want: bool| {
            watch.begin_pass(&nowhere.path().join("none"));
            if let Some(path) = seen {
                assert!(watch.sees("id", path), "{case}");
                assert!(!watch.sees("id", Path::new("a copy")), "{case}");
            }
            if let Some(left) = left {
                watch.has_left("id", left);
            }
            let told = watch.end_of_pass();
            assert_eq!(told.len(), usize::from(want), "{case}: {told:?}");
        };
        pass("it has more", Some(one), Some(10), false);
        pass("between two names", None, None, false);
        pass("under another name", Some(two), None, false);
        pass("missed", None, None, false);
        pass("missed twice", None, None, false);
        pass("gone", None, None, true);
        pass("told once", None, None, false);
        pass("back", Some(one), Some(10), false);
        pass("all of it is sent", Some(one), Some(0), false);
        for _ in 0..5 {
            pass("gone then", None, None, false);
        }
    }
}
