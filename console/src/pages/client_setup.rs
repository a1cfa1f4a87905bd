//! Client setup: the lines of the pages in `docs/clients`, which the tests of those pages run, with a key's own address
//! and models in place of the sample's. So there is one source, and what is copied from the console is what was tried.

use crate::cases::KeyModel;
use crate::vendors::api_style;

/// The address, the key and the models that the pages have.
const ADDRESS: &str = "http://127.0.0.1:10000";
const KEY: &str = "trilane-demo-mixed";
/// A longer name stands before one that it begins with.
const MODELS: [(&str, &str); 5] = [
    ("gpt-5.1-codex", "A"),
    ("gpt-5.1", "A"),
    ("claude-opus-4-5", "B"),
    ("claude-haiku-4-5", "B"),
    ("gemini-2.5-flash", "C"),
];

/// The pages: the client's name, the protocol that it needs, the page.
const PAGES: [(&str, &str, &str); 8] = [
    (
        "Claude Code",
        "B",
        include_str!("../../../docs/clients/claude-code.md"),
    ),
    (
        "Codex CLI",
        "A",
        include_str!("../../../docs/clients/codex.md"),
    ),
    (
        "Gemini CLI",
        "C",
        include_str!("../../../docs/clients/gemini-cli.md"),
    ),
    (
        "opencode",
        "B",
        include_str!("../../../docs/clients/opencode.md"),
    ),
    ("aider", "A", include_str!("../../../docs/clients/aider.md")),
    (
        "OpenAI SDK",
        "A",
        include_str!("../../../docs/clients/openai-sdk.md"),
    ),
    (
        "Anthropic SDK",
        "B",
        include_str!("../../../docs/clients/anthropic-sdk.md"),
    ),
    (
        "Google GenAI SDK",
        "C",
        include_str!("../../../docs/clients/google-genai-sdk.md"),
    ),
];

/// The setup of one client.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientSetup {
    /// The name of the client.
    pub name: &'static str,
    /// The protocol that it speaks; empty: any.
    pub protocol: &'static str,
    /// The style of the API that it speaks, for people.
    pub style: &'static str,
    /// The steps of the setup, in this order.
    pub steps: Vec<SetupStep>,
}

/// A block of lines to copy.
#[derive(Debug, PartialEq, Eq)]
pub struct SetupStep {
    /// The section that it stands in, such as `Node`; empty: the first.
    pub section: String,
    /// The file that it goes into; empty: it is typed into a shell.
    pub file: String,
    /// The lines.
    pub text: String,
}

/// The clients that a key with these models can have.
pub fn clients(gateway: &str, key: &str, models: &[KeyModel]) -> Vec<ClientSetup> {
    let serves = |protocol: &str| models.iter().any(|model| model.protocol == protocol);
    let pages = PAGES.into_iter().filter(|(_, needs, _)| serves(needs));
    let mut found: Vec<ClientSetup> = pages
        .map(|(name, protocol, page)| {
            let mut steps = steps(page);
            for step in &mut steps {
                step.text = filled_in(&step.text, gateway, key, models);
            }
            ClientSetup {
                name,
                protocol,
                style: api_style(protocol),
                steps,
            }
        })
        .collect();
    let curls = ["A", "B", "C"].into_iter().filter_map(|protocol| {
        let model = models.iter().find(|model| model.protocol == protocol)?;
        Some((protocol, curl(model, false, gateway, key)))
    });
    let steps: Vec<SetupStep> = curls
        .map(|(protocol, text)| SetupStep {
            section: api_style(protocol).to_owned(),
            file: String::new(),
            text,
        })
        .collect();
    if !steps.is_empty() {
        found.push(ClientSetup {
            name: "curl",
            protocol: "",
            style: "",
            steps,
        });
    }
    found
}

/// The blocks of a page, up to what is about errors and the like. What a client prints is left out.
fn steps(page: &str) -> Vec<SetupStep> {
    let mut steps = Vec::new();
    let (mut section, mut before) = ("", "");
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            if !["Python", "Node"].contains(&title) {
                break;
            }
            section = title;
        }
        if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let file = before
                .strip_prefix('`')
                .and_then(|rest| rest.strip_suffix("`:"));
            if language != "text" {
                steps.push(SetupStep {
                    section: section.to_owned(),
                    file: file.unwrap_or_default().to_owned(),
                    text: block.join("\n"),
                });
            }
        }
        if !line.is_empty() {
            before = line;
        }
    }
    steps
}

