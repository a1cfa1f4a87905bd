//! `x-sim-scenario`: answers that end badly, or are written in another way that is allowed.

use crate::form::Form;

/// How a stream ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// As its protocol says.
    #[default]
    Whole,
    /// With an error event after the deltas.
    Error,
    /// With `response.failed`.
    Failed,
    /// With `response.incomplete`.
    Incomplete,
    /// After the deltas.
    Truncated,
    /// In the middle of the event after the deltas, or of the JSON.
    Torn,
    /// Before its last event.
    NoEnd,
}

/// Where usage stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// Where the vendor has it.
    #[default]
    Usual,
    /// Nowhere.
    Nowhere,
    /// Chat: in the chunk with the finish reason, asked for or not.
    OnLastChoice,
    /// Chat: in every chunk after the first, growing.
    OnEveryChunk,
    /// Messages: all of it in three `message_delta`, growing; `message_start` says less.
    Cumulative,
    /// Generated content: in the last chunk only.
    AtEnd,
}

/// What ends a line of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

/// How the body comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One JSON document.
    Json,
    /// Server-sent events.
    Sse,
    /// A JSON array, element by element.
    Array,
}

/// What one request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// How the answer ends.
    pub ending: Ending,
    /// Where its usage stands.
    pub placing: Placing,
    /// What ends its lines.
    pub line_end: Option<LineEnd>,
    /// A ping before every event.
    pub pings: bool,
    /// The data of an event on several lines.
    pub multiline: bool,
    /// Large events, a large document.
    pub big: bool,
    /// The text looks like usage and like the stream's end.
    pub decoy: bool,
    /// An error says what nobody should hear.
    pub leak: bool,
}

impl Scenario {
    /// Reads names, separated by commas. No two of one sort.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut scenario = Self::default();
        for name in text.split(',').map(str::trim) {
            let before = scenario;
            scenario.add(name)?;
            if scenario == before {
                return Err(format!("{name} stands there twice"));
            }
        }
        Ok(scenario)
    }

    fn add(&mut self, name: &str) -> Result<(), String> {
        match name {
            "error" => self.end(Ending::Error)?,
            "failed" => self.end(Ending::Failed)?,
            "incomplete" => self.end(Ending::Incomplete)?,
            "truncated" => self.end(Ending::Truncated)?,
            "torn" => self.end(Ending::Torn)?,
            "no-end" => self.end(Ending::NoEnd)?,
            "no-usage" => self.place(Placing::Nowhere)?,
            "usage-on-last-choice" => self.place(Placing::OnLastChoice)?,
            "usage-on-every-chunk" => self.place(Placing::OnEveryChunk)?,
            "cumulative" => self.place(Placing::Cumulative)?,
            "usage-at-end" => self.place(Placing::AtEnd)?,
            "lf" => self.end_lines(LineEnd::Lf)?,
            "crlf" => self.end_lines(LineEnd::CrLf)?,
            "cr" => self.end_lines(LineEnd::Cr)?,
            "pings" => self.pings = true,
            "multiline" => self.multiline = true,
            "big" => self.big = true,
            "decoy" => self.decoy = true,
            "leak" => self.leak = true,
            _ => return Err(format!("no scenario `{name}`")),
        }
        Ok(())
    }

    fn end(&mut self, ending: Ending) -> Result<(), String> {
        match std::mem::replace(&mut self.ending, ending) {
            Ending::Whole => Ok(()),
            other => Err(format!("an answer ends once: {other:?} or {ending:?}")),
        }
    }

    fn place(&mut self, placing: Placing) -> Result<(), String> {
        match std::mem::replace(&mut self.placing, placing) {
            Placing::Usual => Ok(()),
            other => Err(format!("usage has one place: {other:?} or {placing:?}")),
        }
    }

    fn end_lines(&mut self, end: LineEnd) -> Result<(), String> {
        match self.line_end.replace(end) {
            None => Ok(()),
            Some(other) => Err(format!("lines end in one way: {other:?} or {end:?}")),
        }
    }

    /// Whether it can be played in an answer of this form and shape. A test that asks for what no answer can have
    /// shall not pass as if it had got it.
    pub fn fits(&self, form: Form, shape: Shape) -> bool {
        let streamed = shape != Shape::Json;
        let ends = match self.ending {
            Ending::Whole | Ending::Torn => true,
            Ending::Error | Ending::Truncated | Ending::NoEnd => streamed,
            Ending::Failed | Ending::Incomplete => form == Form::Responses,
        };
        let places = match self.placing {
            Placing::Usual | Placing::Nowhere => true,
            Placing::OnLastChoice | Placing::OnEveryChunk => streamed && form == Form::Chat,
            Placing::Cumulative => streamed && form == Form::Messages,
            Placing::AtEnd => streamed && form == Form::Generate,
        };
        let writes =
            shape == Shape::Sse || self.line_end.is_none() && !self.pings && !self.multiline;
        let speaks = !self.decoy || !matches!(form, Form::Images | Form::Embed);
        ends && places && writes && speaks && !self.leak
    }

    /// Whether it can be played in an error, or in an answer that reports no usage.
    pub fn fits_plain(&self, error: bool) -> bool {
        let plain = Self {
            leak: self.leak && error,
            big: self.big,
            ..Self::default()
        };
        *self == plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_combinations() {
        for (text, scenario) in [
            (
                "error",
                Scenario {
                    ending: Ending::Error,
                    ..Scenario::default()
                },
            ),
            (
                "truncated, cr,pings",
                Scenario {
                    ending: Ending::Truncated,
                    line_end: Some(LineEnd::Cr),
                    pings: true,
                    ..Scenario::default()
                },
            ),
            (
                "cumulative,multiline,decoy,big",
                Scenario {
                    placing: Placing::Cumulative,
                    multiline: true,
                    decoy: true,
                    big: true,
                    ..Scenario::default()
                },
            ),
        ] {
            assert_eq!(Scenario::read(text), Ok(scenario), "{text}");
        }
    }

    #[test]
    fn refuses_contradictions() {
        for text in [
            "",
            "errors",
            "error,torn",
            "error,error",
            "lf,crlf",
            "no-usage,cumulative",
            "pings,pings",
            "pings,",
        ] {
            assert!(Scenario::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fits_where_it_can_be_played() {
        for (text, form, shape, fits) in [
            ("error", Form::Images, Shape::Sse, true),
            ("error", Form::Chat, Shape::Json, false),
            ("torn", Form::Chat, Shape::Json, true),
            ("incomplete", Form::Responses, Shape::Json, true),
            ("failed", Form::Messages, Shape::Sse, false),
            ("cumulative", Form::Messages, Shape::Sse, true),
            ("cumulative", Form::Messages, Shape::Json, false),
            ("usage-on-last-choice", Form::Responses, Shape::Sse, false),
            ("usage-at-end", Form::Generate, Shape::Array, true),
            ("crlf", Form::Generate, Shape::Array, false),
            ("pings,multiline", Form::Chat, Shape::Sse, true),
            ("decoy", Form::Embed, Shape::Json, false),
            ("leak", Form::Chat, Shape::Json, false),
        ] {
            let scenario = Scenario::read(text).unwrap();
            assert_eq!(
                scenario.fits(form, shape),
                fits,
                "{text} {form:?} {shape:?}"
            );
        }
        for (text, error, fits) in [
            ("leak", true, true),
            ("leak", false, false),
            ("error", true, false),
        ] {
            let scenario = Scenario::read(text).unwrap();
            assert_eq!(scenario.fits_plain(error), fits, "{text} {error}");
        }
    }
}
