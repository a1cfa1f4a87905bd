//! Messages in the body of a gRPC stream: a flag, the length in four bytes, the message.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use prost::Message;

/// The most bytes of a message of Envoy's.
const MOST: usize = 16 << 20;
/// The length of what stands before a message.
const HEAD: usize = 5;

/// Takes messages out of a body that arrives in pieces.
#[derive(Debug, Default)]
pub struct FrameReader(BytesMut);

impl FrameReader {
    /// Adds a piece of the body.
    pub fn push(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }

    /// The next message that is there whole.
    ///
    /// # Errors
    /// It is compressed, too long, or no such message.
    pub fn next<M: Message + Default>(&mut self) -> Result<Option<M>, String> {
        let Some(mut head) = self.0.get(..HEAD) else {
            return Ok(None);
        };
        if head.get_u8() != 0 {
            return Err("a message is compressed".to_owned());
        }
        let length = usize::try_from(head.get_u32()).unwrap_or(usize::MAX);
        if length > MOST {
            return Err(format!("a message of {length} bytes is too long"));
        }
        if self.0.len() < length.saturating_add(HEAD) {
            return Ok(None);
        }
        self.0.advance(HEAD);
        let message = M::decode(self.0.split_to(length));
        message.map(Some).map_err(|error| error.to_string())
    }
}

/// A message with what stands before it.
pub fn frame(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut framed = BytesMut::with_capacity(length.saturating_add(HEAD));
    framed.put_u8(0);
    framed.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    framed.put_slice(&message.encode_to_vec());
    framed.freeze()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::discovery::Status;
    use super::*;

    fn status(message: &str) -> Status {
        Status {
            message: message.to_owned(),
        }
    }

    proptest! {
        #[test]
        fn a_body_may_be_cut_anywhere(texts in proptest::collection::vec(".{0,40}", 0..6), size in 1_usize..30) {
            let body: Vec<u8> = texts.iter().flat_map(|text| frame(&status(text))).collect();
            let mut reader = FrameReader::default();
            let mut read = Vec::new();
            for piece in body.chunks(size) {
                reader.push(piece);
                while let Some(message) = reader.next::<Status>().unwrap() {
                    read.push(message.message);
                }
            }
            prop_assert_eq!(read, texts);
        }

        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut reader = FrameReader::default();
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next::<Status>() {}
        }
    }

    #[test]
    fn what_is_refused() {
        for (case, bytes) in [
            ("compressed", [1, 0, 0, 0, 0, 0]),
            ("too long", [0, 255, 255, 255, 255, 0]),
            ("no message", [0, 0, 0, 0, 1, 255]),
        ] {
            let mut reader = FrameReader::default();
            reader.push(&bytes);
            assert!(reader.next::<Status>().is_err(), "{case}");
        }
    }
}
