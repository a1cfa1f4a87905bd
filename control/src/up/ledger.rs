//! The ledger's file: rotated by size and age, while Envoy writes to it.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use time::OffsetDateTime;

use crate::{ledger_files, timestamp};

/// More of a line than its time takes, in bytes.
const HEAD: u64 = 4096;

/// The conditions on which another ledger file is begun, and the number of files that are kept.
#[derive(Debug, Clone, Copy)]
pub struct Rotation {
    /// The size at which it is, in bytes.
    pub size: u64,
    /// The age of the first line at which it is.
    pub age: Option<Duration>,
    /// The number of rotated files that are kept; all by default.
    pub keep: Option<usize>,
}

/// The ledger's file.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    rotation: Rotation,
}

impl LedgerFile {
    /// Returns the ledger at this path.
    pub const fn new(path: PathBuf, rotation: Rotation) -> Self {
        Self { path, rotation }
    }

    /// Checks that it can be written to, since Envoy loses what it cannot write.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn check(&self) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory)?;
        }
        File::options()
            .append(true)
            .create(true)
            .open(&self.path)
            .map(drop)
    }

    /// Ends a last line that was cut off, so that the next one stands on a line of its own. Only while no Envoy writes to it.
    /// Returns whether it had to.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn end_last_line(&self) -> io::Result<bool> {
        let is_cut = ledger_files::cut_end(&self.path)?.is_some();
        if is_cut {
            ledger_files::end_line(&self.path)?;
        }
        Ok(is_cut)
    }

    /// Whether another file is due at this time.
    pub fn is_due(&self, now: OffsetDateTime) -> bool {
        let size = fs::metadata(&self.path).map_or(0, |found| found.len());
        let is_old = |age: Duration| {
            let age = time::Duration::try_from(age).ok()?;
            Some(first_time(&self.path)? <= now.checked_sub(age)?)
        };
        let is_old = |age| is_old(age).unwrap_or_default();
        size > 0 && (size >= self.rotation.size || self.rotation.age.is_some_and(is_old))
    }

    /// Gives the file another name, with the time in it. Envoy writes to it until it is told to open the file again.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn set_aside(&self, now: OffsetDateTime) -> io::Result<PathBuf> {
        let aside = ledger_files::aside_at(&self.path, now)?;
        fs::rename(&self.path, &aside)?;
        Ok(aside)
    }

    /// Removes the oldest of more files than are kept, as far as they may be removed. Returns those.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn remove_old(&self, may_go: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
        let Some(keep) = self.rotation.keep else {
            return Ok(Vec::new());
        };
        let mut aside = ledger_files::aside(&self.path)?;
        aside.truncate(aside.len().saturating_sub(keep));
        aside.retain(|file| may_go(file));
        aside.iter().try_for_each(fs::remove_file)?;
        Ok(aside)
    }
}

