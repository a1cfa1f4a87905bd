//! Detection of files that get no more.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time after its last change at which a file that was set aside counts as complete: Envoy writes what it holds back and opens
/// the new file well within it.
const SETTLED: Duration = Duration::from_secs(30);

/// The lengths of files, and since when they have them. By a clock that nobody sets: the times of files are of one that may be
/// set while Envoy still writes.
#[derive(Debug, Default)]
pub struct SettledFiles(BTreeMap<PathBuf, (u64, Instant)>);

impl SettledFiles {
    /// Whether a file has had this length for so long that it gets no more.
    pub fn has(&mut self, path: &Path, length: u64, now: Instant) -> bool {
        let seen = self.0.entry(path.to_owned()).or_insert((length, now));
        if seen.0 != length {
            *seen = (length, now);
        }
        now.saturating_duration_since(seen.1) >= SETTLED
    }

    /// Forgets all but these.
    pub fn keep(&mut self, paths: &[PathBuf]) {
        self.0.retain(|path, _| paths.contains(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_file_has_settled() {
        let (a, b) = (Path::new("a"), Path::new("b"));
        let begun = Instant::now();
        let mut files = SettledFiles::default();
        for (case, path, length, seconds, want) in [
            ("seen for the first time", a, 7, 0, false),
            ("not for long", a, 7, 29, false),
            ("for long", a, 7, 30, true),
            ("another one", b, 7, 30, false),
            ("it has grown", a, 8, 40, false),
            ("and not since then", a, 8, 70, true),
        ] {
            let now = begun.checked_add(Duration::from_secs(seconds)).unwrap();
            assert_eq!(files.has(path, length, now), want, "{case}");
        }
        files.keep(&[b.to_owned()]);
        let later = begun.checked_add(Duration::from_secs(80)).unwrap();
        assert!(!files.has(a, 8, later), "forgotten");
        assert!(files.has(b, 7, later), "kept");
    }
}
