//! The ledger's file, and the ones before it: those that were set aside, with the time in their names.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use time::OffsetDateTime;
use time::macros::format_description;

/// The length of a time in a name.
const TIME: usize = "20261123T120000Z".len();

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
    let directory = match ledger.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let file_name = entry?.file_name();
        if let Some(mark) = file_name.to_str().and_then(is_aside) {
            found.push((mark, ledger.with_file_name(&file_name)));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// All that are there: those that were set aside, and the file itself.
pub fn all(ledger: &Path) -> Vec<PathBuf> {
    let mut found = aside(ledger).unwrap_or_default();
    found.extend(ledger.exists().then(|| ledger.to_owned()));
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
