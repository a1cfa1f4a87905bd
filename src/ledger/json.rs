//! A record as JSON members. Names are OpenTelemetry's where it has them (`gen_ai.*`, `http.*`,
//! `url.*`, `error.*`), else ours (`trilane.*`).

use core::fmt::Write as _;

use serde::Serialize;

use super::Record;
use crate::limits::Scope;
use crate::text::plain_run;
use crate::usage::{Kind, Usage};

/// About the size of the members of one record, in bytes.
const USUAL_SIZE: usize = 1536;

impl Record {
    /// The record as members of a JSON object, each with a comma before it: to be put into the
    /// object of members that Envoy writes, `{"time":"…"` + this + `}`.
    ///
    /// Numbers are JSON numbers, amounts and multipliers are strings. What is unknown is left out.
    pub fn to_members(&self) -> Vec<u8> {
        let mut members = Members(Vec::with_capacity(USUAL_SIZE));
        members.text("http.request.method", &self.method);
        members.text("url.path", &self.path);
        members.text("trilane.outcome", self.ending.name());
        members.text("trilane.usage.status", self.status.name());
        members.text_if("error.type", self.error.as_deref());
        members.text_if("trilane.endpoint", self.endpoint.as_deref());
        if let Some(protocol) = self.protocol {
            members.shown("trilane.protocol", &protocol);
        }
        members.text_if("trilane.key.id", self.key.as_deref());
        members.text_if("trilane.group", self.group.as_deref());
        self.put_route(&mut members);
        members.text_if("gen_ai.operation.name", self.operation);
        members.text_if("gen_ai.request.model", self.requested_model.as_deref());
        members.text_if("trilane.model", self.model.as_deref());
        members.text_if("trilane.upstream_model", self.upstream_model.as_deref());
        if self.operation.is_some() {
            members.json("trilane.stream", &self.stream);
        }
        self.put_answer(&mut members);
        self.put_limits(&mut members);
        members.number("http.request.body.size", self.request_bytes);
        if self.operation.is_some() {
            members.number("http.response.body.size", self.response_bytes);
        }
        if let Some(time) = self.first_byte_us {
            members.number("trilane.time_to_first_byte_us", time);
        }
        members.0
    }

    /// Where the request went.
    fn put_route(&self, members: &mut Members) {
        if let Some(route) = &self.route {
            members.text("trilane.source", &route.source);
            members.text("trilane.entry", route.entry.name());
            members.text("trilane.cluster", &route.cluster);
            members.shown("trilane.multiplier", &route.multiplier);
        }
        if let Some(asked) = &self.asked {
            members.text_if("trilane.account", asked.last.as_deref());
            members.number("trilane.tries", asked.tries);
            if !asked.failed.is_empty() {
                members.json("trilane.tries.failed", &asked.failed);
            }
        }
    }

    /// What the limits said, and what is spent of budgets.
    fn put_limits(&self, members: &mut Members) {
        if let Some((scope, limit)) = self.limit {
            members.text("trilane.limit", limit.name());
            members.text("trilane.limit.scope", scope.name());
        }
        for spent in &self.settled.spent {
            let [day, month] = match spent.scope {
                Scope::Key => ["trilane.spent.key.day", "trilane.spent.key.month"],
                Scope::Group => ["trilane.spent.group.day", "trilane.spent.group.month"],
            };
            members.shown(day, &spent.in_day);
            members.shown(month, &spent.in_month);
        }
    }

    /// What came back.
    fn put_answer(&self, members: &mut Members) {
        let reading = &self.reading;
        members.text_if("gen_ai.response.model", reading.response_model.as_deref());
        members.text_if("gen_ai.response.id", reading.response_id.as_deref());
        if let Some(reason) = &reading.finish_reason {
            members.json("gen_ai.response.finish_reasons", &[reason]);
        }
        members.text_if("trilane.service_tier", reading.service_tier.as_deref());
        members.text_if(
            "trilane.upstream_request_id",
            self.upstream_request_id.as_deref(),
        );
        if let Some(status) = self.replaced_status {
            members.number("trilane.upstream_status", status.into());
        }
        members.text_if("trilane.upstream_failure", self.upstream_failure.as_deref());
        if let Some(usage) = &reading.usage {
            members.usage(usage);
        }
        members.reported(&reading.reported);
        if let Some(charge) = &self.charge {
            members.shown("trilane.charge", charge);
            members.text_if("trilane.currency", self.currency.as_deref());
        }
    }
}

/// Members of a JSON object being written. All names are plain.
struct Members(Vec<u8>);

impl Members {
    fn name(&mut self, name: &str) {
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    fn text(&mut self, name: &str, value: &str) {
        if plain_run(value.as_bytes()) < value.len() {
            self.json(name, value);
            return;
        }
        self.name(name);
        self.0.push(b'"');
        self.0.extend_from_slice(value.as_bytes());
        self.0.push(b'"');
    }

    fn text_if(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// A value whose text is plain.
    fn shown(&mut self, name: &str, value: &impl core::fmt::Display) {
        let mut text = String::new();
        // Writing into memory does not fail.
        let _ = write!(text, "{value}");
        self.text(name, &text);
    }

    fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        let mut digits = itoa::Buffer::new();
        self.0.extend_from_slice(digits.format(value).as_bytes());
    }

    fn json<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        let before = self.0.len();
        self.name(name);
        // Strings and numbers, into memory: it cannot fail. Should it ever, the member is left out whole.
        if serde_json::to_writer(&mut self.0, value).is_err() {
            self.0.truncate(before);
        }
    }

    /// Totals always, parts where there are any.
    fn usage(&mut self, usage: &Usage) {
        self.number("gen_ai.usage.input_tokens", usage.input_tokens());
        self.number("gen_ai.usage.output_tokens", usage.output_tokens());
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
                self.number(name, count);
            }
        }
    }

    /// The protocol's own numbers, those that are not 0, under the names that it gave them.
    fn reported(&mut self, reported: &[(&str, u64)]) {
        let mut object = Self(Vec::new());
        for (name, count) in reported.iter().filter(|(_, count)| *count > 0) {
            object.number(name, *count);
        }
        if let Some((_, members)) = object.0.split_first() {
            self.name("trilane.usage.reported");
            self.0.push(b'{');
            self.0.extend_from_slice(members);
            self.0.push(b'}');
        }
    }
}
