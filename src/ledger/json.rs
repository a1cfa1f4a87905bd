//! A record as JSON members. Names are OpenTelemetry's where it has them (`gen_ai.*`, `http.*`,
//! `url.*`, `error.*`), else ours (`trilane.*`).

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Record;
use crate::usage::{Kind, Usage};

impl Record {
    /// The record as members of a JSON object, each with a comma before it: to be put into the
    /// object of members that Envoy writes, `{"time":"…"` + this + `}`.
    pub fn to_members(&self) -> Vec<u8> {
        // Writing strings and integers into memory cannot fail; should it ever, no members are
        // better than half of them.
        let mut object = serde_json::to_vec(self).unwrap_or_default();
        match object.first_mut() {
            Some(brace) => *brace = b',',
            None => return object,
        }
        object.pop();
        object
    }
}

/// Numbers are JSON numbers, amounts and multipliers are strings. What is unknown is left out.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("http.request.method", &self.method)?;
        members.put("url.path", &self.path)?;
        members.put("trilane.outcome", self.ending.name())?;
        members.put("trilane.usage.status", self.status.name())?;
        members.put_some("error.type", self.error.as_ref())?;
        members.put_some("trilane.endpoint", self.endpoint.as_ref())?;
        members.put_some("trilane.protocol", self.protocol.map(|p| p.to_string()))?;
        members.put_some("trilane.key.id", self.key.as_ref())?;
        members.put_some("trilane.group", self.group.as_ref())?;
        if let Some(route) = &self.route {
            members.put("trilane.source", &route.source)?;
            members.put("trilane.entry", route.entry.name())?;
            members.put("trilane.cluster", &route.cluster)?;
            members.put("trilane.multiplier", &route.multiplier.to_string())?;
        }
        if let Some(asked) = &self.asked {
            members.put_some("trilane.account", asked.last.as_ref())?;
            members.put("trilane.tries", &asked.tries)?;
            if !asked.failed.is_empty() {
                members.put("trilane.tries.failed", &asked.failed)?;
            }
        }
        members.put_some("gen_ai.operation.name", self.operation)?;
        members.put_some("gen_ai.request.model", self.requested_model.as_ref())?;
        members.put_some("trilane.model", self.model.as_ref())?;
        members.put_some("trilane.upstream_model", self.upstream_model.as_ref())?;
        if self.operation.is_some() {
            members.put("trilane.stream", &self.stream)?;
        }
        let reading = &self.reading;
        members.put_some("gen_ai.response.model", reading.response_model.as_ref())?;
        members.put_some("gen_ai.response.id", reading.response_id.as_ref())?;
        let reasons = reading.finish_reason.as_ref().map(|reason| [reason]);
        members.put_some("gen_ai.response.finish_reasons", reasons)?;
        members.put_some("trilane.service_tier", reading.service_tier.as_ref())?;
        let upstream_id = self.upstream_request_id.as_ref();
        members.put_some("trilane.upstream_request_id", upstream_id)?;
        members.put_some("trilane.upstream_status", self.replaced_status)?;
        members.put_some("trilane.upstream_failure", self.upstream_failure.as_ref())?;
        if let Some(usage) = &reading.usage {
            members.put_usage(usage)?;
        }
        if reading.reported.iter().any(|(_, count)| *count > 0) {
            members.put("trilane.usage.reported", &Reported(&reading.reported))?;
        }
        if let Some(charge) = &self.charge {
            members.put("trilane.charge", &charge.to_string())?;
            members.put_some("trilane.currency", self.currency.as_deref())?;
        }
        members.put("http.request.body.size", &self.request_bytes)?;
        if self.operation.is_some() {
            members.put("http.response.body.size", &self.response_bytes)?;
        }
        members.put_some("trilane.time_to_first_byte_us", self.first_byte_us)?;
        members.0.end()
    }
}

/// A JSON object being written.
struct Members<M>(M);

impl<M: SerializeMap> Members<M> {
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), M::Error> {
        self.0.serialize_entry(name, value)
    }

    fn put_some<T: Serialize>(&mut self, name: &str, value: Option<T>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(name, &value))
    }

    /// Totals always, parts where there are any.
    fn put_usage(&mut self, usage: &Usage) -> Result<(), M::Error> {
        self.put("gen_ai.usage.input_tokens", &usage.input_tokens())?;
        self.put("gen_ai.usage.output_tokens", &usage.output_tokens())?;
        let written_5m = usage.tokens(Kind::CacheWrite5m);
        let written_1h = usage.tokens(Kind::CacheWrite1h);
        let parts = [
            (
                "gen_ai.usage.cache_read.input_tokens",
                usage.tokens(Kind::CacheRead),
            ),
            (
                "gen_ai.usage.cache_creation.input_tokens",
                written_5m.saturating_add(written_1h),
            ),
            ("trilane.usage.cache_creation_5m.input_tokens", written_5m),
            ("trilane.usage.cache_creation_1h.input_tokens", written_1h),
            (
                "trilane.usage.tool_use.input_tokens",
                usage.tokens(Kind::ToolUse),
            ),
            (
                "trilane.usage.image.input_tokens",
                usage.tokens(Kind::InputImage),
            ),
            (
                "gen_ai.usage.reasoning.output_tokens",
                usage.tokens(Kind::Reasoning),
            ),
            ("trilane.usage.images", usage.images),
        ];
        for (name, count) in parts {
            if count > 0 {
                self.put(name, &count)?;
            }
        }
        Ok(())
    }
}

/// Numbers under the names that the protocol gave them.
struct Reported<'a>(&'a [(&'static str, u64)]);

impl Serialize for Reported<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied().filter(|(_, count)| *count > 0))
    }
}
