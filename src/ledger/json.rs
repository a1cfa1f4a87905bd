//! A record as JSON members. Names are OpenTelemetry's where it has them (`gen_ai.*`, `http.*`,
//! `url.*`, `error.*`), else ours (`trilane.*`).

use core::fmt::{self, Write as _};
use std::collections::BTreeMap;

use serde::Serialize;

use super::buffer::{MemberBuffer, MemberName, name};
use super::record::Record;
use crate::limits::SubjectKind;
use crate::usage::{Call, Estimated, Kind, Usage};

/// The maximum length at which a text chosen by an upstream is written, in characters.
const MAX_FOREIGN: usize = 256;

/// The beginning of a text, [`MAX_FOREIGN`] characters at most.
fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_FOREIGN).map(|(end, _)| end);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

impl Record {
    /// The record as members of a JSON object, each with a comma before it: to be put into the
    /// object of members that Envoy writes, `{"time":"…"` + this + `}`.
    ///
    /// Numbers are JSON numbers, amounts and multipliers are strings. What is unknown is left out.
    pub fn to_members(&self) -> Vec<u8> {
        let mut members = MemberWriter(MemberBuffer::new());
        members.text(name!("http.request.method"), &self.method);
        members.text(name!("url.path"), &self.path);
        members.text(name!("trilane.outcome"), self.ending.name());
        members.text(name!("trilane.usage.status"), self.status.name());
        members.text_if(name!("error.type"), self.error.as_deref());
        members.text_if(name!("trilane.endpoint"), self.endpoint.as_deref());
        if let Some(protocol) = self.protocol {
            members.shown(name!("trilane.protocol"), &protocol);
        }
        members.text_if(name!("trilane.key.id"), self.key.as_deref());
        members.text_if(name!("trilane.key.found_in"), self.key_found_in);
        members.text_if(name!("trilane.key.owner"), self.owner.as_deref());
        members.text_if(name!("trilane.key.team"), self.team.as_deref());
        members.text_if(name!("trilane.key.counts_as"), self.counts_as.as_deref());
        members.text_if(name!("trilane.group"), self.group.as_deref());
        if let Some(labels) = &self.labels {
            members.text_if(name!("trilane.client"), labels.client.as_deref());
            members.text_if(name!("trilane.session"), labels.session.as_deref());
            if !labels.labels.is_empty() {
                let labels: BTreeMap<&str, &str> = labels
                    .labels
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                members.json(name!("trilane.labels"), &labels);
            }
        }
        self.put_route(&mut members);
        members.text_if(name!("gen_ai.operation.name"), self.operation);
        members.text_if(
            name!("gen_ai.request.model"),
            self.requested_model.as_deref(),
        );
        members.text_if(name!("trilane.model"), self.model.as_deref());
        members.text_if(
            name!("trilane.upstream_model"),
            self.upstream_model.as_deref(),
        );
        if self.operation.is_some() {
            members.flag(name!("trilane.stream"), self.stream);
        }
        self.put_answer(&mut members);
        self.put_limits(&mut members);
        members.number(name!("http.request.body.size"), self.request_bytes);
        if self.operation.is_some() {
            members.number(name!("http.response.body.size"), self.response_bytes);
        }
        if let Some(time) = self.first_byte_us {
            members.number(name!("trilane.time_to_first_byte_us"), time);
        }
        members.0.into_bytes()
    }

    /// Writes the members on the destination of the request.
    fn put_route(&self, members: &mut MemberWriter) {
        if let Some(route) = &self.route {
            members.text(name!("trilane.source"), &route.source);
            members.text(name!("trilane.entry"), route.entry.name());
            members.text(name!("trilane.cluster"), &route.cluster);
            members.shown(name!("trilane.multiplier"), &route.multiplier);
        }
        if let Some(attempts) = &self.attempts {
            members.text_if(name!("trilane.account"), attempts.last.as_deref());
            members.number(name!("trilane.tries"), attempts.count);
            if !attempts.failed.is_empty() {
                members.json(name!("trilane.tries.failed"), &attempts.failed);
            }
        }
    }

