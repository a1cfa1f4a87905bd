//! The requests of an Envoy that was killed and that its ledger has no line of.
//!
//! Envoy counts the requests that it has begun, and each but a probe has a line of the ledger when it ends. So when another process of Envoy
//! is there, the requests that the one before was last known to have begun, less the lines that the files have got meanwhile, have
//! none: they were under way, or their lines were not written yet. They are a part of what is lost at least: what began after
//! the last look is not known.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use memchr::memchr_iter;

use super::ledger_file::FileMark;
use super::standing::AgentProgress;
use super::worker::{Next, PeriodicTask};
use crate::envoy_admin::{AdminPlace, RequestCounts};
use crate::ledger_files;

/// The number of bytes of a file that are read at once.
const PART: usize = 256 << 10;

/// Looks for requests without a line.
#[derive(Debug)]
pub struct LostLines {
    admin: AdminPlace,
    files: WrittenLines,
    process: Option<ProcessLines>,
    standing: Arc<AgentProgress>,
}

impl LostLines {
    /// Those of the Envoy with this admin interface and this ledger.
    pub fn new(admin: AdminPlace, ledger: PathBuf, standing: Arc<AgentProgress>) -> Self {
        Self {
            admin,
            files: WrittenLines::from_end(ledger),
            process: None,
            standing,
        }
    }
}

impl PeriodicTask for LostLines {
    const NAME: &'static str = "lines";
    const PAUSE: Duration = Duration::from_millis(250);

    fn run(&mut self) -> Result<Next, String> {
        // Before Envoy is asked: where another process answers, the one before has written all that it ever will, and this one
        // nothing yet, for it answers here before it takes requests.
        let lines = self.files.count();
        let counts = self.admin.find().and_then(|admin| admin.request_counts());
        // That Envoy does not answer is told by others.
        let Ok(counts) = counts else {
            return Ok(Next::Later);
        };
        let Some(before) = &mut self.process else {
            self.process =
                ProcessLines::begin(counts, counts.lines().saturating_sub(counts.active), lines);
            return Ok(Next::Later);
        };
        if !counts.is_later_of(&before.last) {
            let lost = before.lost(lines);
            if lost > 0 {
                self.standing.count_lost(lost);
                self.standing.tell(&format!(
                    "ledger: Envoy has ended, and at least {lost} requests that it had begun have no line: they are in no bill"
                ));
            }
            self.process = ProcessLines::begin(counts, 0, lines);
        } else {
            before.last = counts;
        }
        Ok(Next::Later)
    }
}

/// A process of Envoy beside the lines that the ledger's files have.
#[derive(Debug)]
struct ProcessLines {
    /// The requests that have or will have a line among those that come.
    begun_before: u64,
    /// The lines that the files had then.
    lines_before: u64,
    last: RequestCounts,
}

impl ProcessLines {
    /// From now on, where the lines that there are have so many of its requests. `None`: it takes over what another process has
    /// counted (a hot restart).
    fn begin(now: RequestCounts, begun_before: u64, lines: u64) -> Option<Self> {
        (now.epoch == 0).then_some(Self {
            begun_before,
            lines_before: lines,
            last: now,
        })
    }

    /// The requests without a line, when the files have this many lines in all and the process is no more.
    fn lost(&self, lines: u64) -> u64 {
        let begun = self.last.lines().saturating_sub(self.begun_before);
        begun.saturating_sub(lines.saturating_sub(self.lines_before))
    }
}

/// The number of lines that were written to the ledger's files.
#[derive(Debug)]
struct WrittenLines {
    ledger: PathBuf,
    /// The files, each with the place up to which its lines are counted.
    files: Vec<FileMark>,
    lines: u64,
}

impl WrittenLines {
    /// Those that are written from now on.
    fn from_end(ledger: PathBuf) -> Self {
        Self {
            files: marks(&ledger).into_values().collect(),
            ledger,
            lines: 0,
        }
    }

    /// Counts what is new.
    fn count(&mut self) -> u64 {
        let mut seen = Vec::new();
        for (path, mark) in marks(&self.ledger) {
            let known = self.files.iter().find(|file| file.is_same_file(&mark));
            // One that became shorter has other lines now.
            let from = known.map_or(0, |known| known.length);
            let from = if from > mark.length { 0 } else { from };
            let Ok((read, lines)) = lines_after(&path, from) else {
                seen.extend(known.copied());
                continue;
            };
            self.lines = self.lines.saturating_add(lines);
            let length = from.saturating_add(read);
            seen.push(mark.with_length(length));
        }
        self.files = seen;
        self.lines
    }
}

