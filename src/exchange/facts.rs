//! What becomes known of an exchange on its way, for its record.

use std::rc::Rc;

use crate::body::{BodyScanner, InputSize};
use crate::config::policy::Group;
use crate::head::Head;
use crate::lane::Protocol;
use crate::ledger::RouteTaken;
use crate::limits::Limit;
use crate::limits::shared::OnFailure;
use crate::limits::{Grant, Scope, Subject};
use crate::model::Model;
use crate::protocol::Endpoint;
use crate::protocol::query::Target;
use crate::reply::Rejection;
use crate::routing::Route;
use crate::usage::Wire;

/// Longest model name that is kept as the client wrote it, in characters.
const MAX_NAME: usize = 128;

/// What is known so far. Nothing here decides anything.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The request's method.
    pub method: String,
    /// The request's path, without its query.
    pub path: String,
    /// What was asked for.
    pub endpoint: Option<Endpoint>,
    wire: Option<Wire>,
    /// The protocol that the request spoke.
    pub protocol: Option<Protocol>,
    /// The id of the account key.
    pub key: Option<String>,
    /// The key's group.
    pub group: Option<Rc<Group>>,
    /// Whose limits the request meets; nobody's, for most.
    pub subjects: Vec<Subject>,
    /// The leave that the limits gave.
    pub grant: Option<Grant>,
    /// Whether the limits service is to be asked, and what becomes of the request where that fails.
    pub limits_service: Option<OnFailure>,
    /// Whether it has been asked.
    pub service_asked: bool,
    /// The limit that refused the request.
    pub limit: Option<(Scope, Limit)>,
    /// The way to the source.
    pub route: Option<Route>,
    /// The currency of the source's prices.
    pub currency: Option<Rc<str>>,
    /// The model as the client wrote it.
    pub requested_model: Option<String>,
    /// The model that this means.
    pub model: Option<Rc<Model>>,
    /// Whether the client asked for a stream.
    pub stream: bool,
    /// The code of our refusal.
    pub refused: Option<&'static str>,
    /// Whether we do so because the upstream failed, and not of ourselves.
    pub upstream_failed: bool,
    /// When the request was found to be one of a model source, in microseconds of the clock.
    pub began_us: Option<u64>,
    /// Bytes of the body so far.
    pub request_bytes: u64,
    /// The cap that the body sets to the output, in tokens, as far as it is known.
    pub output_cap: Option<u64>,
    /// How large the text of the input is, so far, in bytes.
    text_bytes: u64,
    /// What few bodies ask for.
    asked: Option<Box<Asked>>,
    /// Whether the upstream has been given the whole request.
    pub sent_whole: bool,
}

/// What few bodies ask for, as far as it is known.
#[derive(Debug, Default)]
struct Asked {
    candidates: Option<u64>,
    service_tier: Option<Box<str>>,
    speed: Option<Box<str>>,
    input_size: InputSize,
    tool_models: Vec<Rc<Model>>,
}

impl Facts {
    /// Notes who asks for what, as the head says it.
    pub(super) fn note_head(&mut self, head: &Head, target: &Target<'_>) {
        self.method = shown(head.method());
        self.path = shown(target.path);
    }

    /// Notes the model that a request names, and what it means.
    pub(super) fn note_model(&mut self, requested: &str, model: Option<&Rc<Model>>) {
        self.requested_model = Some(requested.chars().take(MAX_NAME).collect());
        self.model = model.map(Rc::clone);
    }

    /// Notes what has been read of the body so far.
    pub(super) fn note_body(&mut self, scanner: &BodyScanner) {
        self.output_cap = scanner.output_cap();
        let size = scanner.input_size();
        self.text_bytes = size.text_bytes;
        let (tier, speed) = (scanner.service_tier(), scanner.speed());
        let candidates = scanner.candidates();
        let parts = [size.images, size.audios, size.files];
        let asks = tier.is_some() || speed.is_some() || candidates.is_some();
        if self.asked.is_none() && !asks && parts == [0; 3] {
            return;
        }
        let asked = self.asked.get_or_insert_default();
        asked.candidates = candidates;
        asked.input_size = size;
        for (known, read) in [(&mut asked.service_tier, tier), (&mut asked.speed, speed)] {
            if known.as_deref() != read {
                *known = read.map(Into::into);
            }
        }
    }

