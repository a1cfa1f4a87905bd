//! Lines of any length, in bounded memory.

use std::io::{self, BufRead};

use memchr::memchr;

/// The longest line that is kept, in bytes without its line feed.
pub const LONGEST: usize = 1 << 20;

/// The result of reading a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRead {
    /// A line; `ended` by a line feed, or by the end of the input.
    Line {
        /// Whether the line feed was there.
        ended: bool,
    },
    /// A line longer than [`LONGEST`], which was skipped.
    TooLong,
    /// The input ends.
    End,
}

/// Reads the next line into `line`, without its line feed.
///
/// # Errors
/// As the input gives them.
pub fn next(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<LineRead> {
    line.clear();
    let mut too_long = false;
    let mut some = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            return Ok(match (too_long, some) {
                (true, _) => LineRead::TooLong,
                (false, true) => LineRead::Line { ended: false },
                (false, false) => LineRead::End,
            });
        }
        some = true;
        let end = memchr(b'\n', chunk);
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len().saturating_add(part.len()) > LONGEST {
            too_long = true;
            line.clear();
        } else if !too_long {
            line.extend_from_slice(part);
        }
        let used = part.len().saturating_add(usize::from(end.is_some()));
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long {
                LineRead::TooLong
            } else {
                LineRead::Line { ended: true }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    /// Every line, by a buffer of so many bytes; what is too long as `None`.
    fn all(text: &[u8], buffer: usize) -> Vec<Option<(Vec<u8>, bool)>> {
        let mut input = BufReader::with_capacity(buffer, text);
        let mut line = Vec::new();
        let mut all = Vec::new();
        loop {
            match next(&mut input, &mut line).unwrap() {
                LineRead::Line { ended } => all.push(Some((line.clone(), ended))),
                LineRead::TooLong => all.push(None),
                LineRead::End => return all,
            }
        }
    }

    #[test]
    fn lines() {
        let whole = |text: &str| Some((text.as_bytes().to_vec(), true));
        let last = |text: &str| Some((text.as_bytes().to_vec(), false));
        let cases = [
            ("nothing", "", vec![]),
            ("one", "a\n", vec![whole("a")]),
            ("not ended", "a\nbc", vec![whole("a"), last("bc")]),
            ("blank", "\n\na\n", vec![whole(""), whole(""), whole("a")]),
            ("carriage return stays", "a\r\n", vec![whole("a\r")]),
        ];
        for (case, text, want) in cases {
            for buffer in [1, 2, 3, 100] {
                assert_eq!(
                    all(text.as_bytes(), buffer),
                    want,
                    "{case}, buffer of {buffer}"
                );
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_not_kept() {
        for buffer in [1000, 4096, 3 << 20] {
            let mut text = vec![b'x'; LONGEST];
            text.extend_from_slice(b"\ny\n");
            text.extend(vec![b'x'; LONGEST + 1]);
            text.extend_from_slice(b"\nz\n");
            text.extend(vec![b'x'; 3 * LONGEST]);
            let lines: Vec<_> = all(&text, buffer)
                .into_iter()
                .map(|line| line.map(|(text, _)| text.len()))
                .collect();
            assert_eq!(
                lines,
                [Some(LONGEST), Some(1), None, Some(1), None],
                "buffer of {buffer}"
            );
        }
        let mut line = Vec::new();
        let text = vec![b'x'; 64 << 20];
        next(
            &mut BufReader::with_capacity(4096, text.as_slice()),
            &mut line,
        )
        .unwrap();
        assert!(line.capacity() <= 2 * LONGEST, "{}", line.capacity());
    }
}
