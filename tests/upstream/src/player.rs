//! Fills the fixtures for one request.

use bytes::Bytes;
use hyper::http::StatusCode;
use serde_json::Value;

use crate::answer::{JSON, UnpacedResponse};
use crate::body::BodySource;
use crate::call::Verb;
use crate::draw;
use crate::dress::Dress;
use crate::events::{EventFraming, Events};
use crate::fields::RequestFields;
use crate::fixture::{FIXTURES, PNG, Script};
use crate::form::UsageForm;
use crate::plan;
use crate::report::{ReportedUsage, Telling};
use crate::scenario::{Placing, StreamEnding};
use crate::steer::Steer;
use crate::template::{Template, TemplateValues};
use crate::usage::{CountedKind, MOST_IMAGES, RequestedUsage};

/// The text of an answer that is not streamed.
const TEXT: &str = "pong";
/// The text of one delta.
const DELTA: &str = "pong ";
/// A text that a careless reader takes for usage and for the end of a stream, in any protocol.
const DECOY: &str = "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9,\"input_tokens\":9,\
    \"output_tokens\":9},\"usageMetadata\":{\"promptTokenCount\":9}}\n\ndata: [DONE]\n\n";
/// A stream's last events repeat its text as long as it is no longer than this.
const REPEATED_TEXT: usize = 1 << 20;

const SSE: &str = "text/event-stream; charset=utf-8";

/// The inputs of the answer to one request.
#[derive(Debug)]
pub struct Player<'a> {
    /// The request.
    pub fields: &'a RequestFields,
    /// The instructions of the request.
    pub steer: &'a Steer,
    /// The number of the request.
    pub id: u64,
}

