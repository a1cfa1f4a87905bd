//! A vendor as the command line names it.

use trilane_console::vendors::{COMPATIBLE, PRESETS, VendorPreset};

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
    /// The expected form, as text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, url) = match text.split_once('=') {
            Some((name, url)) => (name, Some(url.to_owned())),
            None => (text, None),
        };
        let preset = VendorPreset::named(name);
        let preset = preset.ok_or_else(|| {
            let names = PRESETS.map(|preset| preset.name).join(", ");
            format!(
                "expected one of {names}. Any other vendor with an OpenAI-, Anthropic- or Gemini-style interface (Azure, \
                 Groq, Mistral, ...) is {COMPATIBLE}=URL with its base address, and --protocol"
            )
        })?;
        if preset.url.is_empty() && url.is_none() {
            return Err(format!(
                "name its address too: {name}=http://127.0.0.1:11434/v1"
            ));
        }
        Ok(Self { preset, url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_vendor() {
        for (arg, want) in [
            ("opnai", "expected one of openai, anthropic, gemini"),
            ("Azure", "is compatible=URL"),
            ("compatible", "name its address too"),
        ] {
            let error = VendorArg::parse(arg).unwrap_err();
            assert!(error.contains(want), "{arg}: {error}");
        }
        let spelled = VendorArg::parse("OpenAI").unwrap();
        assert_eq!(spelled.preset.name, "openai");
        let own = VendorArg::parse("compatible=http://gpu:8000/v1").unwrap();
        assert_eq!(own.url.as_deref(), Some("http://gpu:8000/v1"));
    }
}
