//! Coding agents, and how each is set up for the gateway: by its environment and its command line. Of its own files none changes; Gemini
//! CLI gets one where it has none.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::KeyLife;
use super::stored::StoredSignIn;
use crate::shell_line::shell_line;
use crate::terminal::say;

/// A coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CodingAgent {
    /// Claude Code
    Claude,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    Gemini,
    /// opencode
    Opencode,
}

/// The command that prints a key: this program.
#[derive(Debug)]
pub struct KeyCommand {
    /// The program.
    pub program: PathBuf,
    /// The file of the sign-in, if it was named.
    pub file: Option<PathBuf>,
}

impl KeyCommand {
    fn arguments(&self) -> Vec<String> {
        let file = self.file.iter();
        let file = file.flat_map(|file| ["--file".to_owned(), file.display().to_string()]);
        ["token".to_owned()].into_iter().chain(file).collect()
    }

    /// The command as a shell reads it.
    fn in_shell(&self) -> String {
        let program = self.program.display().to_string();
        shell_line([program].into_iter().chain(self.arguments()))
    }
}

impl CodingAgent {
    /// The time that its key must be good for.
    pub const fn key_life(self) -> KeyLife {
        match self {
            Self::Claude | Self::Codex => KeyLife::Hour,
            // They read it once.
            Self::Gemini | Self::Opencode => KeyLife::Day,
        }
    }

    /// The command that starts it.
    pub fn command(self, sign_in: &StoredSignIn, key: &KeyCommand) -> Command {
        let gateway = sign_in.gateway.trim_end_matches('/');
        match self {
            Self::Claude => claude(gateway, key),
            Self::Codex => codex(gateway, key),
            Self::Gemini => gemini(gateway, &sign_in.access_token),
            Self::Opencode => opencode(gateway, &sign_in.access_token),
        }
    }
}

fn claude(gateway: &str, key: &KeyCommand) -> Command {
    let mut command = Command::new("claude");
    let settings = json!({ "apiKeyHelper": key.in_shell() });
    command.arg("--settings").arg(settings.to_string());
    command.env("ANTHROPIC_BASE_URL", gateway);
    // It goes before the helper's otherwise.
    command.env_remove("ANTHROPIC_API_KEY");
    command.env_remove("ANTHROPIC_AUTH_TOKEN");
    command
}

fn codex(gateway: &str, key: &KeyCommand) -> Command {
    let mut command = Command::new("codex");
    let text = |text: &str| json!(text).to_string();
    let arguments = json!(key.arguments()).to_string();
    let program = key.program.display().to_string();
    for (name, value) in [
        ("model_provider", text("trilane")),
        ("model_providers.trilane.name", text("trilane")),
        (
            "model_providers.trilane.base_url",
            text(&format!("{gateway}/v1")),
        ),
        ("model_providers.trilane.wire_api", text("responses")),
        ("model_providers.trilane.auth.command", text(&program)),
        ("model_providers.trilane.auth.args", arguments),
    ] {
        // A text of JSON is one of TOML, too.
        command.arg("--config").arg(format!("{name}={value}"));
    }
    command
}

fn gemini(gateway: &str, key: &str) -> Command {
    choose_key_for_gemini();
    let mut command = Command::new("gemini");
    command.env("GOOGLE_GEMINI_BASE_URL", gateway);
    command.env("GEMINI_API_KEY", key);
    command.env_remove("GOOGLE_API_KEY");
    command
}

/// Gemini CLI takes a key for an own address only where its settings say so, and has neither a variable nor an option for it.
fn choose_key_for_gemini() {
    let Some(home) = std::env::var_os("HOME") else {
        return;
    };
    let directory = PathBuf::from(home).join(".gemini");
    let file = directory.join("settings.json");
    let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
    let place = file.display();
    match fs::read_to_string(&file) {
        Ok(text) if text.contains("selectedType") => {}
        Ok(_) => say(&format!(
            "{place} does not say how Gemini CLI signs in; add {settings}"
        )),
        Err(_) => {
            let written = fs::create_dir_all(&directory)
                .and_then(|()| fs::write(&file, settings.to_string()));
            match written {
                Ok(()) => say(&format!(
                    "{place} was not there; it says now that Gemini CLI uses a key"
                )),
                Err(error) => say(&format!(
                    "cannot write {place}: {error}; Gemini CLI wants {settings} there"
                )),
            }
        }
    }
}

fn opencode(gateway: &str, key: &str) -> Command {
    let mut command = Command::new("opencode");
    let provider = |base: &str| {
        let base = format!("{gateway}/{base}");
        json!({"options": {"baseURL": base, "apiKey": "{env:TRILANE_API_KEY}"}})
    };
    let config = json!({"provider": {
        "anthropic": provider("v1"), "openai": provider("v1"), "google": provider("v1beta"),
    }});
    command.env("OPENCODE_CONFIG_CONTENT", config.to_string());
    command.env("TRILANE_API_KEY", key);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_a_shell() {
        let key = KeyCommand {
            program: "/opt/it's here/trilane".into(),
            file: Some("/home/a b/sign-in.json".into()),
        };
        assert_eq!(
            key.in_shell(),
            r"'/opt/it'\''s here/trilane' token --file '/home/a b/sign-in.json'"
        );
    }
}
