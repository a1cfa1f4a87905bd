//! One connection to the gateway.

use std::net::SocketAddr;

use httparse::Status;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::body::{Body, Framing};
use crate::clock;

/// How much is read at once.
const BUFFER: usize = 256 * 1024;
/// More headers than any answer here has.
const HEADERS: usize = 64;

/// A connection, made when it is needed and again when it was closed.
#[derive(Debug)]
pub struct Client {
    to: SocketAddr,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
    /// Where in the buffer what was not yet read ends.
    end: usize,
    /// How often it was connected.
    pub connects: u64,
}

impl Client {
    /// A client of this address.
    pub fn new(to: SocketAddr) -> Self {
        Self {
            to,
            stream: None,
            buffer: vec![0; BUFFER],
            end: 0,
            connects: 0,
        }
    }

    /// Sends a request and reads the answer whole; `sink` gets its body with the time each part came.
    /// Says the status.
    ///
    /// # Errors
    /// What went wrong, in words that are the same whenever the same goes wrong.
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
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.to)
                .await
                .map_err(|error| format!("connect: {}", error.kind()))?;
            stream
                .set_nodelay(true)
                .map_err(|error| format!("nodelay: {}", error.kind()))?;
            self.stream = Some(stream);
            self.end = 0;
            self.connects += 1;
        }
        let stream = self.stream.as_mut().ok_or("no connection")?;
        stream
            .write_all(request)
            .await
            .map_err(|error| format!("write: {}", error.kind()))?;
        let (status, mut body, close) = loop {
            if let Some((length, head)) = head(&self.buffer[..self.end])? {
                self.buffer.copy_within(length..self.end, 0);
                self.end -= length;
                break head;
            }
            fill(stream, &mut self.buffer, &mut self.end).await?;
        };
        loop {
            let now = clock::now();
            let read = body.feed(&self.buffer[..self.end], |bytes| sink(bytes, now))?;
            self.buffer.copy_within(read..self.end, 0);
            self.end -= read;
            if body.is_done() {
                break;
            }
            fill(stream, &mut self.buffer, &mut self.end).await?;
        }
        if self.end != 0 {
            return Err("bytes behind the answer".to_owned());
        }
        if close {
            self.stream = None;
        }
        Ok(status)
    }
}

/// An answer's head: its length, then the status, the body to come and whether the connection ends with it. `None` if
/// it is not complete.
type Head = (usize, (u16, Body, bool));

fn head(bytes: &[u8]) -> Result<Option<Head>, String> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(Status::Partial) => Ok(None),
        Ok(Status::Complete(length)) => {
            let body = Body::new(Framing::of(response.headers)?);
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

async fn fill(stream: &mut TcpStream, buffer: &mut [u8], end: &mut usize) -> Result<(), String> {
    match stream.read(&mut buffer[*end..]).await {
        Ok(0) => Err("closed before the answer's end".to_owned()),
        Ok(count) => {
            *end += count;
            Ok(())
        }
        Err(error) => Err(format!("read: {}", error.kind())),
    }
}
