//! Streams of events, written by the mock and read by the generator.
//!
//! Each event is a chunk of a chat answer whose content is the time it was sent, in nanoseconds of
//! the clock that both sides read ([`crate::clock`]). The last but one has the usage, the last ends
//! the stream.

use memchr::memmem;

/// The bytes before the time.
const BEFORE: &[u8] = br#""content":""#;
/// The time's digits: every nanosecond of 300 years, and all events of one length.
const DIGITS: usize = 20;

/// The event, with room for the time.
pub const EVENT: &[u8] = b"data: {\"id\":\"chatcmpl-9k2\",\"object\":\"chat.completion.chunk\",\
\"created\":1763700000,\"model\":\"gpt-5.1-2025-11-13\",\"service_tier\":\"default\",\"system_fingerprint\":null,\
\"choices\":[{\"index\":0,\"delta\":{\"content\":\"00000000000000000000\"},\"logprobs\":null,\"finish_reason\":null}],\
\"usage\":null}\n\n";

/// The end of a stream: the usage and `[DONE]`.
pub const END: &[u8] = b"data: {\"id\":\"chatcmpl-9k2\",\"object\":\"chat.completion.chunk\",\"created\":1763700000,\
\"model\":\"gpt-5.1-2025-11-13\",\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":200,\
\"total_tokens\":212,\"prompt_tokens_details\":{\"cached_tokens\":0}}}\n\ndata: [DONE]\n\n";

/// Finds the offset of the time in [`EVENT`].
pub fn place() -> usize {
    memmem::find(EVENT, BEFORE).map_or(0, |at| at + BEFORE.len())
}

/// Writes a time into its place.
pub fn stamp(place: &mut [u8], mut time: u64) {
    for digit in place[..DIGITS].iter_mut().rev() {
        *digit = b'0' + (time % 10) as u8;
        time /= 10;
    }
}

/// Reads a stream as it comes.
#[derive(Debug, Default)]
pub struct SseReader {
    /// The beginning of an event whose end has not come.
    rest: Vec<u8>,
    /// Events so far.
    pub events: u64,
    usage: bool,
    done: bool,
}

impl SseReader {
    /// The next bytes, which came at `now`; `delay` is told how long each event was on its way.
    pub fn feed(&mut self, bytes: &[u8], now: u64, mut delay: impl FnMut(u64)) {
        self.rest.extend_from_slice(bytes);
        let mut start = 0;
        let finder = memmem::Finder::new(b"\n\n");
        while let Some(length) = finder.find(&self.rest[start..]) {
            let event = &self.rest[start..start + length];
            start += length + 2;
            if let Some(sent) = sent(event) {
                self.events += 1;
                delay(now.saturating_sub(sent));
            } else if event == b"data: [DONE]" {
                self.done = true;
            } else if memmem::find(event, b"\"completion_tokens\"").is_some() {
                self.usage = true;
            }
        }
        self.rest.drain(..start);
    }

    /// Whether the stream came whole, with `events` events.
    pub fn is_whole(&self, events: u64) -> bool {
        self.events == events && self.usage && self.done && self.rest.is_empty()
    }
}

/// Reads the time at which an event was sent, in nanoseconds of the clock.
fn sent(event: &[u8]) -> Option<u64> {
    let at = memmem::find(event, BEFORE)? + BEFORE.len();
    std::str::from_utf8(event.get(at..at + DIGITS)?)
        .ok()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_however_it_is_cut() {
        let mut stream = Vec::new();
        for time in [5, 18_446_744_073_709_551_000] {
            let mut event = EVENT.to_vec();
            stamp(&mut event[place()..], time);
            stream.extend_from_slice(&event);
        }
        stream.extend_from_slice(END);
        for step in [1, 2, 3, 100, stream.len()] {
            let (mut reader, mut delays) = (SseReader::default(), Vec::new());
            for piece in stream.chunks(step) {
                reader.feed(piece, 105, |delay| delays.push(delay));
            }
            assert_eq!(delays, [100, 0], "{step} at a time");
            assert!(reader.is_whole(2), "{step} at a time");
            assert!(!reader.is_whole(3), "{step} at a time");
        }
    }

    #[test]
    fn a_stream_without_its_end_is_not_whole() {
        let mut reader = SseReader::default();
        reader.feed(EVENT, 0, |_| {});
        assert!(!reader.is_whole(1));
    }
}