    /// Writes the limit that rejected the request, and the spend of budgets.
    fn put_limits(&self, members: &mut MemberWriter) {
        if let Some((scope, limit)) = self.limit {
            members.text(name!("trilane.limit"), limit.name());
            members.text(name!("trilane.limit.scope"), scope.name());
        }
        for spent in &self.settled.spent {
            let [day, month] = match spent.scope {
                SubjectKind::Key => [
                    name!("trilane.spent.key.day"),
                    name!("trilane.spent.key.month"),
                ],
                SubjectKind::Member => [
                    name!("trilane.spent.member.day"),
                    name!("trilane.spent.member.month"),
                ],
                SubjectKind::Owner => [
                    name!("trilane.spent.owner.day"),
                    name!("trilane.spent.owner.month"),
                ],
                SubjectKind::Team => [
                    name!("trilane.spent.team.day"),
                    name!("trilane.spent.team.month"),
                ],
                SubjectKind::Group => [
                    name!("trilane.spent.group.day"),
                    name!("trilane.spent.group.month"),
                ],
            };
            members.shown(day, &spent.in_day);
            members.shown(month, &spent.in_month);
        }
        members.text_if(name!("trilane.instance"), self.settled.instance.as_deref());
    }

    /// Writes the members on the response.
    fn put_answer(&self, members: &mut MemberWriter) {
        let reading = &self.reading;
        members.text_if(
            name!("gen_ai.response.model"),
            reading.response_model.as_deref(),
        );
        members.text_if(name!("gen_ai.response.id"), reading.response_id.as_deref());
        if let Some(reason) = &reading.finish_reason {
            members.only(name!("gen_ai.response.finish_reasons"), reason);
        }
        members.text_if(
            name!("trilane.service_tier"),
            reading.service_tier.as_deref(),
        );
        members.text_if(name!("trilane.speed"), reading.speed.as_deref());
        members.text_if(
            name!("trilane.inference_geo"),
            reading.inference_geo.as_deref(),
        );
        members.text_if(
            name!("trilane.upstream_request_id"),
            self.upstream_request_id.as_deref().map(beginning),
        );
        if let Some(error) = &self.upstream_error {
            let (kind, code, param) = (&error.kind, &error.code, &error.param);
            members.text_if(name!("trilane.upstream_error.type"), kind.as_deref());
            members.text_if(name!("trilane.upstream_error.code"), code.as_deref());
            members.text_if(name!("trilane.upstream_error.param"), param.as_deref());
            members.text_if(
                name!("trilane.upstream_error.message"),
                error.message.as_deref(),
            );
        }
        if let Some(status) = self.replaced_status {
            members.number(name!("trilane.upstream_status"), status.into());
        }
        members.text_if(
            name!("trilane.upstream_failure"),
            self.upstream_failure.as_deref(),
        );
        if let Some(usage) = &reading.usage {
            members.usage(usage);
        }
        members.estimated(self.estimated);
        members.reported(&reading.reported);
        members.text_if(name!("trilane.usage.doubt"), reading.doubt.as_deref());
        members.text_if(
            name!("trilane.usage.reported_cost"),
            reading.reported_cost.as_deref(),
        );
        if let Some(charge) = &self.charge {
            members.shown(name!("trilane.charge"), charge);
            members.text_if(name!("trilane.currency"), self.currency.as_deref());
        }
        if let Some(cost) = &self.cost {
            members.shown(name!("trilane.cost_factor"), &cost.factor);
            members.shown(name!("trilane.cost"), &cost.amount);
        }
        if !self.uncovered.is_empty() {
            let names: Vec<&str> = self.uncovered.names().collect();
            members.json(name!("trilane.uncovered"), &names);
        }
    }
}

/// MemberWriter of a JSON object being written.
struct MemberWriter(MemberBuffer);

impl MemberWriter {
    fn text(&mut self, name: &MemberName, value: &str) {
        self.0.push_name(name);
        self.0.push_text(value);
    }

