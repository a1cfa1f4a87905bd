//! Reads all keys of a file.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use hashbrown::HashMap;

use super::key::{self, Digest, FileKey, Texts};
use crate::tell::MOST;

/// The longest line, in bytes. A key needs about 700 at most.
const LONGEST: u64 = 64 * 1024;

/// The keys of a file, in its order, with unique digests and ids.
#[derive(Debug, Default)]
pub struct ReadKeys {
    /// The keys.
    pub keys: Vec<(Digest, FileKey)>,
    /// The line of each digest.
    pub lines: HashMap<Digest, usize>,
}

/// Reads a whole file.
///
/// # Errors
/// Its problems, by line; after many of them the rest is omitted.
pub fn read(file: &Path) -> Result<ReadKeys, Vec<String>> {
    let unreadable = |error: io::Error| vec![format!("cannot be read: {error}")];
    let file = File::open(file).map_err(unreadable)?;
    from(BufReader::with_capacity(1 << 18, file))
}

fn from(mut file: impl io::BufRead) -> Result<ReadKeys, Vec<String>> {
    let mut reading = ReadKeys::default();
    let mut problems = Vec::new();
    let mut texts = Texts::default();
    let mut line = Vec::new();
    for number in 1_usize.. {
        line.clear();
        let read = file.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return Err(vec![format!("cannot be read: {error}")]),
        }
        if problems.len() > MOST {
            problems.push("and perhaps more: it was read no further".to_owned());
            break;
        }
        let at = |problem: String| format!("line {number}: {problem}");
        if u64::try_from(line.len()) == Ok(LONGEST) && !line.ends_with(b"\n") {
            problems.push(at("is too long for a key".to_owned()));
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match key::parse(&line, &mut texts) {
            Err(found) => problems.extend(found.into_iter().map(at)),
            Ok((digest, key)) => match reading.lines.insert(digest, number) {
                Some(other) => {
                    problems.push(at(format!("sha256: is the digest of line {other} too")))
                }
                None => reading.keys.push((digest, key)),
            },
        }
    }
    if problems.is_empty() {
        problems = ids_given_twice(&reading);
    }
    if problems.is_empty() {
        Ok(reading)
    } else {
        Err(problems)
    }
}

fn ids_given_twice(reading: &ReadKeys) -> Vec<String> {
    let mut ids: HashMap<&str, &Digest> = HashMap::with_capacity(reading.keys.len());
    let line = |digest: &Digest| reading.lines.get(digest).copied().unwrap_or_default();
    let mut problems = Vec::new();
    for (digest, key) in &reading.keys {
        if let Some(other) = ids.insert(&key.id, digest) {
            let (this, other) = (line(digest), line(other));
            problems.push(format!("line {this}: id: is the id of line {other} too"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, digit: &str) -> String {
        format!(
            "{{\"id\":\"{id}\",\"sha256\":\"{}\",\"group\":\"g\"}}\n",
            digit.repeat(64)
        )
    }

    #[test]
    fn files() {
        let [a, b] = [line("a", "a"), line("b", "b")];
        let long = format!("{{\"id\":\"{}\"}}\n", "x".repeat(70_000));
        type ReadResult<'a> = Result<usize, Vec<&'a str>>;
        let cases: [(&str, String, ReadResult<'_>); 9] = [
            ("empty", String::new(), Ok(0)),
            ("two", format!("{a}{b}"), Ok(2)),
            (
                "blank lines, CRLF, no end of line",
                format!("\n{}\r\n \n{}", a.trim(), b.trim()),
                Ok(2),
            ),
            (
                "cut",
                a.get(..50).unwrap().to_owned(),
                Err(vec!["line 1: is not valid JSON"]),
            ),
            (
                "digest twice",
                format!("{a}\n{b}{}", line("c", "A")),
                Err(vec!["line 4: sha256: is the digest of line 1 too"]),
            ),
            (
                "id twice",
                format!("{a}{b}{}", line("a", "c")),
                Err(vec!["line 3: id: is the id of line 1 too"]),
            ),
            (
                "several",
                format!("{{}}\n{a}[]\n"),
                Err(vec![
                    "line 1: id: is missing",
                    "line 1: sha256: must be the 64 hexadecimal digits of the key's SHA-256",
                    "line 1: group: is missing",
                    "line 3: must be a JSON object",
                ]),
            ),
            (
                "too long",
                format!("{a}{long}"),
                Err(vec!["line 2: is too long for a key"]),
            ),
            (
                "two in a line",
                format!("{}{b}", a.trim()),
                Err(vec!["line 1: is not valid JSON"]),
            ),
        ];
        for (case, text, want) in cases {
            let got = from(text.as_bytes()).map(|reading| reading.keys.len());
            let want = want
                .map_err(|problems| problems.into_iter().map(str::to_owned).collect::<Vec<_>>());
            let form = |problems: Vec<String>| -> Vec<String> {
                let cut =
                    |text: String| text.split(" at line").next().unwrap_or_default().to_owned();
                problems.into_iter().map(cut).collect()
            };
            assert_eq!(got.map_err(form), want, "{case}");
        }
        let many = from("x\n".repeat(1000).as_bytes()).unwrap_err();
        assert_eq!(many.len(), MOST + 2, "it stops at some time");
    }
}
