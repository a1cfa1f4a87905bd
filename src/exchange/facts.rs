//! What becomes known of an exchange on its way, for its record.

use std::borrow::Cow;
use std::rc::Rc;

use crate::body::{BodyScanner, InputSize};
use crate::config::policy::Group;
use crate::head::Head;
use crate::keys::KeyRecord;
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
/// Longest path that is kept, in characters: ours are shorter, with any model's name in them.
const MAX_PATH: usize = 256;
/// Longest method that is kept, in characters: of those that HTTP knows the longest has 17.
const MAX_METHOD: usize = 32;
/// What stands in place of the rest of a text.
const CUT: char = '…';

/// What is known so far. Nothing here decides anything.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The request's method, and no more than [`MAX_METHOD`] characters of it.
    pub method: String,
    /// The request's path, without its query, and no more than [`MAX_PATH`] characters of it.
    pub path: String,
    /// What was asked for.
    pub endpoint: Option<Endpoint>,
    wire: Option<Wire>,
    /// The protocol that the request spoke.
    pub protocol: Option<Protocol>,
    /// The id of the account key.
    pub key: Option<String>,
    /// Where the key stood, if its group does not read it there.
    pub key_found_in: Option<&'static str>,
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
    /// Whether the stream was made to report a usage that the client did not ask for.
    pub usage_unasked: bool,
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
    /// What few requests have.
    asked: Option<Box<Asked>>,
    /// Whether the upstream has been given the whole request.
    pub sent_whole: bool,
}

/// What few requests have, or few bodies ask for, as far as it is known.
#[derive(Debug, Default)]
struct Asked {
    owner: Option<String>,
    candidates: Option<u64>,
    service_tier: Option<Box<str>>,
    speed: Option<Box<str>>,
    input_size: InputSize,
    tool_models: Vec<Rc<Model>>,
}

impl Facts {
    /// Notes who asks for what, as the head says it.
    pub(super) fn note_head(&mut self, head: &Head, target: &Target<'_>) {
        self.method = shown(head.method(), MAX_METHOD);
        self.path = shown(target.path, MAX_PATH);
    }

    /// Notes the account key.
    pub(super) fn note_key(&mut self, key: &KeyRecord) {
        self.key = Some(key.id.clone());
        if let Some(owner) = &key.owner {
            self.asked.get_or_insert_default().owner = Some(owner.clone());
        }
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

impl Facts {
    /// Whose the account key is, where that is known; gives it away.
    pub(super) fn take_owner(&mut self) -> Option<String> {
        self.asked.as_mut()?.owner.take()
    }

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
            Rejection::UpstreamFailed | Rejection::AccountsRefused | Rejection::UpstreamForbade
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

    /// Whether what is not reported costs nothing.
    pub(super) fn unreported_is_free(&self) -> bool {
        let route = self.route.as_ref();
        route.is_some_and(|route| route.source.unreported_free)
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

/// Text with at most `most` characters, then [`CUT`] where there is more, and with a sign in place of whatever is not UTF-8.
// Nearly all of it is short and UTF-8, and to see that takes far less than to look for what is not.
fn shown(bytes: &[u8], most: usize) -> String {
    // No character has more bytes than this, so what is behind them is not looked at.
    let first = bytes
        .get(..most.saturating_add(1).saturating_mul(4))
        .unwrap_or(bytes);
    let text = match core::str::from_utf8(first) {
        Ok(text) if text.len() <= most => return text.to_owned(),
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(first),
    };
    match text.char_indices().nth(most) {
        Some((end, _)) => text
            .get(..end)
            .into_iter()
            .flat_map(str::chars)
            .chain([CUT])
            .collect(),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_a_character() {
        let cut = |text: &str| format!("{text}…");
        // Any byte of the four of 🤖 may be the one where the text is cut.
        let cases: [(&str, &[u8], String); 13] = [
            ("empty", b"", String::new()),
            ("short", b"/v1", "/v1".to_owned()),
            ("at the limit", b"/v1/", "/v1/".to_owned()),
            ("over the limit", b"/v1/x", cut("/v1/")),
            ("far over the limit", &[b'x'; 60_000], cut("xxxx")),
            ("two bytes each", "éééé".as_bytes(), "éééé".to_owned()),
            ("two bytes each, one more", "ééééé".as_bytes(), cut("éééé")),
            (
                "four bytes each",
                "🤖🤖🤖🤖".as_bytes(),
                "🤖🤖🤖🤖".to_owned(),
            ),
            (
                "four bytes each, more",
                "🤖🤖🤖🤖🤖🤖🤖".as_bytes(),
                cut("🤖🤖🤖🤖"),
            ),
            (
                "cut in a character",
                "x🤖🤖🤖🤖🤖🤖🤖".as_bytes(),
                cut("x🤖🤖🤖"),
            ),
            ("no UTF-8", b"/\xff\xfe", "/\u{fffd}\u{fffd}".to_owned()),
            (
                "no UTF-8, more",
                b"/\xff\xfe\x80\x81",
                cut("/\u{fffd}\u{fffd}\u{fffd}"),
            ),
            (
                "no UTF-8 far behind",
                b"abcdabcdabcdabcdabcdabcd\xff",
                cut("abcd"),
            ),
        ];
        for (case, bytes, want) in cases {
            assert_eq!(shown(bytes, 4), want, "{case}");
        }
    }
}
