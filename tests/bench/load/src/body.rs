//! The framing of HTTP/1.1 bodies (RFC 9112, section 6), read as it comes.

use httparse::Status;

/// The way in which the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// After so many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
}

impl BodyFraming {
    /// Reads the framing from the head. A message without either header has no body.
    ///
    /// # Errors
    /// A length that is no number.
    pub fn of(headers: &[httparse::Header<'_>]) -> Result<Self, String> {
        let mut framing = Self::Length(0);
        for header in headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                let length = std::str::from_utf8(header.value)
                    .ok()
                    .and_then(|v| v.parse().ok());
                framing = Self::Length(length.ok_or("a content-length that is no number")?);
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                return Ok(Self::Chunked);
            }
        }
        Ok(framing)
    }
}

/// A body being read.
#[derive(Debug)]
pub struct BodyReader(BodyState);

#[derive(Debug, Clone, Copy, PartialEq)]
enum BodyState {
    /// The number of bytes still to come.
    Length(u64),
    /// The line with a chunk's size is to come.
    Size,
    /// The number of bytes of a chunk still to come, with the line end behind it.
    Chunk(u64),
    /// Trailers, up to the empty line.
    Trailers,
    Done,
}

impl BodyReader {
    /// A body of which nothing has come yet.
    pub fn new(framing: BodyFraming) -> Self {
        Self(match framing {
            BodyFraming::Length(0) => BodyState::Done,
            BodyFraming::Length(length) => BodyState::Length(length),
            BodyFraming::Chunked => BodyState::Size,
        })
    }

    /// Whether all of it has come.
    pub fn is_done(&self) -> bool {
        self.0 == BodyState::Done
    }

    /// Reads what has come, hands the content to `sink`, and says how much is done with. The rest is to be given again
    /// with more behind it.
    ///
    /// # Errors
    /// A chunk without a size.
    pub fn feed(&mut self, bytes: &[u8], mut sink: impl FnMut(&[u8])) -> Result<usize, String> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            match self.0 {
                BodyState::Done => return Ok(at),
                BodyState::Length(left) => {
                    let taken = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    if taken > 0 {
                        sink(&rest[..taken]);
                    }
                    let left = left - taken as u64;
                    self.0 = if left == 0 {
                        BodyState::Done
                    } else {
                        BodyState::Length(left)
                    };
                    return Ok(at + taken);
                }
                BodyState::Size => match httparse::parse_chunk_size(rest) {
                    Ok(Status::Complete((line, 0))) => {
                        at += line;
                        self.0 = BodyState::Trailers;
                    }
                    Ok(Status::Complete((line, size))) => {
                        at += line;
                        self.0 = BodyState::Chunk(size + 2);
                    }
                    Ok(Status::Partial) => return Ok(at),
                    Err(_) => return Err("a chunk without a size".to_owned()),
                },
                BodyState::Chunk(left) => {
                    let taken = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let content = taken.min(left.saturating_sub(2) as usize);
                    if content > 0 {
                        sink(&rest[..content]);
                    }
                    at += taken;
                    let left = left - taken as u64;
                    if left > 0 {
                        self.0 = BodyState::Chunk(left);
                        return Ok(at);
                    }
                    self.0 = BodyState::Size;
                }
                BodyState::Trailers => {
                    let Some(end) = memchr::memchr(b'\n', rest) else {
                        return Ok(at);
                    };
                    at += end + 1;
                    if rest[..end].trim_ascii().is_empty() {
                        self.0 = BodyState::Done;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_come_out_whole_however_they_are_cut() {
        let cases: [(&str, BodyFraming, &str, &str, usize); 4] = [
            ("length", BodyFraming::Length(5), "helloHTTP", "hello", 4),
            (
                "chunks",
                BodyFraming::Chunked,
                "5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\nX",
                "hello, world",
                1,
            ),
            (
                "trailers",
                BodyFraming::Chunked,
                "1\r\na\r\n0\r\nx: y\r\n\r\n",
                "a",
                0,
            ),
            ("nothing", BodyFraming::Length(0), "X", "", 1),
        ];
        for (name, framing, wire, want, left) in cases {
            for step in 1..=wire.len() {
                let (mut body, mut got, mut buffer) =
                    (BodyReader::new(framing), Vec::new(), Vec::new());
                let mut over = 0;
                for piece in wire.as_bytes().chunks(step) {
                    buffer.extend_from_slice(piece);
                    let done = body.feed(&buffer, |b| got.extend_from_slice(b)).unwrap();
                    buffer.drain(..done);
                    over = buffer.len();
                }
                assert!(body.is_done(), "{name}, {step} at a time");
                assert_eq!(got, want.as_bytes(), "{name}, {step} at a time");
                assert_eq!(over, left, "{name}, {step} at a time");
            }
        }
    }

    #[test]
    fn a_size_that_is_none_is_an_error() {
        assert!(
            BodyReader::new(BodyFraming::Chunked)
                .feed(b"zz\r\n", |_| {})
                .is_err()
        );
    }
}