    /// Notes a model that a tool or fallback may run.
    pub(super) fn note_tool_model(&mut self, model: &Rc<Model>) {
        let asked = self.asked.get_or_insert_default();
        if !asked.tool_models.iter().any(|known| known.id == model.id) {
            asked.tool_models.push(Rc::clone(model));
        }
    }
}

#[cfg_attr(
    not(test),
    allow(dead_code, reason = "estimates and charges are to read it")
)]
impl Facts {
    /// How many outputs the body asks for, as far as it is known.
    pub(super) fn candidates(&self) -> Option<u64> {
        self.asked.as_ref()?.candidates
    }

    /// The service tier that the body asks for, as far as it is known.
    pub(super) fn service_tier(&self) -> Option<&str> {
        self.asked.as_ref()?.service_tier.as_deref()
    }

    /// The speed that the body asks for, as far as it is known.
    pub(super) fn speed(&self) -> Option<&str> {
        self.asked.as_ref()?.speed.as_deref()
    }

    /// How large the input is, so far.
    pub(super) fn input_size(&self) -> InputSize {
        let parts = self.asked.as_ref().map(|asked| asked.input_size);
        InputSize {
            text_bytes: self.text_bytes,
            ..parts.unwrap_or_default()
        }
    }

    /// The models that the body names beside its own: those of tools and fallbacks, each once.
    pub(super) fn tool_models(&self) -> &[Rc<Model>] {
        self.asked
            .as_ref()
            .map_or(&[], |asked| asked.tool_models.as_slice())
    }
}

impl Facts {
    /// Notes that we answer with an error.
    pub(super) fn note_refusal(&mut self, rejection: &Rejection) {
        self.refused = Some(rejection.code());
        self.upstream_failed = matches!(
            rejection,
            Rejection::UpstreamFailed | Rejection::UpstreamForbade
        );
        if let Rejection::ModelNotFound { name, .. } | Rejection::ModelNotEntitled { name } =
            rejection
        {
            self.note_model(name, None);
        }
        if let Rejection::LimitReached { scope, limit, .. } = rejection {
            self.limit = Some((*scope, *limit));
        }
    }

    /// How the answer reports what was used; `None` where it is not metered.
    pub(super) fn wire(&self) -> Option<Wire> {
        self.wire
    }

    /// Notes how the answer of this endpoint reports what was used.
    pub(super) fn note_wire(&mut self, endpoint: &Endpoint) {
        self.wire = match endpoint {
            Endpoint::ChatCompletions => Some(Wire::Chat),
            Endpoint::Responses => Some(Wire::Responses),
            Endpoint::ImagesGenerations | Endpoint::ImagesEdits => Some(Wire::Images),
            Endpoint::Messages => Some(Wire::Messages),
            Endpoint::Generate { method, .. } if method != "countTokens" => Some(Wire::Generate),
            Endpoint::Generate { .. }
            | Endpoint::Health
            | Endpoint::Models
            | Endpoint::Model { .. }
            | Endpoint::GenerateModels
            | Endpoint::GenerateModel { .. }
            | Endpoint::CountTokens
            | Endpoint::AccountResource => None,
        };
    }

    /// The operation, in the words of OpenTelemetry's conventions for generative AI.
    pub(super) fn operation(&self) -> Option<&'static str> {
        match (self.wire()?, self.endpoint.as_ref()?) {
            (Wire::Chat | Wire::Responses | Wire::Messages, _) => Some("chat"),
            (Wire::Images, _) => Some("image_generation"),
            (Wire::Generate, Endpoint::Generate { method, .. })
                if method.to_ascii_lowercase().contains("embed") =>
            {
                Some("embeddings")
            }
            (Wire::Generate, _) => Some("generate_content"),
        }
    }

    /// The model's name as it goes upstream.
    pub(super) fn upstream_model(&self) -> Option<String> {
        let own = self.model.as_ref()?.upstream.clone();
        own.or_else(|| self.requested_model.clone())
    }

    /// The source and what it costs.
    pub(super) fn route_taken(&self) -> Option<RouteTaken> {
        let route = self.route.as_ref()?;
        Some(RouteTaken {
            source: route.source.group.clone(),
            entry: route.source.protocol.entry(),
            cluster: route.source.cluster.clone(),
            multiplier: route.multiplier,
        })
    }
}

/// Text as it is, with a sign in place of whatever is not UTF-8.
// Nearly all of it is, and to see that takes far less than to look for what is not.
fn shown(bytes: &[u8]) -> String {
    match core::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
