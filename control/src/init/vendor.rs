//! Vendors: the presets, and an address of one's own.

use trilane::config::base::{Base, endpoint_in};
use trilane::config::origin::Origin;
use trilane::protocol::Protocol;

/// What is known of a vendor beforehand.
#[derive(Debug, PartialEq, Eq)]
pub struct VendorPreset {
    /// Its name on the command line, and the id of its group.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its base address; empty where only its operator knows it.
    pub url: &'static str,
    /// The protocol that it is asked by.
    pub protocol: Protocol,
    /// The environment variable that its own tools take the credential from.
    pub variable: &'static str,
    /// The path of its list of models, as the gateway would have it. It is one that needs the credential.
    pub list: &'static str,
    /// Whether it counts tokens (protocol B).
    pub counts_tokens: bool,
    /// Whether its list states prices, in US dollars for a token.
    pub states_prices: bool,
}

/// The name of the preset for an address of one's own.
pub const COMPATIBLE: &str = "compatible";

/// All presets.
pub const PRESETS: [VendorPreset; 6] = [
    VendorPreset {
        name: "openai",
        title: "OpenAI",
        url: "https://api.openai.com/v1",
        protocol: Protocol::A,
        variable: "OPENAI_API_KEY",
        list: "/v1/models",
        counts_tokens: false,
        states_prices: false,
    },
    VendorPreset {
        name: "anthropic",
        title: "Anthropic",
        url: "https://api.anthropic.com",
        protocol: Protocol::B,
        variable: "ANTHROPIC_API_KEY",
        list: "/v1/models",
        counts_tokens: true,
        states_prices: false,
    },
    VendorPreset {
        name: "gemini",
        title: "Google Gemini",
        url: "https://generativelanguage.googleapis.com",
        protocol: Protocol::C,
        variable: "GEMINI_API_KEY",
        list: "/v1beta/models",
        counts_tokens: false,
        states_prices: false,
    },
    VendorPreset {
        name: "openrouter",
        title: "OpenRouter",
        url: "https://openrouter.ai/api/v1",
        protocol: Protocol::A,
        variable: "OPENROUTER_API_KEY",
        // Its /models needs no credential, so it would not test one.
        list: "/v1/models/user",
        counts_tokens: false,
        states_prices: true,
    },
    VendorPreset {
        name: "deepseek",
        title: "DeepSeek",
        url: "https://api.deepseek.com/v1",
        protocol: Protocol::A,
        variable: "DEEPSEEK_API_KEY",
        list: "/v1/models",
        counts_tokens: false,
        states_prices: false,
    },
    VendorPreset {
        name: COMPATIBLE,
        title: "an address of your own (vLLM, Ollama, llama.cpp, another gateway)",
        url: "",
        protocol: Protocol::A,
        variable: "",
        list: "/v1/models",
        counts_tokens: false,
        states_prices: false,
    },
];

/// A vendor on the command line: `NAME`, or `NAME=URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorArg {
    /// The preset.
    pub preset: &'static VendorPreset,
    /// Another base address than the preset's.
    pub url: Option<String>,
}

impl VendorArg {
    /// Reads it.
    ///
    /// # Errors
    /// What is expected instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, url) = match text.split_once('=') {
            Some((name, url)) => (name, Some(url.to_owned())),
            None => (text, None),
        };
        let preset = PRESETS.iter().find(|preset| preset.name == name);
        let names = PRESETS.map(|preset| preset.name).join(", ");
        let preset = preset.ok_or_else(|| format!("expected one of {names}"))?;
        if preset.url.is_empty() && url.is_none() {
            return Err(format!(
                "name its address too: {name}=http://127.0.0.1:11434/v1"
            ));
        }
        Ok(Self { preset, url })
    }
}

/// A vendor whose address is known.
#[derive(Debug, Clone)]
pub struct Vendor {
    /// What is known of it beforehand.
    pub preset: &'static VendorPreset,
    /// The id of its group.
    pub group: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its base address, as the document has it.
    pub url: String,
    /// The same in parts.
    pub origin: Origin,
}

impl Vendor {
    /// A vendor at an address, or at that of its preset.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn new(
        preset: &'static VendorPreset,
        url: Option<&str>,
        protocol: Option<Protocol>,
        group: Option<&str>,
    ) -> Result<Self, String> {
        let url = url.unwrap_or(preset.url);
        let protocol = protocol.unwrap_or(preset.protocol);
        let origin = Origin::parse(url).map_err(|reason| format!("the address {url} {reason}"))?;
        if let Some(end) = endpoint_in(url, protocol) {
            return Err(format!(
                "the address {url} ends in {end}: name the base address, without it"
            ));
        }
        Ok(Self {
            preset,
            group: group.unwrap_or(preset.name).to_owned(),
            protocol,
            url: url.to_owned(),
            origin,
        })
    }

    /// The URL of its list of models, without a query. It is under the same base as the gateway's requests.
    pub fn list_url(&self) -> String {
        // The preset's path is for the preset's protocol.
        let list = if self.protocol == self.preset.protocol {
            self.preset.list
        } else {
            match self.protocol {
                Protocol::A | Protocol::B => "/v1/models",
                Protocol::C => "/v1beta/models",
            }
        };
        let base = Base::new(&self.origin.base_path, self.protocol);
        format!("{}{}", self.origin.site(), base.path(list))
    }

    /// The name of its account and of the file of its credential.
    pub fn account(&self) -> String {
        format!("{}-1", self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_where_requests_go() {
        for (arg, protocol, want) in [
            ("openai", None, "https://api.openai.com/v1/models"),
            ("anthropic", None, "https://api.anthropic.com/v1/models"),
            (
                "gemini",
                None,
                "https://generativelanguage.googleapis.com/v1beta/models",
            ),
            (
                "openrouter",
                None,
                "https://openrouter.ai/api/v1/models/user",
            ),
            ("deepseek", None, "https://api.deepseek.com/v1/models"),
            (
                "compatible=http://127.0.0.1:11434/v1",
                None,
                "http://127.0.0.1:11434/v1/models",
            ),
            (
                "compatible=http://gpu:8000",
                Some(Protocol::B),
                "http://gpu:8000/v1/models",
            ),
            (
                "compatible=http://gpu:8000",
                Some(Protocol::C),
                "http://gpu:8000/v1beta/models",
            ),
            (
                "anthropic=https://proxy.example/anthropic",
                None,
                "https://proxy.example/anthropic/v1/models",
            ),
        ] {
            let VendorArg { preset, url } = VendorArg::parse(arg).unwrap();
            let vendor = Vendor::new(preset, url.as_deref(), protocol, None).unwrap();
            assert_eq!(vendor.list_url(), want, "{arg}");
        }
    }

    #[test]
    fn what_is_no_vendor() {
        for (arg, want) in [
            ("opnai", "expected one of openai, anthropic, gemini"),
            ("compatible", "name its address too"),
        ] {
            let error = VendorArg::parse(arg).unwrap_err();
            assert!(error.contains(want), "{arg}: {error}");
        }
        for (url, want) in [
            ("ftp://x", "must begin with https:// or http://"),
            ("http://a:b@x", "must hold no credential"),
            ("http://x/v1/chat/completions", "ends in /chat/completions"),
        ] {
            let error = Vendor::new(&PRESETS[0], Some(url), None, None).unwrap_err();
            assert!(error.contains(want), "{url}: {error}");
        }
    }
}
