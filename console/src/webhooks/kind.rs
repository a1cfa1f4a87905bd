//! The kinds of webhooks, and the body that each is sent.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The kind of a webhook: who reads its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookKind {
    /// A program, which checks the signature.
    #[default]
    Webhook,
    /// A channel of Slack, by an incoming webhook.
    Slack,
    /// A channel of Microsoft Teams, by a webhook of a workflow.
    Teams,
    /// Addresses, by the console's mail server: `mailto:ann@example.com,bob@example.com`.
    Email,
}

impl WebhookKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Webhook, Self::Slack, Self::Teams, Self::Email];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::Email => "email",
        }
    }

    /// The kind with a name; the database has no other.
    pub fn of(name: &str) -> Self {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == name);
        kind.unwrap_or_default()
    }

    /// Whether the path of its URL is a secret: whoever knows it can post there.
    pub const fn has_secret_url(self) -> bool {
        matches!(self, Self::Slack | Self::Teams)
    }

    /// The body of a request, of a message.
    pub fn body(self, message: &str) -> String {
        match self {
            Self::Webhook | Self::Email => message.to_owned(),
            Self::Slack => slack(&text(message)).to_string(),
            Self::Teams => teams(&text(message)).to_string(),
        }
    }
}

/// The sentence in a message.
pub fn text(message: &str) -> String {
    member(message, "text").unwrap_or_default()
}

/// The text of the mail that a message is sent as: that of a person has its own, any other is the sentence.
pub fn mail_text(message: &str) -> String {
    member(message, "mail").unwrap_or_else(|| format!("{}\n", text(message)))
}

fn member(message: &str, name: &str) -> Option<String> {
    let body: Value = serde_json::from_str(message).unwrap_or_default();
    body.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Names in it are texts of people, so nothing is markup: no name calls a channel or is a link.
fn slack(text: &str) -> Value {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let escaped = escaped.replace('>', "&gt;");
    let block =
        json!({"type": "section", "text": {"type": "plain_text", "text": text, "emoji": false}});
    json!({"text": escaped, "blocks": [block]})
}

/// A text block would be Markdown; a text run is text.
fn teams(text: &str) -> Value {
    let line = json!({"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]});
    let card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [line],
    });
    let attachment = json!({"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null, "content": card});
    json!({"type": "message", "attachments": [attachment]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let message = json!({"id": "event_1", "text": "Envoy <!channel> & [a](b)"}).to_string();
        assert_eq!(WebhookKind::Webhook.body(&message), message);
        let body = |kind: WebhookKind| serde_json::from_str::<Value>(&kind.body(&message)).unwrap();
        let slack = body(WebhookKind::Slack);
        assert_eq!(slack["text"], "Envoy &lt;!channel&gt; &amp; [a](b)");
        assert_eq!(slack["blocks"][0]["text"]["type"], "plain_text");
        assert_eq!(
            slack["blocks"][0]["text"]["text"],
            "Envoy <!channel> & [a](b)"
        );
        let teams = body(WebhookKind::Teams);
        let card = &teams["attachments"][0]["content"];
        assert_eq!(card["type"], "AdaptiveCard");
        assert_eq!(
            card["body"][0]["inlines"][0]["text"],
            "Envoy <!channel> & [a](b)"
        );
    }
}
