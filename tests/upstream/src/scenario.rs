//! `x-sim-scenario`: answers that end badly, or are written in another way that is allowed.

use crate::form::UsageForm;

/// The ending of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamEnding {
    /// With the end that its protocol prescribes.
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

/// The place of usage in an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// The place that the vendor uses.
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

/// The terminator of a line of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

/// The form of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One JSON document.
    Json,
    /// Server-sent events.
    Sse,
    /// A JSON array, element by element.
    Array,
}

/// The variations of the answer that one request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scenario {
    /// The ending of the response.
    pub ending: StreamEnding,
    /// The place of its usage.
    pub placing: Placing,
    /// The terminator of its lines; `None` for the usual one.
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
            "error" => self.end(StreamEnding::Error)?,
            "failed" => self.end(StreamEnding::Failed)?,
            "incomplete" => self.end(StreamEnding::Incomplete)?,
            "truncated" => self.end(StreamEnding::Truncated)?,
            "torn" => self.end(StreamEnding::Torn)?,
            "no-end" => self.end(StreamEnding::NoEnd)?,
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

    fn end(&mut self, ending: StreamEnding) -> Result<(), String> {
        match std::mem::replace(&mut self.ending, ending) {
            StreamEnding::Whole => Ok(()),
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
    pub fn fits(&self, form: UsageForm, shape: Shape) -> bool {
        let streamed = shape != Shape::Json;
        let ends = match self.ending {
            StreamEnding::Whole | StreamEnding::Torn => true,
            StreamEnding::Error | StreamEnding::Truncated | StreamEnding::NoEnd => streamed,
            StreamEnding::Failed | StreamEnding::Incomplete => form == UsageForm::Responses,
        };
        let places = match self.placing {
            Placing::Usual | Placing::Nowhere => true,
            Placing::OnLastChoice | Placing::OnEveryChunk => streamed && form == UsageForm::Chat,
            Placing::Cumulative => streamed && form == UsageForm::Messages,
            Placing::AtEnd => streamed && form == UsageForm::Generate,
        };
        let writes =
            shape == Shape::Sse || self.line_end.is_none() && !self.pings && !self.multiline;
        let is_mute = matches!(
            form,
            UsageForm::Images | UsageForm::Embeddings | UsageForm::Embed
        );
        let speaks = !self.decoy || !is_mute;
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
                    ending: StreamEnding::Error,
                    ..Scenario::default()
                },
            ),
            (
                "truncated, cr,pings",
                Scenario {
                    ending: StreamEnding::Truncated,
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
            ("error", UsageForm::Images, Shape::Sse, true),
            ("error", UsageForm::Chat, Shape::Json, false),
            ("torn", UsageForm::Chat, Shape::Json, true),
            ("incomplete", UsageForm::Responses, Shape::Json, true),
            ("failed", UsageForm::Messages, Shape::Sse, false),
            ("cumulative", UsageForm::Messages, Shape::Sse, true),
            ("cumulative", UsageForm::Messages, Shape::Json, false),
            (
                "usage-on-last-choice",
                UsageForm::Responses,
                Shape::Sse,
                false,
            ),
            ("usage-at-end", UsageForm::Generate, Shape::Array, true),
            ("crlf", UsageForm::Generate, Shape::Array, false),
            ("pings,multiline", UsageForm::Chat, Shape::Sse, true),
            ("decoy", UsageForm::Embed, Shape::Json, false),
            ("leak", UsageForm::Chat, Shape::Json, false),
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
