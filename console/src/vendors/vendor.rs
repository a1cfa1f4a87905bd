//! Vendors: the presets, and an address of one's own.

use trilane::config::base::{Base, endpoint_in};
use trilane::config::origin::Origin;
use trilane::protocol::Protocol;

use crate::prices::protocol_named;

/// The properties of a vendor that are known in advance.
#[derive(Debug, PartialEq, Eq)]
pub struct VendorPreset {
    /// The name on the command line, and the id of the vendor's group.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// The base address; empty if only its operator knows it.
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

impl VendorPreset {
    /// The preset of this name, in any case.
    pub fn named(name: &str) -> Option<&'static Self> {
        let mut presets = PRESETS.iter();
        presets.find(|preset| preset.name.eq_ignore_ascii_case(name))
    }

    /// The preset of a vendor at this address; that of addresses of one's own where there is none.
    pub fn at(origin: &Origin, protocol: Protocol) -> &'static Self {
        let is_there = |preset: &&Self| {
            let of = Origin::parse(preset.url);
            preset.protocol == protocol && of.is_ok_and(|of| of.site() == origin.site())
        };
        let known = PRESETS.iter().find(is_there);
        known
            .or_else(|| Self::named(COMPATIBLE))
            .unwrap_or(&PRESETS[0])
    }
}

/// Returns the name of a protocol for people, after the vendor that it comes from.
pub const fn protocol_style(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::A => text!("OpenAI-style"),
        Protocol::B => text!("Anthropic-style"),
        Protocol::C => text!("Gemini-style"),
    }
}

/// Returns the same with the APIs that it has.
pub const fn protocol_title(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::A => text!("OpenAI-style (Responses, Chat Completions)"),
        Protocol::B => text!("Anthropic-style (Messages)"),
        Protocol::C => text!("Gemini-style (generateContent)"),
    }
}

/// The API styles to choose from: each protocol as a document has it, with its title.
pub fn styles() -> Vec<(&'static str, &'static str)> {
    let all = [("A", Protocol::A), ("B", Protocol::B), ("C", Protocol::C)];
    all.map(|(name, protocol)| (name, protocol_title(protocol)))
        .to_vec()
}

/// Returns the API style of a group for people, by its protocol as a document has it.
pub fn api_style(protocol: &str) -> &'static str {
    match (protocol_named(protocol), protocol) {
        (Some(known), _) => protocol_style(known),
        (None, "Mixed") => "Mixed",
        _ => "unknown",
    }
}

/// A vendor whose address is known.
#[derive(Debug, Clone)]
pub struct Vendor {
    /// The properties that are known in advance.
    pub preset: &'static VendorPreset,
    /// The id of its group.
    pub group: String,
    /// The protocol of the vendor.
    pub protocol: Protocol,
    /// The base address, as the document has it.
    pub url: String,
    /// The same in parts.
    pub origin: Origin,
}

impl Vendor {
    /// A vendor at an address, or at that of its preset.
    ///
    /// # Errors
    /// The fault of the address, in words.
    pub fn new(
        preset: &'static VendorPreset,
        url: Option<&str>,
        protocol: Option<Protocol>,
        group: Option<&str>,
    ) -> Result<Self, String> {
        let url = url.unwrap_or(preset.url);
        let protocol = protocol.unwrap_or(preset.protocol);
        let origin = Origin::parse(url)
            .map_err(|reason| t!("the address {url} {reason}", url = url, reason = reason))?;
        if let Some(end) = endpoint_in(url, protocol) {
            return Err(t!(
                "the address {url} ends in {end}: name the base address, without it",
                url = url,
                end = end
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
        let (own, b, c) = (COMPATIBLE, Some(Protocol::B), Some(Protocol::C));
        for (name, url, protocol, want) in [
            ("openai", None, None, "https://api.openai.com/v1/models"),
            (
                "anthropic",
                None,
                None,
                "https://api.anthropic.com/v1/models",
            ),
            (
                "gemini",
                None,
                None,
                "https://generativelanguage.googleapis.com/v1beta/models",
            ),
            (
                "openrouter",
                None,
                None,
                "https://openrouter.ai/api/v1/models/user",
            ),
            ("deepseek", None, None, "https://api.deepseek.com/v1/models"),
            (
                own,
                Some("http://127.0.0.1:11434/v1"),
                None,
                "http://127.0.0.1:11434/v1/models",
            ),
            (own, Some("http://gpu:8000"), b, "http://gpu:8000/v1/models"),
            (
                own,
                Some("http://gpu:8000"),
                c,
                "http://gpu:8000/v1beta/models",
            ),
            (
                "anthropic",
                Some("https://proxy.example/anthropic"),
                None,
                "https://proxy.example/anthropic/v1/models",
            ),
        ] {
            let preset = VendorPreset::named(name).unwrap();
            let vendor = Vendor::new(preset, url, protocol, None).unwrap();
            assert_eq!(vendor.list_url(), want, "{name} {url:?}");
        }
    }

    #[test]
    fn whose_address_it_is() {
        for (url, protocol, want) in [
            ("https://openrouter.ai/api/v1", Protocol::A, "openrouter"),
            ("https://openrouter.ai/api", Protocol::B, COMPATIBLE),
            ("https://api.openai.com:443/v1", Protocol::A, "openai"),
            ("https://api.openai.com:8443/v1", Protocol::A, COMPATIBLE),
            ("http://api.openai.com/v1", Protocol::A, COMPATIBLE),
        ] {
            let origin = Origin::parse(url).unwrap();
            assert_eq!(VendorPreset::at(&origin, protocol).name, want, "{url}");
        }
    }

    #[test]
    fn what_is_no_address() {
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
