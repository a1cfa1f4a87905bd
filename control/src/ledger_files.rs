//! The ledger's file, and the ones before it: those that were set aside, with the time in their names, and those that another
//! program has set aside under names of its own.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use time::macros::format_description;

/// The length of a time in a name.
const TIME: usize = "20261123T120000Z".len();

/// Returns the length of a ledger file whose last line is cut off; `None` where it ends with a whole line, or is no file.
///
/// # Errors
/// As the system gives them.
pub fn cut_end(ledger: &Path) -> io::Result<Option<u64>> {
    let mut file = match File::open(ledger) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let found = file.metadata()?;
    if !found.is_file() || found.len() == 0 {
        return Ok(None);
    }
    let mut last = [0];
    let at = file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok((last != *b"\n").then_some(at.saturating_add(1)))
}

/// Ends a line that is cut off, so that the next one stands on a line of its own.
///
/// # Errors
/// As the system gives them.
pub fn end_line(ledger: &Path) -> io::Result<()> {
    let mut file = File::options().append(true).open(ledger)?;
    file.write_all(b"\n")
}

/// A name for the file that is set aside at this time, which no file has.
///
/// # Errors
/// As the system gives them.
pub fn aside_at(ledger: &Path, now: OffsetDateTime) -> io::Result<PathBuf> {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    let time = now.format(&format).map_err(io::Error::other)?;
    let (stem, extension) = name(ledger);
    // Several within a second are told apart by a number.
    let names = (0u32..).map(|number| match number {
        0 => format!("{stem}-{time}{extension}"),
        _ => format!("{stem}-{time}.{number}{extension}"),
    });
    let mut paths = names.map(|name| ledger.with_file_name(name));
    let aside = paths.find(|path| !path.exists());
    aside.ok_or_else(|| io::ErrorKind::AlreadyExists.into())
}

/// The files that were set aside, the oldest first.
///
/// # Errors
/// The directory cannot be read.
pub fn aside(ledger: &Path) -> io::Result<Vec<PathBuf>> {
    let (stem, extension) = name(ledger);
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
            .filter(|_| is_time && time.len() == TIME)
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(directory(ledger))? {
        let file_name = entry?.file_name();
        if let Some(mark) = file_name.to_str().and_then(is_aside) {
            found.push((mark, ledger.with_file_name(&file_name)));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Files beside the ledger that may be of it and have names that are not ours, such as `ledger.jsonl.1` and
/// `ledger-20261128.jsonl` of logrotate: the longest first.
///
/// # Errors
/// The directory cannot be read.
pub fn of_others(ledger: &Path) -> io::Result<Vec<PathBuf>> {
    let own = aside(ledger)?;
    let (stem, extension) = name(ledger);
    let whole = format!("{stem}{extension}");
    let is_marked = |rest: &str| {
        let mut first = rest.chars();
        first.next().is_some_and(|first| !first.is_alphanumeric())
    };
    let is_beside = |name: &str| {
        let behind = name.strip_prefix(&whole);
        let within = name.strip_prefix(&stem);
        let within = within.and_then(|rest| rest.strip_suffix(&extension));
        behind.is_some_and(is_marked) || within.is_some_and(is_marked) && name != whole
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(directory(ledger))? {
        let entry = entry?;
        let path = ledger.with_file_name(entry.file_name());
        if !is_beside(&entry.file_name().to_string_lossy()) || own.contains(&path) {
            continue;
        }
        // A link is followed; what it leads to is known by its first line.
        if let Ok(about) = fs::metadata(&path)
            && about.is_file()
        {
            found.push((Reverse(about.len()), path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn directory(ledger: &Path) -> &Path {
    match ledger.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// All that are there: those that were set aside, and the file itself.
pub fn all(ledger: &Path) -> Vec<PathBuf> {
    let mut found = aside(ledger).unwrap_or_default();
    // A device may be without end.
    found.extend(ledger.is_file().then(|| ledger.to_owned()));
    found
}

/// The name without its extension, and the extension with its dot.
fn name(ledger: &Path) -> (String, String) {
    let text = |part: &OsStr| part.to_string_lossy().into_owned();
    let extension = ledger
        .extension()
        .map(|extension| format!(".{}", text(extension)));
    let stem = ledger.file_stem().map(text);
    (stem.unwrap_or_default(), extension.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others() {
        for (ledger, name, want) in [
            ("ledger.jsonl", "ledger.jsonl.1", true),
            ("ledger.jsonl", "ledger.jsonl-20261128", true),
            ("ledger.jsonl", "ledger-20261128.jsonl", true),
            ("ledger.jsonl", "ledger.1.jsonl", true),
            ("ledger.jsonl", "ledger.jsonl.bak", true),
            ("ledger.jsonl", "ledger.jsonl", false),
            ("ledger.jsonl", "ledger-20261128T120000Z.jsonl", false),
            ("ledger.jsonl", "ledgers.jsonl", false),
            ("ledger.jsonl", "other.jsonl.1", false),
            ("ledger.jsonl", "ledger", false),
            ("ledger", "ledger.1", true),
            ("ledger", "ledger-20261128", true),
            ("ledger", "ledger2", false),
        ] {
            let place = tempfile::tempdir().unwrap();
            fs::write(place.path().join(name), "x").unwrap();
            fs::create_dir(place.path().join("ledger.jsonl.d")).unwrap();
            let found = of_others(&place.path().join(ledger)).unwrap();
            let want: Vec<_> = want.then(|| place.path().join(name)).into_iter().collect();
            assert_eq!(found, want, "{name} beside {ledger}");
        }
    }
}
