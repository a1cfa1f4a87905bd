//! Server-sent events as the standard reads them: any line end, comments, data on several lines.

/// Name and data of every event that has both its data and its blank line.
pub fn parse(stream: &[u8]) -> Vec<(Option<String>, String)> {
    let text = std::str::from_utf8(stream).unwrap();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut name, mut data) = (Vec::new(), None, Vec::new());
    for line in text.split('\n') {
        if line.is_empty() {
            if !data.is_empty() {
                events.push((name.take(), data.join("\n")));
            }
            (name, data) = (None, Vec::new());
        } else if let Some(value) = line.strip_prefix("data:") {
            data.push(value.strip_prefix(' ').unwrap_or(value).to_owned());
        } else if let Some(value) = line.strip_prefix("event:") {
            name = Some(value.trim_start().to_owned());
        }
    }
    events
}
