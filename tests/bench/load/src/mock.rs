//! A model source that answers from memory.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

use httparse::Status;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

use crate::body::{BodyFraming, BodyReader};
use crate::clock::{self, PreciseTimer};
use crate::json_answer::{JsonAnswer, json_answer};
use crate::sse;

/// The maximum number of bytes in one read.
const BUFFER: usize = 256 * 1024;
/// More headers than any request here has.
const HEADERS: usize = 64;

/// The answer that a request asks for.
#[derive(Debug, Clone, Copy, Default)]
struct MockRequest {
    /// A stream of so many events.
    events: Option<usize>,
    /// Nanoseconds between two of them.
    gap: u64,
    /// The JSON answer, where it is no stream.
    json: JsonAnswer,
    /// No answer of a model, but what was seen.
    seen: bool,
}

/// The counters of all connections together since they were last read.
#[derive(Debug, Default)]
struct Seen {
    requests: Cell<u64>,
    /// Requests whose head was there and whose answer was not yet sent whole: now, and at the most.
    now: Cell<u64>,
    most: Cell<u64>,
}

/// A request that is being answered.
struct Answering<'a>(&'a Seen);

impl Seen {
    fn begin(&self) -> Answering<'_> {
        self.requests.set(self.requests.get() + 1);
        self.now.set(self.now.get() + 1);
        self.most.set(self.most.get().max(self.now.get()));
        Answering(self)
    }

    /// The answer that tells it. After it counting begins anew.
    fn tell(&self) -> Vec<u8> {
        let (requests, most) = (self.requests.take(), self.most.replace(self.now.get()));
        let body = format!("{{\"requests\":{requests},\"most_at_once\":{most}}}");
        let length = body.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
        format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.now.set(self.0.now.get() - 1);
    }
}

/// Answers for ever.
///
/// # Errors
/// The address cannot be had.
pub async fn serve(listen: SocketAddr) -> Result<(), String> {
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| format!("{listen}: {error}"))?;
    let at = listener.local_addr().map_err(|error| error.to_string())?;
    println!("listening {at}");
    let seen = Rc::new(Seen::default());
    loop {
        let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        let seen = Rc::clone(&seen);
        spawn_local(async move {
            let _ = stream.set_nodelay(true);
            // A client that goes in the middle is nothing to tell of: the generator counts what is missing.
            let _ = connection(stream, &seen).await;
        });
    }
}

async fn connection(mut stream: TcpStream, seen: &Seen) -> Result<(), String> {
    let mut asked_for = JsonAnswer::default();
    let mut json = json_answer(asked_for);
    let timer = PreciseTimer::new().map_err(text)?;
    let mut buffer = vec![0; BUFFER];
    let mut end = 0;
    loop {
        let (length, asked, mut body) = loop {
            if let Some(head) = head(&buffer[..end])? {
                break head;
            }
            let count = stream.read(&mut buffer[end..]).await.map_err(text)?;
            if count == 0 {
                return Ok(());
            }
            end += count;
        };
        buffer.copy_within(length..end, 0);
        end -= length;
        if asked.seen {
            stream.write_all(&seen.tell()).await.map_err(text)?;
            continue;
        }
        let _answering = seen.begin();
        loop {
            let read = body.feed(&buffer[..end], |_| {})?;
            buffer.copy_within(read..end, 0);
            end -= read;
            if body.is_done() {
                break;
            }
            let count = stream.read(&mut buffer[end..]).await.map_err(text)?;
            if count == 0 {
                return Ok(());
            }
            end += count;
        }
        match asked.events {
            None => {
                if asked.json != asked_for {
                    asked_for = asked.json;
                    json = json_answer(asked_for);
                }
                stream.write_all(&json).await.map_err(text)?;
            }
            Some(events) if asked.gap == 0 => {
                stream.write_all(&at_once(events)).await.map_err(text)?;
            }
            Some(events) => paced(&mut stream, &timer, events, asked.gap).await?,
        }
    }
}

