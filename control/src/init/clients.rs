//! The settings of clients, as the clients' own pages give them.

use std::path::Path;

use trilane::protocol::Protocol;

use trilane_console::vendors::VendorGroup;

/// The lines for the clients of the protocols that a key serves.
pub fn lines(gateway: &str, key: &Path, groups: &[&VendorGroup]) -> Vec<String> {
    let gateway = gateway.trim_end_matches('/');
    let key = key.display();
    let mut lines = Vec::new();
    for protocol in [Protocol::B, Protocol::A, Protocol::C] {
        let group = groups
            .iter()
            .find(|group| group.vendor.protocol == protocol);
        let Some(model) = group.and_then(|group| group.models.first()) else {
            continue;
        };
        let model = &model.id;
        lines.extend(match protocol {
            Protocol::A => vec![
                "OpenAI SDKs, and all that speaks Responses or Chat Completions:".to_owned(),
                format!("  export OPENAI_BASE_URL={gateway}/v1"),
                format!("  export OPENAI_API_KEY=\"$(cat '{key}')\""),
                "Codex CLI, which reads its settings in ~/.codex/config.toml:".to_owned(),
                format!("  export TRILANE_API_KEY=\"$(cat '{key}')\""),
                format!("  model = \"{model}\""),
                "  model_provider = \"trilane\"".to_owned(),
                "  [model_providers.trilane]".to_owned(),
                "  name = \"trilane\"".to_owned(),
                format!("  base_url = \"{gateway}/v1\""),
                "  wire_api = \"responses\"".to_owned(),
                "  env_key = \"TRILANE_API_KEY\"".to_owned(),
            ],
            Protocol::B => vec![
                "Claude Code, and the Anthropic SDKs:".to_owned(),
                format!("  export ANTHROPIC_BASE_URL={gateway}"),
                format!("  export ANTHROPIC_API_KEY=\"$(cat '{key}')\""),
                format!("  claude --model {model}"),
            ],
            Protocol::C => vec![
                "Google GenAI SDKs, and Gemini CLI:".to_owned(),
                format!("  export GOOGLE_GEMINI_BASE_URL={gateway}"),
                format!("  export GEMINI_API_KEY=\"$(cat '{key}')\""),
                "  # Gemini CLI, in ~/.gemini/settings.json: \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}"
                    .to_owned(),
                format!("  gemini --model {model}"),
            ],
        });
    }
    lines
}
