//! The request to send: the same bytes each time, but for the number in its key.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::cli::LoadPlan;

/// A request, ready to be written.
#[derive(Debug, Clone)]
pub struct Request {
    bytes: Vec<u8>,
    /// The range of the key's number in the bytes.
    number: Option<Range<usize>>,
    keys: u64,
    /// The state of the generator that chooses a key: any order will do that no cache foresees.
    draw: u64,
}

impl Request {
    /// The request that the plan describes; `seed` makes each connection choose other keys.
    ///
    /// # Errors
    /// The body cannot be read.
    pub fn new(plan: &LoadPlan, seed: u64) -> Result<Self, String> {
        let (method, body) = (plan.method.as_deref(), plan.body.as_deref());
        let mut request = Self::of(method, &plan.path, &plan.headers, body)?;
        request.keys = plan.keys;
        request.draw = seed;
        Ok(request)
    }

    /// A request with these header lines, and the body that is in this file. Without a method it is a POST if it has
    /// a body, else a GET.
    ///
    /// # Errors
    /// The body cannot be read.
    pub fn of(
        method: Option<&str>,
        path: &str,
        headers: &[String],
        body: Option<&Path>,
    ) -> Result<Self, String> {
        let content = match body {
            Some(file) => fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?,
            None => Vec::new(),
        };
        let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: gateway\r\n");
        for line in headers {
            head.push_str(line);
            head.push_str("\r\n");
        }
        if body.is_some() {
            let _ = write!(
                head,
                "content-type: application/json\r\ncontent-length: {}\r\n",
                content.len()
            );
        }
        head.push_str("\r\n");
        let number = head.find('#').map(|start| {
            let length = head[start..].bytes().take_while(|b| *b == b'#').count();
            start..start + length
        });
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&content);
        Ok(Self {
            bytes,
            number,
            keys: 1,
            draw: 1,
        })
    }

    /// The next one.
    pub fn next(&mut self) -> &[u8] {
        if let Some(place) = self.number.clone() {
            // Knuth's linear congruential generator; its high bits are the good ones.
            self.draw = self
                .draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mut number = (self.draw >> 24) % self.keys;
            for digit in self.bytes[place].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        &self.bytes
    }
}
