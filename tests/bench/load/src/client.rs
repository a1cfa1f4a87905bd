//! One connection to the gateway.

use std::io;
use std::time::Duration;

use httparse::Status;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::body::{BodyFraming, BodyReader};
use crate::clock;
use crate::target::Target;

/// The maximum number of bytes in one read.
const BUFFER: usize = 256 * 1024;
/// More headers than any answer here has.
const HEADERS: usize = 64;

/// The receive buffer of a slow reader's socket, in bytes. The system doubles it.
const SLOW_SOCKET: u32 = 4096;
/// The place of a failure relative to the answer, as messages name it.
const BEFORE: &str = "before the answer";
const INSIDE: &str = "inside the answer";

/// The slowness of a client, for a while. After that it is as fast as it can be.
#[derive(Debug, Clone, Copy, Default)]
pub struct Slowness {
    /// For how long from an exchange's beginning.
    pub time: Duration,
    /// Bytes of the request that it sends in a second; `None` for all at once.
    pub send: Option<usize>,
    /// Bytes of the answer that it reads in a second; `None` for all that come.
    pub read: Option<usize>,
}

/// A connection, made when it is needed and again when it was closed.
#[derive(Debug)]
pub struct Client {
    to: Target,
    slow: Slowness,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
    /// The offset in the buffer at which the unread bytes end.
    end: usize,
    /// The number of times that it was connected.
    pub connects: u64,
    /// The number of kept connections that were found closed when they were to be used. Nothing was sent, nothing lost.
    pub stale: u64,
}

impl Client {
    /// A client of this address.
    pub fn new(to: Target, slow: Slowness) -> Self {
        Self {
            to,
            slow,
            stream: None,
            buffer: vec![0; BUFFER],
            end: 0,
            connects: 0,
            stale: 0,
        }
    }

    /// Leaves without another word.
    pub fn hang_up(&mut self) {
        self.stream = None;
    }

    /// Sends a request and reads the answer whole; `sink` gets its body with the time each part came.
    /// Says the status.
    ///
    /// # Errors
    /// The failure, as text that is the same for every failure of its kind.
    pub async fn exchange(
        &mut self,
        request: &[u8],
        sink: impl FnMut(&[u8], u64),
    ) -> Result<u16, String> {
        let answer = self.attempt(request, sink).await;
        if answer.is_err() {
            self.stream = None;
        }
        answer
    }

    async fn attempt(
        &mut self,
        request: &[u8],
        mut sink: impl FnMut(&[u8], u64),
    ) -> Result<u16, String> {
        let begun = clock::now();
        if self.stream.as_ref().is_some_and(is_closed) {
            self.stream = None;
            self.stale += 1;
        }
        if self.stream.is_none() {
            self.stream = Some(self.connect().await?);
            self.end = 0;
            self.connects += 1;
        }
        let slow_until = begun + clock::nanos(self.slow.time);
        let stream = self.stream.as_mut().ok_or("no connection")?;
        send(stream, request, self.slow.send, slow_until).await?;
        let (status, mut body, close) = loop {
            if let Some((length, head)) = head(&self.buffer[..self.end])? {
                self.buffer.copy_within(length..self.end, 0);
                self.end -= length;
                break head;
            }
            fill(stream, &mut self.buffer, &mut self.end, BEFORE).await?;
        };
        loop {
            let now = clock::now();
            let read = body.feed(&self.buffer[..self.end], |bytes| sink(bytes, now))?;
            self.buffer.copy_within(read..self.end, 0);
            self.end -= read;
            if body.is_done() {
                break;
            }
            let mut room = self.buffer.len();
            if let Some(piece) = self.slow.read
                && now < slow_until
            {
                tokio::time::sleep(Duration::from_secs(1)).await;
                room = room.min(self.end + piece);
            }
            fill(stream, &mut self.buffer[..room], &mut self.end, INSIDE).await?;
        }
        if self.end != 0 {
            return Err("bytes behind the answer".to_owned());
        }
        if close {
            self.stream = None;
        }
        Ok(status)
    }

    async fn connect(&self) -> Result<TcpStream, String> {
        let to = self.to.address()?;
        let told = |error: io::Error| format!("connect: {}", error.kind());
        let socket = TcpSocket::new_v4().map_err(told)?;
        if self.slow.read.is_some() {
            socket.set_recv_buffer_size(SLOW_SOCKET).map_err(told)?;
        }
        let stream = socket.connect(to).await.map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        Ok(stream)
    }
}

/// Whether a connection that is kept was closed meanwhile, which every client of HTTP looks for before it sends
/// (RFC 9112, section 9.5).
fn is_closed(stream: &TcpStream) -> bool {
    !matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// Sends all of it; until `slow_until` only so many bytes in a second.
async fn send(
    stream: &mut TcpStream,
    bytes: &[u8],
    piece: Option<usize>,
    slow_until: u64,
) -> Result<(), String> {
    let mut rest = bytes;
    while let Some(piece) = piece
        && rest.len() > piece
        && clock::now() < slow_until
    {
        let (now, later) = rest.split_at(piece);
        stream.write_all(now).await.map_err(unsent)?;
        rest = later;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    stream.write_all(rest).await.map_err(unsent)
}

fn unsent(error: io::Error) -> String {
    format!("write: {}", error.kind())
}

/// An answer's head: its length, then the status, the body to come and whether the connection ends with it. `None` if
/// it is not complete.
type ParsedHead = (usize, (u16, BodyReader, bool));

fn head(bytes: &[u8]) -> Result<Option<ParsedHead>, String> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(Status::Partial) => Ok(None),
        Ok(Status::Complete(length)) => {
            let body = BodyReader::new(BodyFraming::of(response.headers)?);
            let close = response.headers.iter().any(|header| {
                header.name.eq_ignore_ascii_case("connection")
                    && header.value.eq_ignore_ascii_case(b"close")
            });
            Ok(Some((
                length,
                (response.code.unwrap_or_default(), body, close),
            )))
        }
        Err(error) => Err(format!("not HTTP: {error}")),
    }
}

async fn fill(
    stream: &mut TcpStream,
    buffer: &mut [u8],
    end: &mut usize,
    place: &str,
) -> Result<(), String> {
    match stream.read(&mut buffer[*end..]).await {
        Ok(0) => Err(format!("closed {place}")),
        Ok(count) => {
            *end += count;
            Ok(())
        }
        Err(error) => Err(format!("{} {place}", error.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Sends two requests to a server that reads one, writes this, and closes; returns both results, `stale` and `connects`.
    async fn twice(said: &'static str) -> (Result<u16, String>, Result<u16, String>, u64, u64) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(said.as_bytes()).await;
            }
        });
        let mut client = Client::new(Target::At(at), Slowness::default());
        let first = client.exchange(b"GET / HTTP/1.1\r\n\r\n", |_, _| ()).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let second = client.exchange(b"GET / HTTP/1.1\r\n\r\n", |_, _| ()).await;
        (first, second, client.stale, client.connects)
    }

    #[tokio::test]
    async fn it_is_told_where_an_answer_broke_off() {
        let none = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let short = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell";
        let cases: [(&str, Result<u16, &str>, u64); 3] = [
            ("", Err("closed before the answer"), 0),
            (short, Err("closed inside the answer"), 0),
            // The second time the kept connection is found closed, which loses nothing.
            (none, Ok(200), 1),
        ];
        for (said, want, stale) in cases {
            let want = want.map_err(str::to_owned);
            assert_eq!(
                twice(said).await,
                (want.clone(), want, stale, 2),
                "{said:?}"
            );
        }
    }
}
