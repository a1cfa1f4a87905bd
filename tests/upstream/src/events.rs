//! The events of one streamed answer, made one at a time: a stream of a million events costs no memory.

use bytes::Bytes;

use crate::fixture::Script;
use crate::template::Values;

/// How events follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events: one after the other.
    Sse,
    /// Elements of one JSON array.
    Array,
}

/// An iterator over the events of a script, its delta repeated.
#[derive(Debug)]
pub struct Events {
    script: &'static Script,
    framing: Framing,
    values: Values,
    deltas: u64,
    at: usize,
    delta: Option<Bytes>,
}

impl Events {
    /// Plays `script` with `deltas` deltas.
    pub fn new(script: &'static Script, framing: Framing, values: Values, deltas: u64) -> Self {
        let mut events = Self {
            script,
            framing,
            values,
            deltas,
            at: 0,
            delta: None,
        };
        events.skip_spent_delta();
        events
    }

    /// Steps over the repeated event when it was repeated often enough.
    fn skip_spent_delta(&mut self) {
        let spent = self.values.index >= self.deltas;
        if spent
            && self
                .script
                .0
                .get(self.at)
                .is_some_and(|event| event.is_delta())
        {
            self.at += 1;
        }
    }

    fn framed(&self, event: Bytes, first: bool) -> Bytes {
        if self.framing == Framing::Sse {
            return event;
        }
        let before: &[u8] = if first { b"[" } else { b",\r\n" };
        let after: &[u8] = if self.at == self.script.0.len() {
            b"]"
        } else {
            b""
        };
        [before, &event, after].concat().into()
    }
}

impl Iterator for Events {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let template = self.script.0.get(self.at)?;
        let first = self.values.seq == 0;
        let event = match &self.delta {
            Some(same) if template.is_delta() => same.clone(),
            _ => template.fill(&self.values),
        };
        self.values.seq += 1;
        if template.is_delta() {
            self.values.index += 1;
            if !template.is_numbered() {
                self.delta = Some(event.clone());
            }
        } else {
            self.at += 1;
        }
        self.skip_spent_delta();
        Some(self.framed(event, first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::FIXTURES;

    fn play(script: &'static Script, framing: Framing, deltas: u64) -> Vec<Bytes> {
        let values = Values {
            model: r#""m""#.to_owned(),
            text: r#""t""#.to_owned(),
            delta: r#""d""#.to_owned(),
            ..Values::default()
        };
        Events::new(script, framing, values, deltas).collect()
    }

    #[test]
    fn repeats_the_delta() {
        for (script, others) in [
            (&FIXTURES.chat_stream, 3),
            (&FIXTURES.chat_stream_usage, 4),
            (&FIXTURES.responses_stream, 8),
            (&FIXTURES.image_edit_stream, 1),
            (&FIXTURES.messages_stream, 6),
            (&FIXTURES.generate_stream, 1),
        ] {
            for deltas in [0, 1, 7] {
                let events = play(script, Framing::Sse, deltas);
                assert_eq!(events.len() as u64, others + deltas);
                assert!(events.iter().all(|event| event.ends_with(b"\n")));
            }
        }
    }

    #[test]
    fn an_array_is_json_whatever_its_length() {
        for deltas in [0, 1, 3] {
            let text = play(&FIXTURES.generate_array, Framing::Array, deltas).concat();
            let array: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
            assert_eq!(array.len() as u64, deltas + 1);
        }
    }
}