/// A request's head: its length, what it asks for, and the body to come. `None` if it is not complete.
fn head(bytes: &[u8]) -> Result<Option<(usize, MockRequest, BodyReader)>, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Partial) => Ok(None),
        Ok(Status::Complete(length)) => {
            let number = |name: &str| {
                let header = request
                    .headers
                    .iter()
                    .find(|h| h.name.eq_ignore_ascii_case(name))?;
                std::str::from_utf8(header.value)
                    .ok()?
                    .parse::<usize>()
                    .ok()
            };
            let asked = MockRequest {
                events: number("x-bench-events"),
                gap: number("x-bench-gap-us").map_or(0, |gap| gap as u64 * 1000),
                json: JsonAnswer {
                    bytes: number("x-bench-answer-bytes").unwrap_or(JsonAnswer::BYTES),
                    vendors_headers: number("x-bench-vendors-headers").is_some(),
                },
                seen: request.path == Some("/bench/seen"),
            };
            Ok(Some((
                length,
                asked,
                BodyReader::new(BodyFraming::of(request.headers)?),
            )))
        }
        Err(error) => Err(error.to_string()),
    }
}

const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
cache-control: no-cache\r\nx-request-id: req_mock\r\ntransfer-encoding: chunked\r\n\r\n";

/// One event as a chunk, and where in it the time stands.
fn event_chunk() -> (Vec<u8>, usize) {
    let size = format!("{:x}\r\n", sse::EVENT.len());
    let chunk = [size.as_bytes(), sse::EVENT, b"\r\n"].concat();
    (chunk, size.len() + sse::place())
}

/// The end of the stream and the end of the chunks.
fn last_chunks() -> Vec<u8> {
    let size = format!("{:x}\r\n", sse::END.len());
    [size.as_bytes(), sse::END, b"\r\n0\r\n\r\n"].concat()
}

/// The whole stream: every event a chunk, all sent now.
fn at_once(events: usize) -> Vec<u8> {
    let (mut chunk, place) = event_chunk();
    sse::stamp(&mut chunk[place..], clock::now());
    let mut all = Vec::with_capacity(STREAM_HEAD.len() + events * chunk.len() + 512);
    all.extend_from_slice(STREAM_HEAD);
    for _ in 0..events {
        all.extend_from_slice(&chunk);
    }
    all.extend_from_slice(&last_chunks());
    all
}

/// The stream, an event every `gap` nanoseconds.
async fn paced(
    stream: &mut TcpStream,
    timer: &PreciseTimer,
    events: usize,
    gap: u64,
) -> Result<(), String> {
    let (mut chunk, place) = event_chunk();
    stream.write_all(STREAM_HEAD).await.map_err(text)?;
    let begun = clock::now();
    for number in 1..=events as u64 {
        timer.until(begun + number * gap).await.map_err(text)?;
        sse::stamp(&mut chunk[place..], clock::now());
        stream.write_all(&chunk).await.map_err(text)?;
    }
    stream.write_all(&last_chunks()).await.map_err(text)
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_how_many_were_answered_at_once() {
        let seen = Seen::default();
        let told = |seen: &Seen| {
            let answer = String::from_utf8(seen.tell()).unwrap();
            answer.split("\r\n\r\n").nth(1).unwrap().to_owned()
        };
        let first = seen.begin();
        drop(seen.begin());
        drop(seen.begin());
        assert_eq!(told(&seen), r#"{"requests":3,"most_at_once":2}"#);
        assert_eq!(told(&seen), r#"{"requests":0,"most_at_once":1}"#, "anew");
        drop(first);
        assert_eq!(told(&seen), r#"{"requests":0,"most_at_once":1}"#);
        assert_eq!(told(&seen), r#"{"requests":0,"most_at_once":0}"#);
    }
}