fn marks(ledger: &Path) -> BTreeMap<PathBuf, FileMark> {
    let files = ledger_files::all(ledger).into_iter();
    let marked = files.filter_map(|path| FileMark::at(&path).ok().map(|mark| (path, mark)));
    marked.collect()
}

/// Reads a file from a place to its end: how many bytes, and how many line feeds.
fn lines_after(path: &Path, from: u64) -> io::Result<(u64, u64)> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut part = vec![0; PART];
    let (mut read, mut lines) = (0_u64, 0_u64);
    loop {
        let length = file.read(&mut part)?;
        if length == 0 {
            return Ok((read, lines));
        }
        let bytes = part.get(..length).unwrap_or_default();
        let found = memchr_iter(b'\n', bytes).count();
        lines = lines.saturating_add(u64::try_from(found).unwrap_or_default());
        read = read.saturating_add(u64::try_from(length).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn counts(uptime: u64, begun: u64, active: u64) -> RequestCounts {
        RequestCounts {
            uptime,
            epoch: 0,
            begun,
            active,
            probes: 0,
        }
    }

    #[test]
    fn requests_without_a_line() {
        // (the process when it was first seen, the lines then; when it was last seen, the lines at its end; lost)
        for (case, first, before, last, end, want) in [
            ("all written", counts(0, 0, 0), 0, counts(9, 50, 0), 50, 0),
            ("some not yet", counts(0, 0, 0), 7, counts(9, 50, 0), 50, 7),
            (
                "some under way",
                counts(0, 0, 0),
                0,
                counts(9, 50, 4),
                46,
                4,
            ),
            (
                "more than was seen",
                counts(0, 0, 0),
                0,
                counts(9, 50, 0),
                60,
                0,
            ),
            (
                "seen later",
                counts(5, 30, 10),
                100,
                counts(9, 50, 0),
                130,
                0,
            ),
            (
                "seen later, and lost",
                counts(5, 30, 10),
                100,
                counts(9, 50, 0),
                112,
                18,
            ),
        ] {
            let ended = first.begun - first.active;
            let mut process = ProcessLines::begin(first, ended, before).unwrap();
            assert!(last.is_later_of(&process.last), "{case}");
            process.last = last;
            assert_eq!(process.lost(end), want, "{case}");
        }
        let mut process = ProcessLines::begin(counts(0, 0, 0), 0, 0).unwrap();
        process.last = RequestCounts {
            probes: 20,
            ..counts(9, 50, 0)
        };
        assert_eq!(process.lost(29), 1, "probes have no line");
        for (case, last, now, same) in [
            ("the same", counts(5, 7, 0), counts(5, 7, 0), true),
            ("another, earlier", counts(5, 7, 0), counts(1, 9, 0), false),
            (
                "another, with fewer",
                counts(0, 7, 0),
                counts(0, 0, 0),
                false,
            ),
        ] {
            assert_eq!(now.is_later_of(&last), same, "{case}");
        }
        let hot = RequestCounts {
            epoch: 1,
            ..counts(0, 0, 0)
        };
        assert!(ProcessLines::begin(hot, 0, 0).is_none());
    }

    #[test]
    fn lines_are_counted_through_rotations() {
        let place = tempfile::tempdir().unwrap();
        let ledger = place.path().join("ledger.jsonl");
        fs::write(&ledger, "old\nold\ncut").unwrap();
        let mut written = WrittenLines::from_end(ledger.clone());
        assert_eq!(written.count(), 0);
        let mut file = File::options().append(true).open(&ledger).unwrap();
        io::Write::write_all(&mut file, b"\na\nb\n").unwrap();
        assert_eq!(written.count(), 3);
        fs::rename(&ledger, place.path().join("ledger-20261128T120000Z.jsonl")).unwrap();
        io::Write::write_all(&mut file, b"c\n").unwrap();
        fs::write(&ledger, "d\ne\n").unwrap();
        assert_eq!(written.count(), 6);
        fs::remove_file(place.path().join("ledger-20261128T120000Z.jsonl")).unwrap();
        fs::write(&ledger, "f\n").unwrap();
        assert_eq!(written.count(), 7, "it became shorter");
        assert_eq!(written.count(), 7);
    }
}
