//! The disk of the ledger: whether lines can be written there.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::ledger_ballast::{LedgerBallast, directory_of, free_beside};
use crate::ledger_files;

/// With less room than this, and the ballast given up, the disk is full, in bytes. It is room for the lines of requests that are
/// under way then.
const FULL: u64 = 16 << 20;
/// The longest time that a disk may take to write it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The size of what is written to see whether the disk takes it, in bytes: more than a line.
const SAMPLE: usize = 4096;

/// The disk of a ledger.
#[derive(Debug)]
pub struct LedgerDisk {
    ledger: PathBuf,
    ballast: LedgerBallast,
    looks: Mutex<DiskLooks>,
}

/// The looks at a disk.
#[derive(Debug)]
struct DiskLooks {
    /// The time at which the look began that is under way.
    begun: Option<Instant>,
    /// Whether the last line may have been cut off, as Envoy leaves it when there is no room for the rest.
    is_in_doubt: bool,
    /// The length of the file when its last line was last seen to be cut off.
    cut_at: Option<u64>,
}

impl LedgerDisk {
    /// Returns the disk of this ledger.
    pub fn of(ledger: &Path) -> Self {
        Self {
            ledger: ledger.to_owned(),
            ballast: LedgerBallast::beside(ledger),
            looks: Mutex::new(DiskLooks {
                begun: None,
                is_in_doubt: true,
                cut_at: None,
            }),
        }
    }

