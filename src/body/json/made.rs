//! A body's words on how its answer is made, as far as an estimate needs them: whether the model is to reason, how large its
//! pictures are, and how its sound comes. It decides nothing, so none of it is ever refused.

use super::{JsonScanner, Word};

/// The request's words on the pictures that are to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PictureAsked<'a> {
    /// `size`, of the request or of its tool: `1024x1536`.
    pub size: Option<&'a str>,
    /// `quality`, likewise: `low`.
    pub quality: Option<&'a str>,
    /// `imageSize` of a model that makes pictures in its answer: `4K`.
    pub part_size: Option<&'a str>,
}

/// The rarer of these words.
#[derive(Debug, Default)]
pub(super) struct OutputOptions {
    size: Option<Box<str>>,
    quality: Option<Box<str>>,
    part_size: Option<Box<str>>,
    pcm: bool,
}

impl JsonScanner {
    /// Whether the body asks for reasoning: by a `reasoning`, `thinking` or `thinkingConfig` that does not switch it off, or by
    /// a `reasoning_effort`.
    pub fn asks_for_reasoning(&self) -> bool {
        self.reasons
    }

    /// The body's words on the pictures that are to be made.
    pub fn picture(&self) -> PictureAsked<'_> {
        let made = self.rare.as_ref().map(|rare| &rare.made);
        made.map_or_else(PictureAsked::default, |made| PictureAsked {
            size: made.size.as_deref(),
            quality: made.quality.as_deref(),
            part_size: made.part_size.as_deref(),
        })
    }

    /// Whether the body asks for sound that is not compressed.
    pub fn asks_for_pcm(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.made.pcm)
    }

    /// The first byte of an object, or what stands in its place, that asks for reasoning.
    pub(super) fn begin_reasoning(&mut self, byte: u8) {
        self.reasons |= byte == b't';
        self.reasons_not = false;
    }

    /// The end of such an object.
    pub(super) fn end_reasoning(&mut self) {
        self.reasons |= !self.reasons_not;
    }

    /// The first byte of a member that switches reasoning off by `false` or nought.
    pub(super) fn begin_reasoning_switch(&mut self, byte: u8) {
        self.reasons_not |= matches!(byte, b'f' | b'0');
    }

    /// The end of a word that says how the answer is made.
    pub(super) fn end_made(&mut self, word: Word) {
        let text: Box<str> = String::from_utf8_lossy(self.key.bytes()).into();
        match word {
            Word::ReasoningEffort => self.reasons |= !is_off(&text),
            Word::Reasoning => self.reasons_not |= is_off(&text),
            Word::Size => self.rare().made.size = Some(text),
            Word::Quality => self.rare().made.quality = Some(text),
            Word::PartSize => self.rare().made.part_size = Some(text),
            Word::AudioFormat => self.rare().made.pcm = &*text == "pcm16",
            Word::ServiceTier | Word::Speed | Word::InferenceGeo | Word::ToolType => {}
        }
    }
}

fn is_off(word: &str) -> bool {
    matches!(word, "none" | "disabled")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(body: &str, size: usize) -> JsonScanner {
        let mut scanner = JsonScanner::new();
        for chunk in body.as_bytes().chunks(size) {
            scanner.feed(chunk).unwrap();
        }
        scanner.finish().unwrap();
        scanner
    }

    #[test]
    fn what_asks_for_reasoning() {
        let cases = [
            ("{}", false),
            (r#"{"reasoning":{"effort":"high"}}"#, true),
            (r#"{"reasoning":{"effort":"none"}}"#, false),
            (r#"{"reasoning":{"effort":null,"summary":"auto"}}"#, true),
            (r#"{"reasoning":{"enabled":true}}"#, true),
            (r#"{"reasoning":{"enabled":false}}"#, false),
            (r#"{"reasoning":{"max_tokens":2000,"exclude":true}}"#, true),
            (r#"{"reasoning":{}}"#, true),
            (r#"{"reasoning":null}"#, false),
            (r#"{"reasoning":true}"#, true),
            (r#"{"reasoning_effort":"low"}"#, true),
            (r#"{"reasoning_effort":"none"}"#, false),
            (r#"{"reasoning_effort":null}"#, false),
            (
                r#"{"thinking":{"type":"enabled","budget_tokens":1024}}"#,
                true,
            ),
            (r#"{"thinking":{"type":"adaptive"}}"#, true),
            (r#"{"thinking":{"type":"disabled"}}"#, false),
            (r#"{"enable_thinking":true}"#, true),
            (r#"{"enable_thinking":false}"#, false),
            (
                r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}}"#,
                true,
            ),
            (
                r#"{"generationConfig":{"thinkingConfig":{"thinkingLevel":"high"}}}"#,
                true,
            ),
            (
                r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}"#,
                false,
            ),
            (
                r#"{"generation_config":{"thinking_config":{"thinking_budget":128}}}"#,
                true,
            ),
            // One switch is of its object alone.
            (
                r#"{"reasoning":{"effort":"high"},"thinking":{"type":"disabled"}}"#,
                true,
            ),
            (
                r#"{"thinking":{"type":"disabled"},"reasoning":{"effort":"high"}}"#,
                true,
            ),
            (r#"{"thinking":{"a":{"type":"disabled"}}}"#, true),
            (
                r#"{"messages":[{"reasoning":{},"thinking":{"type":"enabled"}}],"a":{"reasoning":{}}}"#,
                false,
            ),
        ];
        for (body, want) in cases {
            for size in [1, 3, body.len()] {
                assert_eq!(
                    scan(body, size).asks_for_reasoning(),
                    want,
                    "{body} by {size}"
                );
            }
        }
    }

    #[test]
    fn what_is_said_of_pictures_and_sound() {
        let body = r#"{"size":"1024x1536","quality":"low","audio":{"voice":"x","format":"pcm16"},"generationConfig":{"imageConfig":{"aspectRatio":"1:1","imageSize":"4K"}}}"#;
        let tool = r#"{"tools":[{"type":"function","size":1},{"type":"image_generation","size":"2048x2048","quality":"medium"}],"image_config":{"image_size":"2K"},"audio":{"format":"mp3"}}"#;
        let elsewhere = r#"{"messages":[{"size":"1x1","quality":"low","format":"pcm16"}],"size":null,"quality":[{}],"audio":null}"#;
        let cases = [
            (body, (Some("1024x1536"), Some("low"), Some("4K"), true)),
            (tool, (Some("2048x2048"), Some("medium"), Some("2K"), false)),
            (elsewhere, (None, None, None, false)),
        ];
        for (body, want) in cases {
            for size in [1, 7, body.len()] {
                let scanner = scan(body, size);
                let PictureAsked {
                    size: of,
                    quality,
                    part_size,
                } = scanner.picture();
                let got = (of, quality, part_size, scanner.asks_for_pcm());
                assert_eq!(got, want, "{body} by {size}");
            }
        }
    }
}