fn filled_in(text: &str, gateway: &str, key: &str, models: &[KeyModel]) -> String {
    let mut text = text.replace(ADDRESS, gateway).replace(KEY, key);
    // All of the sample's names are taken out first: one of the key's own may begin like another one of the sample's.
    for (place, (name, _)) in MODELS.iter().enumerate() {
        text = text.replace(name, &format!("\u{1}{place}\u{2}"));
    }
    for (place, (name, protocol)) in MODELS.iter().enumerate() {
        let of_key = || models.iter().filter(|model| model.protocol == *protocol);
        let same = of_key().find(|model| model.id == *name);
        let own = same.or_else(|| of_key().next());
        let own = own.map_or(*name, |model| model.id.as_str());
        text = text.replace(&format!("\u{1}{place}\u{2}"), own);
    }
    text
}

/// The base URL that a client of a protocol is set up with.
pub fn base_url(protocol: &str, gateway: &str) -> String {
    match protocol {
        "A" => format!("{gateway}/v1"),
        _ => gateway.to_owned(),
    }
}

/// A call of a model by curl.
pub fn curl(
    KeyModel {
        id: model,
        protocol,
    }: &KeyModel,
    is_image: bool,
    gateway: &str,
    key: &str,
) -> String {
    match *protocol {
        "A" if is_image => format!(
            "curl {gateway}/v1/images/generations \\\n  -H 'authorization: Bearer {key}' \\\n  \
             -H 'content-type: application/json' \\\n  \
             -d '{{\"model\":\"{model}\",\"prompt\":\"A lighthouse\"}}'"
        ),
        "A" => format!(
            "curl {gateway}/v1/responses \\\n  -H 'authorization: Bearer {key}' \\\n  \
             -H 'content-type: application/json' \\\n  \
             -d '{{\"model\":\"{model}\",\"input\":\"Hello\"}}'"
        ),
        "B" => format!(
            "curl {gateway}/v1/messages \\\n  -H 'x-api-key: {key}' \\\n  -H 'anthropic-version: 2023-06-01' \\\n  \
             -H 'content-type: application/json' \\\n  \
             -d '{{\"model\":\"{model}\",\"max_tokens\":256,\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'"
        ),
        _ => format!(
            "curl {gateway}/v1beta/models/{model}:generateContent \\\n  -H 'x-goog-api-key: {key}' \\\n  \
             -H 'content-type: application/json' \\\n  -d '{{\"contents\":[{{\"parts\":[{{\"text\":\"Hello\"}}]}}]}}'"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(id: &str, protocol: &'static str) -> KeyModel {
        KeyModel {
            id: id.to_owned(),
            protocol,
        }
    }

    #[test]
    fn every_page_has_steps_with_address_and_key() {
        for (name, _, page) in PAGES {
            let steps = steps(page);
            let all: String = steps.iter().map(|step| step.text.as_str()).collect();
            assert!(steps.len() >= 3, "{name}: {steps:?}");
            assert!(all.contains(ADDRESS) && all.contains(KEY), "{name}: {all}");
            assert!(
                !all.contains("wrong"),
                "{name}: what is about errors: {all}"
            );
        }
    }

    #[test]
    fn with_a_keys_own_address_key_and_models() {
        let models = [model("gpt-5.1-codex", "A"), model("own-b", "B")];
        let clients = clients("https://ai.example", "tl-own", &models);
        let names: Vec<&str> = clients.iter().map(|client| client.name).collect();
        assert_eq!(
            names,
            [
                "Claude Code",
                "Codex CLI",
                "opencode",
                "aider",
                "OpenAI SDK",
                "Anthropic SDK",
                "curl"
            ],
            "no protocol C, no client of it"
        );
        let text = |name: &str| {
            let client = clients.iter().find(|client| client.name == name).unwrap();
            let texts: Vec<&str> = client.steps.iter().map(|step| step.text.as_str()).collect();
            texts.join("\n")
        };
        let claude = text("Claude Code");
        assert!(
            claude.contains(
                "export ANTHROPIC_BASE_URL=https://ai.example\nexport ANTHROPIC_API_KEY=tl-own"
            ),
            "{claude}"
        );
        assert!(claude.contains("claude --model own-b --print"), "{claude}");
        assert!(text("Codex CLI").contains("model = \"gpt-5.1-codex\""));
        assert!(text("OpenAI SDK").contains("python hello.py gpt-5.1-codex"));
        for client in &clients {
            let all = text(client.name);
            assert!(
                !all.contains(ADDRESS) && !all.contains(KEY),
                "{}: {all}",
                client.name
            );
        }
        let codex = clients
            .iter()
            .find(|client| client.name == "Codex CLI")
            .unwrap();
        assert_eq!(codex.steps[1].file, "~/.codex/config.toml");
        let sdk = clients
            .iter()
            .find(|client| client.name == "OpenAI SDK")
            .unwrap();
        assert!(sdk.steps.iter().any(|step| step.section == "Node"));
    }

    #[test]
    fn a_key_without_models_has_no_clients() {
        assert_eq!(clients("https://ai.example", "tl-own", &[]), []);
    }
}