impl Player<'_> {
    /// Whether a chat stream has a chunk of its own for usage.
    pub fn appends_usage(&self) -> bool {
        let options = self.fields.stream_options.as_ref();
        let asked = options.and_then(|options| options.include_usage) == Some(true);
        asked && self.steer.scenario.placing == Placing::Usual
    }

    fn report(&self, form: UsageForm) -> ReportedUsage {
        let seed = self.steer.seed.unwrap_or(self.id);
        let usage = match self.steer.usage {
            RequestedUsage::Usual => form.usual(),
            RequestedUsage::Random => draw::usage(seed),
            RequestedUsage::Numbers { usage, .. } => usage,
        };
        let placing = self.steer.scenario.placing;
        let telling = match placing {
            Placing::Nowhere => Telling::Never,
            Placing::OnLastChoice | Placing::AtEnd => Telling::AtLast,
            // Those of protocol C tell it only when asked to.
            _ if form == UsageForm::Embed && self.steer.usage == RequestedUsage::Usual => {
                Telling::Never
            }
            _ => Telling::Always,
        };
        ReportedUsage {
            form,
            usage: form.tells(usage),
            telling,
            grows: self.steer.usage != RequestedUsage::Usual || placing != Placing::Usual,
            revised: placing == Placing::Cumulative,
        }
    }

    fn values(&self, text: &str, report: Option<ReportedUsage>) -> TemplateValues {
        let model = self.fields.model.as_deref().unwrap_or("sim-model");
        TemplateValues {
            id: self.id,
            model: quoted(model),
            text: quoted(text),
            report,
            ..TemplateValues::default()
        }
    }

    /// A JSON answer whose text is as long as asked for.
    pub fn whole(&self, form: UsageForm, template: &Template) -> UnpacedResponse {
        self.document(template, Some(self.report(form)))
    }

    /// The same for an answer that has no usage.
    pub fn plain(&self, template: &Template) -> UnpacedResponse {
        self.document(template, None)
    }

    fn document(&self, template: &Template, report: Option<ReportedUsage>) -> UnpacedResponse {
        let text = if self.steer.scenario.decoy {
            DECOY
        } else {
            TEXT
        };
        let mut values = self.values(text, report);
        let mut body = template.fill(&values);
        if let Some(missing) = self
            .steer
            .body_bytes
            .and_then(|size| size.checked_sub(body.len()))
        {
            values.text = quoted(&(text.to_owned() + &"x".repeat(missing)));
            body = template.fill(&values);
        }
        self.filled(body, template, &values)
    }

    /// A JSON answer that knows what it tells. A torn one ends well before its usage: in the first half of some
    /// answers there are already numbers of it, which a reader may well count.
    fn filled(&self, body: Bytes, template: &Template, values: &TemplateValues) -> UnpacedResponse {
        let answer = UnpacedResponse::json(body, self.steer);
        let source = match answer.source {
            BodySource::Whole(body, _) if self.steer.scenario.ending == StreamEnding::Torn => {
                BodySource::Whole(body.slice(..body.len() / 4), None)
            }
            BodySource::Whole(body, _) => BodySource::Whole(body, template.told(values)),
            events => events,
        };
        UnpacedResponse { source, ..answer }
    }

    /// A response that is not streamed.
    pub fn response(&self) -> UnpacedResponse {
        let template = match self.steer.scenario.ending {
            StreamEnding::Failed => &FIXTURES.responses_failed,
            StreamEnding::Incomplete => &FIXTURES.responses_incomplete,
            _ => &FIXTURES.responses,
        };
        self.whole(UsageForm::Responses, template)
    }

    /// Embeddings of protocol A: one for each input.
    pub fn embeddings(&self) -> UnpacedResponse {
        let vector = match self.fields.encoding_format.as_deref() {
            // The same numbers, as 32-bit floats.
            Some("base64") => "\"AACAPgAAAL8AAEA/\"",
            _ => "[0.25,-0.5,0.75]",
        };
        let count = self.fields.input.as_ref().map_or(1, |input| input.0);
        let items = (0..count.clamp(1, 2048)).map(|index| {
            format!(r#"{{"object":"embedding","index":{index},"embedding":{vector}}}"#)
        });
        let values = TemplateValues {
            items: format!("[{}]", items.collect::<Vec<_>>().join(",")),
            ..self.values(TEXT, Some(self.report(UsageForm::Embeddings)))
        };
        let template = &FIXTURES.embeddings;
        self.filled(template.fill(&values), template, &values)
    }

    /// Images that are not streamed.
    pub fn image_list(&self) -> UnpacedResponse {
        let count = self.count(self.fields.n.unwrap_or(1));
        let mut report = self.report(UsageForm::Images);
        report.usage.set(CountedKind::Images, count);
        let item = format!(r#"{{"b64_json":"{PNG}"}}"#);
        self.items(&FIXTURES.images, &item, count, report)
    }

    /// The number of images: as in the instructions, or else `usual`.
    fn count(&self, usual: u64) -> u64 {
        match self.steer.usage {
            RequestedUsage::Numbers { images, .. } => images.unwrap_or(usual.clamp(1, MOST_IMAGES)),
            _ => usual.clamp(1, MOST_IMAGES),
        }
    }

    fn items(
        &self,
        template: &Template,
        item: &str,
        count: u64,
        report: ReportedUsage,
    ) -> UnpacedResponse {
        let items = vec![item; usize::try_from(count).unwrap_or(1)].join(",");
        let values = TemplateValues {
            items: format!("[{items}]"),
            ..self.values(TEXT, Some(report))
        };
        self.filled(template.fill(&values), template, &values)
    }

    /// A stream whose last events repeat its text.
    pub fn stream(&self, form: UsageForm, script: &'static Script) -> UnpacedResponse {
        self.told_stream(script, self.report(form))
    }

    /// A chat stream: without the chunk for usage it has none, unless a scenario has another place for it.
    pub fn chat(&self, script: &'static Script) -> UnpacedResponse {
        let mut report = self.report(UsageForm::Chat);
        if !self.appends_usage() && self.steer.scenario.placing == Placing::Usual {
            report.telling = Telling::Never;
        }
        self.told_stream(script, report)
    }

    fn told_stream(&self, script: &'static Script, report: ReportedUsage) -> UnpacedResponse {
        let delta = self.delta(DELTA);
        let whole = usize::try_from(self.steer.events)
            .ok()
            .and_then(|events| events.checked_mul(delta.len()));
        let text = match whole {
            Some(size) if size <= REPEATED_TEXT => delta.repeat(size / delta.len().max(1)),
            _ => delta.clone(),
        };
        let values = TemplateValues {
            delta: quoted(&delta),
            ..self.values(&text, Some(report))
        };
        self.play(script, self.sse(report.form), SSE, values)
    }

    /// Images that are streamed.
    pub fn images(&self, script: &'static Script) -> UnpacedResponse {
        let values = TemplateValues {
            delta: quoted(&self.delta(PNG)),
            ..self.values(PNG, Some(self.report(UsageForm::Images)))
        };
        self.play(script, self.sse(UsageForm::Images), SSE, values)
    }

    /// A method of a model of protocol C.
    pub fn verb(&self, verb: Verb) -> UnpacedResponse {
        let values = || TemplateValues {
            delta: quoted(&self.delta(DELTA)),
            ..self.values(TEXT, Some(self.report(UsageForm::Generate)))
        };
        match verb {
            Verb::Generate => self.whole(UsageForm::Generate, &FIXTURES.generate),
            Verb::Stream { sse: true } => self.play(
                &FIXTURES.generate_stream,
                self.sse(UsageForm::Generate),
                "text/event-stream",
                values(),
            ),
            Verb::Stream { sse: false } => {
                let closed = matches!(
                    self.steer.scenario.ending,
                    StreamEnding::Whole | StreamEnding::Error
                );
                let framing = EventFraming::Array { closed };
                self.play(&FIXTURES.generate_array, framing, JSON, values())
            }
            Verb::Count => self.plain(&FIXTURES.generate_count),
            Verb::Embed => self.whole(UsageForm::Embed, &FIXTURES.embed),
            Verb::EmbedBatch => {
                let requests = self.fields.requests.as_ref();
                let count = requests.map_or(1, |requests| requests.len() as u64);
                self.items(
                    &FIXTURES.embed_batch,
                    r#"{"values":[0.25,-0.5,0.75]}"#,
                    count.clamp(1, 1000),
                    self.report(UsageForm::Embed),
                )
            }
        }
    }

    fn sse(&self, form: UsageForm) -> EventFraming {
        EventFraming::Sse(Dress::new(&self.steer.scenario, form))
    }

    fn play(
        &self,
        script: &'static Script,
        framing: EventFraming,
        kind: &'static str,
        values: TemplateValues,
    ) -> UnpacedResponse {
        // A stream makes one image, whatever `n` is, unless told otherwise.
        let images = self.count(1);
        let steps = plan::steps(script, &self.steer.scenario, self.steer.events, images);
        UnpacedResponse {
            status: StatusCode::OK,
            content_type: kind,
            mark: None,
            source: BodySource::Events(Box::new(Events::new(steps, framing, values))),
        }
    }

    fn delta(&self, usual: &str) -> String {
        let start = match self.steer.event_bytes {
            _ if self.steer.scenario.decoy => DECOY,
            None => usual,
            Some(_) => "",
        };
        let missing = self.steer.event_bytes.unwrap_or(0);
        start.to_owned() + &"x".repeat(missing.saturating_sub(start.len()))
    }
}

/// `text` as a JSON string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
