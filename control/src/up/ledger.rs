//! The ledger's file: rotated by size and age, while Envoy writes to it.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::timestamp;

/// More of a line than its time takes, in bytes.
const HEAD: u64 = 4096;

/// When another file is begun, and how many are kept.
#[derive(Debug, Clone, Copy)]
pub struct Rotation {
    /// The size at which it is, in bytes.
    pub size: u64,
    /// The age of the first line at which it is.
    pub age: Option<Duration>,
    /// How many rotated files are kept; all by default.
    pub keep: Option<usize>,
}

/// The ledger's file.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    rotation: Rotation,
}

impl LedgerFile {
    /// That at this path.
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
        let format = format_description!("[year][month][day]T[hour][minute][second]Z");
        let time = now.format(&format).map_err(io::Error::other)?;
        let (stem, extension) = self.name();
        // Several within a second are told apart by a number.
        let names = (0u32..).map(|number| match number {
            0 => format!("{stem}-{time}{extension}"),
            _ => format!("{stem}-{time}.{number}{extension}"),
        });
        let mut paths = names.map(|name| self.path.with_file_name(name));
        let aside = paths.find(|path| !path.exists());
        let aside = aside.ok_or(io::ErrorKind::AlreadyExists)?;
        fs::rename(&self.path, &aside)?;
        Ok(aside)
    }

    /// Removes the oldest of more files than are kept. Returns those.
    ///
    /// # Errors
    /// As the system gives them.
    pub fn remove_old(&self) -> io::Result<Vec<PathBuf>> {
        let Some(keep) = self.rotation.keep else {
            return Ok(Vec::new());
        };
        let mut aside = self.aside()?;
        aside.truncate(aside.len().saturating_sub(keep));
        aside.iter().try_for_each(fs::remove_file)?;
        Ok(aside)
    }

    /// The files that were set aside, the oldest first.
    fn aside(&self) -> io::Result<Vec<PathBuf>> {
        let (stem, extension) = self.name();
        // The time, and the number within a second.
        let is_aside = |name: &str| {
            let marks = name
                .strip_prefix(&stem)?
                .strip_suffix(&extension)?
                .strip_prefix('-')?;
            let (time, number) = marks.split_once('.').unwrap_or((marks, "0"));
            let is_time = time
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"TZ".contains(&byte));
            Some((time.to_owned(), number.parse::<u32>().ok()?))
                .filter(|_| is_time && time.len() == 16)
        };
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let mut found = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if let Some(mark) = entry.file_name().to_str().and_then(is_aside) {
                found.push((mark, entry.path()));
            }
        }
        found.sort();
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }

    fn name(&self) -> (String, String) {
        let text = |part: Option<&std::ffi::OsStr>| {
            part.unwrap_or_default().to_string_lossy().into_owned()
        };
        let extension = self
            .path
            .extension()
            .map(|extension| format!(".{}", text(Some(extension))));
        (text(self.path.file_stem()), extension.unwrap_or_default())
    }
}

/// The time of the first line.
fn first_time(ledger: &Path) -> Option<OffsetDateTime> {
    #[derive(Deserialize)]
    struct Line {
        timestamp: String,
    }
    let mut line = Vec::new();
    let file = File::open(ledger).ok()?.take(1 << 20);
    BufReader::new(file).read_until(b'\n', &mut line).ok()?;
    match serde_json::from_slice::<Line>(&line) {
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
        assert_eq!(names(keeps_two.aside().unwrap()), all);
        assert_eq!(
            ledger(place.path(), NEVER).remove_old().unwrap(),
            Vec::<PathBuf>::new(),
            "all are kept by default"
        );
        assert_eq!(names(keeps_two.remove_old().unwrap()), all[..1]);
        assert_eq!(keeps_two.aside().unwrap().len(), 2);
        assert!(
            place.path().join("ledger-notes.jsonl").exists(),
            "what else is there stays"
        );
    }
}