    /// Returns the reason why no line can be written there; `None` where lines can be. It writes a little, and takes it away again.
    ///
    /// # Errors
    /// It cannot be told, for a reason that is this process's own: it may not write there, or has no room in memory. Or another
    /// look is under way.
    pub fn obstacle(&self) -> io::Result<Option<String>> {
        // A disk that hangs holds one thread, and not one more with each look.
        let begun = self.looks().begun;
        if let Some(begun) = begun {
            if begun.elapsed() < PATIENCE {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            return Ok(Some("its disk does not answer".to_owned()));
        }
        self.looks().begun = Some(Instant::now());
        let found = self.obstacle_by(free_beside(&self.ledger), || self.write_sample());
        let found = found.and_then(|found| match found {
            None => self.end_cut_line(),
            Some(why) => {
                self.looks().is_in_doubt = true;
                Ok(Some(why))
            }
        });
        self.looks().begun = None;
        found
    }

    fn looks(&self) -> MutexGuard<'_, DiskLooks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a last line that was cut off: the next one, of a request that is served again, would be unreadable with it.
    fn end_cut_line(&self) -> io::Result<Option<String>> {
        // Not held while the disk is waited for.
        let (is_in_doubt, before) = {
            let mut looks = self.looks();
            (looks.is_in_doubt, looks.cut_at.take())
        };
        if !is_in_doubt {
            return Ok(None);
        }
        let cut_at = match ledger_files::cut_end(&self.ledger) {
            // Who may not even read it cannot mend it.
            Err(error) if is_own(&error) => None,
            found => found?,
        };
        // It may be in the middle of being written. Seen twice, it is not.
        if cut_at.is_some() && cut_at != before {
            self.looks().cut_at = cut_at;
            return Ok(Some("its last line is cut off".to_owned()));
        }
        if cut_at.is_some() {
            match ledger_files::end_line(&self.ledger) {
                Err(error) if !is_own(&error) => return Err(error),
                _ => {}
            }
        }
        self.looks().is_in_doubt = false;
        Ok(None)
    }

    fn obstacle_by(
        &self,
        free: io::Result<u64>,
        write_sample: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Option<String>> {
        let found = free.and_then(|free| {
            if free < FULL && self.ballast.bytes() == 0 {
                return Ok(Some("its disk is full".to_owned()));
            }
            write_sample().map(|()| None)
        });
        found.or_else(|error| {
            if is_own(&error) {
                return Err(error);
            }
            Ok(Some(error.to_string()))
        })
    }

    fn write_sample(&self) -> io::Result<()> {
        let mut file = tempfile::tempfile_in(directory_of(&self.ledger))?;
        file.write_all(&[0; SAMPLE])?;
        // Some disks say only now that they cannot.
        file.sync_data()
    }
}

/// Whether an error is of this process, and says nothing of the disk.
fn is_own(error: &io::Error) -> bool {
    let lacking = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    error.kind() == io::ErrorKind::PermissionDenied
        || Errno::from_io_error(error).is_some_and(|errno| lacking.contains(&errno))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn when_lines_cannot_be_written() {
        let place = tempfile::tempdir().unwrap();
        let disk = LedgerDisk::of(&place.path().join("ledger.jsonl"));
        let of = |errno: Errno| io::Error::from(errno);
        let full = Ok(Some("its disk is full".to_owned()));
        let said = |errno: Errno| Ok(Some(of(errno).to_string()));
        // (case, room, the outcome of writing, the obstacle; the error where it cannot be told)
        let cases = [
            ("room", Ok(FULL), Ok(()), Ok(None)),
            ("no room", Ok(FULL - 1), Ok(()), full.clone()),
            ("none at all", Ok(0), Err(of(Errno::NOSPC)), full.clone()),
            (
                "no room, of another user",
                Ok(0),
                Err(of(Errno::ACCESS)),
                full,
            ),
            (
                "a quota",
                Ok(FULL),
                Err(of(Errno::DQUOT)),
                said(Errno::DQUOT),
            ),
            (
                "no inodes",
                Ok(FULL),
                Err(of(Errno::NOSPC)),
                said(Errno::NOSPC),
            ),
            (
                "only read",
                Ok(FULL),
                Err(of(Errno::ROFS)),
                said(Errno::ROFS),
            ),
            ("broken", Ok(FULL), Err(of(Errno::IO)), said(Errno::IO)),
            ("gone", Err(of(Errno::NOENT)), Ok(()), said(Errno::NOENT)),
            (
                "of another user",
                Ok(FULL),
                Err(of(Errno::ACCESS)),
                Err(Errno::ACCESS),
            ),
            (
                "too many files",
                Ok(FULL),
                Err(of(Errno::MFILE)),
                Err(Errno::MFILE),
            ),
        ];
        for (case, free, written, want) in cases {
            let got = disk.obstacle_by(free, || written);
            let got = got.map_err(|error| Errno::from_io_error(&error).unwrap());
            assert_eq!(got, want, "{case}");
        }
        // While there is a ballast to be given up, a disk is not full.
        disk.ballast.keep().unwrap();
        let has_ballast = disk.ballast.bytes() > 0;
        let got = disk.obstacle_by(Ok(0), || Ok(())).unwrap();
        assert_eq!(got.is_none(), has_ballast);
    }

    #[test]
    fn a_disk_that_hangs() {
        let place = tempfile::tempdir().unwrap();
        let disk = LedgerDisk::of(&place.path().join("ledger.jsonl"));
        disk.looks().begun = Some(Instant::now());
        let busy = disk.obstacle().unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        disk.looks().begun = Instant::now().checked_sub(PATIENCE);
        let hangs = disk.obstacle().unwrap();
        assert_eq!(hangs.as_deref(), Some("its disk does not answer"));
        disk.looks().begun = None;
        disk.obstacle().unwrap();
        assert!(disk.looks().begun.is_none(), "the look is over");
    }

    #[test]
    fn a_line_that_was_cut_off_is_ended_before_others_follow() {
        let place = tempfile::tempdir().unwrap();
        let ledger = place.path().join("ledger.jsonl");
        let disk = LedgerDisk::of(&ledger);
        let cut = Some("its last line is cut off".to_owned());
        let full = || disk.looks().is_in_doubt = true;
        let look = || disk.obstacle().unwrap();
        let write = |text: &str| fs::write(&ledger, text).unwrap();
        assert_eq!(look(), None, "no file");
        write("{}\n{");
        assert_eq!(look(), None, "it is being written");
        full();
        assert_eq!(look(), cut, "seen once");
        write("{}\n{}\n");
        assert_eq!(look(), None, "it was being written");
        full();
        write("{}\n{");
        assert_eq!(look(), cut);
        write("{}\n{}\n{");
        assert_eq!(look(), cut, "another one");
        assert_eq!(look(), None, "seen twice");
        assert_eq!(fs::read_to_string(&ledger).unwrap(), "{}\n{}\n{\n");
        write("{");
        assert_eq!(look(), None, "there was room since");
        let anew = LedgerDisk::of(&ledger);
        assert_eq!(anew.obstacle().unwrap(), cut, "after a start");
        assert_eq!(anew.obstacle().unwrap(), None);
        assert_eq!(fs::read_to_string(&ledger).unwrap(), "{\n");
    }

    #[test]
    fn a_sample_is_written_and_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let disk = LedgerDisk::of(&place.path().join("ledger.jsonl"));
        disk.write_sample().unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        let away = LedgerDisk::of(&place.path().join("away/ledger.jsonl"));
        assert!(away.obstacle().unwrap().is_some(), "no directory");
    }
}