    fn text_if(&mut self, name: &MemberName, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// A list of one text.
    fn only(&mut self, name: &MemberName, value: &str) {
        self.0.push_name(name);
        self.0.push_byte(b'[');
        self.0.push_text(value);
        self.0.push_byte(b']');
    }

    /// A value whose text is plain.
    fn shown(&mut self, name: &MemberName, value: &impl fmt::Display) {
        self.0.push_name(name);
        // Writing into memory does not fail.
        let _ = write!(self.0, "\"{value}\"");
    }

    fn number(&mut self, name: &MemberName, value: u64) {
        self.0.push_name(name);
        self.digits(value);
    }

    fn digits(&mut self, value: u64) {
        let mut digits = itoa::Buffer::new();
        self.0.push(digits.format(value).as_bytes());
    }

    fn flag(&mut self, name: &MemberName, value: bool) {
        self.0.push_name(name);
        self.0.push(if value { b"true" } else { b"false" });
    }

    fn json<T: Serialize + ?Sized>(&mut self, name: &MemberName, value: &T) {
        let before = self.0.length();
        self.0.push_name(name);
        // Strings and numbers, into memory: it cannot fail. Should it ever, the member is left out whole.
        if serde_json::to_writer(&mut self.0, value).is_err() {
            self.0.truncate(before);
        }
    }

    /// Totals always, parts where there are any.
    fn usage(&mut self, usage: &Usage) {
        self.number(name!("gen_ai.usage.input_tokens"), usage.input_tokens());
        self.number(name!("gen_ai.usage.output_tokens"), usage.output_tokens());
        let written_5m = usage.tokens(Kind::CacheWrite5m);
        let written_1h = usage.tokens(Kind::CacheWrite1h);
        let parts = [
            (
                name!("gen_ai.usage.cache_read.input_tokens"),
                usage.tokens(Kind::CacheRead),
            ),
            (
                name!("gen_ai.usage.cache_creation.input_tokens"),
                written_5m.saturating_add(written_1h),
            ),
            (
                name!("trilane.usage.cache_creation_5m.input_tokens"),
                written_5m,
            ),
            (
                name!("trilane.usage.cache_creation_1h.input_tokens"),
                written_1h,
            ),
            (
                name!("trilane.usage.tool_use.input_tokens"),
                usage.tokens(Kind::ToolUse),
            ),
            (
                name!("trilane.usage.image.input_tokens"),
                usage.tokens(Kind::InputImage),
            ),
            (
                name!("gen_ai.usage.reasoning.output_tokens"),
                usage.tokens(Kind::Reasoning),
            ),
            (
                name!("trilane.usage.audio.input_tokens"),
                usage.tokens(Kind::InputAudio),
            ),
            (
                name!("trilane.usage.audio.output_tokens"),
                usage.tokens(Kind::OutputAudio),
            ),
            (
                name!("trilane.usage.image.output_tokens"),
                usage.tokens(Kind::OutputImage),
            ),
            (
                name!("trilane.usage.calls.web_search"),
                usage.calls(Call::WebSearch),
            ),
            (
                name!("trilane.usage.calls.code_execution"),
                usage.calls(Call::CodeExecution),
            ),
            (
                name!("trilane.usage.calls.file_search"),
                usage.calls(Call::FileSearch),
            ),
            (
                name!("trilane.usage.calls.maps_search"),
                usage.calls(Call::MapsSearch),
            ),
            (name!("trilane.usage.images"), usage.images),
        ];
        for (name, count) in parts {
            if count > 0 {
                self.number(name, count);
            }
        }
    }

    /// Writes the numbers of estimated tokens and images, where there are any.
    fn estimated(&mut self, estimated: Estimated) {
        for (name, count) in [
            (name!("trilane.estimated.input_tokens"), estimated.input),
            (name!("trilane.estimated.output_tokens"), estimated.output),
            (name!("trilane.estimated.images"), estimated.images),
        ] {
            if count > 0 {
                self.number(name, count);
            }
        }
    }

    /// The protocol's own numbers, those that are not 0, under the names that it gave them.
    fn reported(&mut self, reported: &[(&str, u64)]) {
        let mut there = reported.iter().filter(|(_, count)| *count > 0);
        let Some((name, count)) = there.next() else {
            return;
        };
        self.0.push_name(name!("trilane.usage.reported"));
        let opened = self.0.length();
        self.reported_one(name, *count);
        // In place of the first one's comma.
        self.0.replace(opened, b'{');
        for (name, count) in there {
            self.reported_one(name, *count);
        }
        self.0.push_byte(b'}');
    }

    fn reported_one(&mut self, name: &str, count: u64) {
        self.0.push(b",\"");
        self.0.push(name.as_bytes());
        self.0.push(b"\":");
        self.digits(count);
    }
}
