//! The few fields of a request body that decide its answer.

use std::fmt;
use std::io::{self, Read};

use bytes::{Buf, Bytes};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Larger documents are parsed while they arrive, so that none is ever held whole.
const BUFFERED: usize = 1 << 20;
/// The length of a form that is searched for its fields, in bytes.
const FORM: usize = 64 << 10;

/// The top-level fields of a JSON body (or a form).
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct RequestFields {
    /// The model.
    pub model: Option<String>,
    /// Answer as a stream.
    pub stream: Option<bool>,
    /// Chat: what to add to the stream.
    pub stream_options: Option<StreamOptions>,
    /// Number of images.
    pub n: Option<u64>,
    /// One element per embedding to make.
    pub requests: Option<Vec<IgnoredAny>>,
    /// The inputs.
    pub input: Option<InputCount>,
    /// Embeddings of protocol A: numbers, or base64.
    pub encoding_format: Option<String>,
}

/// The number of inputs: the elements of an array; anything else is one.
#[derive(Clone, Debug, PartialEq)]
pub struct InputCount(pub u64);

impl<'de> Deserialize<'de> for InputCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Inputs;
        impl<'de> Visitor<'de> for Inputs {
            type Value = u64;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("text or a list")
            }

            fn visit_str<E>(self, _: &str) -> Result<u64, E> {
                Ok(1)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<u64, A::Error> {
                let mut count = 0;
                while all.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(count)
            }
        }
        deserializer.deserialize_any(Inputs).map(Self)
    }
}

/// `stream_options` of a chat.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub struct StreamOptions {
    /// Send usage in a last chunk.
    pub include_usage: Option<bool>,
}

/// Takes a body in pieces and finds its fields, in bounded memory.
#[derive(Debug)]
pub enum Collector {
    /// The body does not matter.
    Skip,
    /// Small JSON, so far.
    Json(Vec<u8>),
    /// Large JSON: parsed by a thread as it comes.
    Piped(
        mpsc::Sender<Bytes>,
        JoinHandle<Result<RequestFields, serde_json::Error>>,
    ),
    /// The beginning of a `multipart/form-data` body.
    Form(Vec<u8>),
}

impl Collector {
    /// A collector for a body of this content type.
    pub fn new(content_type: Option<&[u8]>) -> Self {
        match content_type {
            Some(kind) if kind.starts_with(b"multipart/form-data") => Self::Form(Vec::new()),
            _ => Self::Json(Vec::new()),
        }
    }

    /// Takes the next piece.
    pub async fn push(&mut self, piece: Bytes) {
        match self {
            Self::Skip => {}
            Self::Form(text) => {
                let room = FORM.saturating_sub(text.len()).min(piece.len());
                text.extend_from_slice(&piece[..room]);
            }
            Self::Json(text) if text.len() + piece.len() <= BUFFERED => {
                text.extend_from_slice(&piece)
            }
            Self::Json(text) => {
                let text = Bytes::from(std::mem::take(text));
                let (sender, receiver) = mpsc::channel(16);
                let reader = io::BufReader::with_capacity(
                    64 << 10,
                    Pieces {
                        receiver,
                        piece: text,
                    },
                );
                let parser = tokio::task::spawn_blocking(move || serde_json::from_reader(reader));
                let _ = sender.send(piece).await;
                *self = Self::Piped(sender, parser);
            }
            // A parser that has found an error listens no more.
            Self::Piped(sender, _) => drop(sender.send(piece).await),
        }
    }

    /// The fields of the whole body, or what is wrong with it.
    pub async fn finish(self) -> Result<RequestFields, String> {
        match self {
            Self::Skip => Ok(RequestFields::default()),
            Self::Form(text) => Ok(form(&text)),
            Self::Json(text) => serde_json::from_slice(&text).map_err(|error| error.to_string()),
            Self::Piped(sender, parser) => {
                drop(sender);
                match parser.await {
                    Ok(parsed) => parsed.map_err(|error| error.to_string()),
                    Err(error) => Err(error.to_string()),
                }
            }
        }
    }
}

/// The pieces that a channel brings, as one reader.
struct Pieces {
    receiver: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let count = out.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut out[..count]);
        Ok(count)
    }
}

/// The plain fields of a form, as far as they stand at its beginning.
fn form(text: &[u8]) -> RequestFields {
    let text = String::from_utf8_lossy(text);
    let value = |name: &str| {
        let (_, after) = text.split_once(&format!("name=\"{name}\""))?;
        let (_, value) = after.split_once("\r\n\r\n")?;
        value.split_once("\r\n").map(|(value, _)| value.to_owned())
    };
    RequestFields {
        model: value("model"),
        stream: value("stream").map(|text| text == "true"),
        n: value("n").and_then(|text| text.parse().ok()),
        ..RequestFields::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn collect(kind: &str, body: &[u8], piece: usize) -> Result<RequestFields, String> {
        let mut collector = Collector::new(Some(kind.as_bytes()));
        for piece in body.chunks(piece) {
            collector.push(Bytes::copy_from_slice(piece)).await;
        }
        collector.finish().await
    }

    #[tokio::test]
    async fn finds_fields_of_small_and_large_bodies() {
        for filler in [0, 3 << 20] {
            let body = format!(
                r#"{{"x":[{{"model":"decoy"}}],"pad":"{}","model":"m","stream":true}}"#,
                "x".repeat(filler)
            );
            let fields = collect("application/json", body.as_bytes(), 100_000)
                .await
                .unwrap();
            assert_eq!(
                (fields.model.as_deref(), fields.stream),
                (Some("m"), Some(true))
            );
            let cut = &body.as_bytes()[..body.len() - 1];
            assert!(collect("application/json", cut, 100_000).await.is_err());
        }
    }

    #[tokio::test]
    async fn finds_fields_of_a_form() {
        let body = "--B\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n\
                    --B\r\nContent-Disposition: form-data; name=\"stream\"\r\n\r\ntrue\r\n--B--\r\n";
        let fields = collect("multipart/form-data; boundary=B", body.as_bytes(), 3)
            .await
            .unwrap();
        assert_eq!(
            (fields.model.as_deref(), fields.stream),
            (Some("m"), Some(true))
        );
    }
}
