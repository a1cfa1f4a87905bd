//! Other ways to write the same event: line ends, pings, data on several lines.

use bytes::Bytes;

use crate::form::UsageForm;
use crate::scenario::{LineEnd, Scenario};

/// The way in which the events of one stream are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dress {
    line_end: Option<LineEnd>,
    ping: Option<&'static str>,
    multiline: bool,
}

impl Dress {
    /// Makes the form that the scenario asks for; `form` decides what a ping is.
    pub fn new(scenario: &Scenario, form: UsageForm) -> Self {
        let ping = match form {
            UsageForm::Messages => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            _ => ": ping\n\n",
        };
        Self {
            line_end: scenario.line_end,
            ping: scenario.pings.then_some(ping),
            multiline: scenario.multiline,
        }
    }

    /// Whether events stay as they are.
    fn is_plain(&self) -> bool {
        self.line_end.is_none() && self.ping.is_none() && !self.multiline
    }

    /// The event, whose lines end in LF or CRLF, with its ping before it.
    pub fn put_on(&self, event: Bytes) -> Bytes {
        if self.is_plain() {
            return event;
        }
        let end: &[u8] = match self.line_end {
            None if event.ends_with(b"\r\n") => b"\r\n",
            None | Some(LineEnd::Lf) => b"\n",
            Some(LineEnd::CrLf) => b"\r\n",
            Some(LineEnd::Cr) => b"\r",
        };
        let mut out = Vec::with_capacity(2 * event.len());
        let lines = self.ping.unwrap_or_default().as_bytes();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            self.push_line(&mut out, line, end);
        }
        for line in event.split_inclusive(|byte| *byte == b'\n') {
            self.push_line(&mut out, line, end);
        }
        out.into()
    }

    fn push_line(&self, out: &mut Vec<u8>, line: &[u8], end: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.strip_prefix(b"data: ") {
            Some(json) if self.multiline => push_split(out, json, end),
            _ => out.extend_from_slice(line),
        }
        out.extend_from_slice(end);
    }
}

/// Breaks the line after each comma between two members or elements, where JSON takes white space.
fn push_split(out: &mut Vec<u8>, json: &[u8], end: &[u8]) {
    const NAME: &[u8] = b"data: ";
    out.extend_from_slice(NAME);
    let (mut quoted, mut escaped) = (false, false);
    for byte in json {
        out.push(*byte);
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                out.extend_from_slice(end);
                out.extend_from_slice(NAME);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_same_event_in_other_ways() {
        let event = "event: x\ndata: {\"a\":\"b,\\\",c\",\"d\":[1,2]}\n\n";
        let lines = "event: x\ndata: {\"a\":\"b,\\\",c\",\ndata: \"d\":[1,\ndata: 2]}\n\n";
        for (scenario, form, written) in [
            ("lf", UsageForm::Chat, event.to_owned()),
            ("crlf", UsageForm::Chat, event.replace('\n', "\r\n")),
            ("cr", UsageForm::Messages, event.replace('\n', "\r")),
            ("pings", UsageForm::Chat, format!(": ping\n\n{event}")),
            (
                "pings",
                UsageForm::Messages,
                format!("event: ping\ndata: {{\"type\":\"ping\"}}\n\n{event}"),
            ),
            ("multiline", UsageForm::Chat, lines.to_owned()),
            (
                "multiline,crlf,pings",
                UsageForm::Chat,
                format!(": ping\n\n{lines}").replace('\n', "\r\n"),
            ),
        ] {
            let dress = Dress::new(&Scenario::read(scenario).unwrap(), form);
            for event in [event.to_owned(), event.replace('\n', "\r\n")] {
                // What has CRLF keeps it, unless told otherwise.
                let kept = event.contains('\r') && !scenario.contains('f') && scenario != "cr";
                let expected = if kept {
                    written.replace('\n', "\r\n")
                } else {
                    written.clone()
                };
                assert_eq!(dress.put_on(event.into()), expected, "{scenario}");
            }
        }
    }
}