/// The time of the first line.
fn first_time(ledger: &Path) -> Option<OffsetDateTime> {
    #[derive(Deserialize)]
    struct TimestampedLine {
        timestamp: String,
    }
    let mut line = Vec::new();
    let file = File::open(ledger).ok()?.take(1 << 20);
    BufReader::new(file).read_until(b'\n', &mut line).ok()?;
    match serde_json::from_slice::<TimestampedLine>(&line) {
        Ok(line) => timestamp::parse(&line.timestamp),
        // Perhaps a line that is cut off; its time stands at its beginning.
        Err(_) => {
            let head = line.get(..line.len().min(usize::try_from(HEAD).ok()?))?;
            let text = String::from_utf8_lossy(head);
            let (_, time) = text.split_once("\"timestamp\":\"")?;
            timestamp::parse(time.split('"').next()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn at(text: &str) -> OffsetDateTime {
        timestamp::parse(text).unwrap()
    }

    fn ledger(place: &Path, rotation: Rotation) -> LedgerFile {
        LedgerFile::new(place.join("ledger.jsonl"), rotation)
    }

    const NEVER: Rotation = Rotation {
        size: u64::MAX,
        age: None,
        keep: None,
    };

    #[test]
    fn when_another_file_is_due() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("ledger.jsonl");
        let by_size = ledger(place.path(), Rotation { size: 10, ..NEVER });
        let by_age = ledger(
            place.path(),
            Rotation {
                age: Some(DAY),
                ..NEVER
            },
        );
        let now = at("2026-11-23T12:00:00Z");
        assert!(!by_size.is_due(now), "there is none");
        fs::write(&file, "").unwrap();
        assert!(
            !by_size.is_due(now) && !by_age.is_due(now),
            "an empty one stays"
        );
        fs::write(&file, "123456789").unwrap();
        assert!(!by_size.is_due(now));
        fs::write(&file, "1234567890").unwrap();
        assert!(
            by_size.is_due(now) && !by_age.is_due(now),
            "a line without a time has no age"
        );
        for (line, want) in [
            ("{\"timestamp\":\"2026-11-22T12:00:00.000Z\"}\n", true),
            (
                "{\"timestamp\":\"2026-11-22T12:00:00.001Z\"}\n{\"timestamp\":\"2026-11-01T12:00:00.001Z\"}\n",
                false,
            ),
            ("{\"timestamp\":\"2026-11-24T12:00:01Z\"}\n", false),
            ("{\"timestamp\":\"2026-11-21T12:00:00Z\",\"mo", true),
        ] {
            fs::write(&file, line).unwrap();
            assert_eq!(by_age.is_due(now), want, "{line}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_ended() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("ledger.jsonl");
        let of_file = ledger(place.path(), NEVER);
        assert!(!of_file.end_last_line().unwrap(), "there is none");
        assert!(!file.exists());
        for (before, after) in [
            ("", ""),
            ("{}\n", "{}\n"),
            ("{}\n{\"timestamp\":\"2026-", "{}\n{\"timestamp\":\"2026-\n"),
            ("{", "{\n"),
        ] {
            fs::write(&file, before).unwrap();
            assert_eq!(of_file.end_last_line().unwrap(), before != after);
            assert_eq!(fs::read_to_string(&file).unwrap(), after);
        }
        let device = LedgerFile::new("/dev/null".into(), NEVER);
        assert!(!device.end_last_line().unwrap());
    }

    #[test]
    fn nothing_is_lost_and_the_oldest_go() {
        let place = tempfile::tempdir().unwrap();
        let keeps_two = ledger(
            place.path(),
            Rotation {
                keep: Some(2),
                ..NEVER
            },
        );
        let file = place.path().join("ledger.jsonl");
        for name in [
            "ledger-notes.jsonl",
            "ledger.jsonl.bak",
            "other-20261123T120000Z.jsonl",
        ] {
            fs::write(place.path().join(name), "").unwrap();
        }
        let times = [
            "2026-11-23T12:00:00Z",
            "2026-11-23T12:00:00Z",
            "2026-11-23T12:00:01Z",
        ];
        for (number, time) in times.iter().enumerate() {
            fs::write(&file, number.to_string()).unwrap();
            keeps_two.set_aside(at(time)).unwrap();
        }
        assert!(!file.exists());
        let names = |paths: Vec<PathBuf>| -> Vec<String> {
            paths
                .iter()
                .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect()
        };
        let all = [
            "ledger-20261123T120000Z.jsonl",
            "ledger-20261123T120000Z.1.jsonl",
            "ledger-20261123T120001Z.jsonl",
        ];
        assert_eq!(names(ledger_files::aside(&file).unwrap()), all);
        assert_eq!(
            ledger(place.path(), NEVER).remove_old(|_| true).unwrap(),
            Vec::<PathBuf>::new(),
            "all are kept by default"
        );
        assert_eq!(
            keeps_two.remove_old(|_| false).unwrap(),
            Vec::<PathBuf>::new(),
            "what may not go stays"
        );
        assert_eq!(names(keeps_two.remove_old(|_| true).unwrap()), all[..1]);
        assert_eq!(ledger_files::aside(&file).unwrap().len(), 2);
        assert!(
            place.path().join("ledger-notes.jsonl").exists(),
            "what else is there stays"
        );
    }
}
