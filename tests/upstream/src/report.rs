//! The usage of one answer: what each of its places tells, in the vendor's names and sums.

use std::fmt::Write;

use crate::form::Form;
use crate::usage::{Kind, Usage};

/// One of the places of an answer where usage can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where the numbers are final.
    Whole,
    /// On the way: output grows from one event to the next.
    SoFar,
    /// The first event of a messages stream: the input, and a placeholder for the output.
    Begun,
    /// The last usage of a messages stream: the output alone.
    Ended,
}

/// Which places of an answer have the usage that can stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// None.
    Never,
    /// The final ones.
    AtLast,
    /// All.
    Always,
}

/// How much of a repeated event's repetitions are done, this one included: `done` of `of`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub done: u64,
    pub of: u64,
}

/// The usage that one answer reports, and how.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Whose words.
    pub form: Form,
    /// The final numbers, as far as the form tells them.
    pub usage: Usage,
    /// Where.
    pub telling: Telling,
    /// Output grows in equal steps; otherwise all events but the last say the same.
    pub grows: bool,
    /// The first event of a messages stream says less than the later ones, which correct it.
    pub revised: bool,
}

impl Report {
    /// Whether usage stands at this place.
    pub fn stands_at(&self, place: Place) -> bool {
        match self.telling {
            Telling::Never => false,
            Telling::AtLast => place != Place::SoFar,
            Telling::Always => true,
        }
    }

    /// Whether this place says something else in each repetition of its event.
    pub fn varies_at(&self, place: Place) -> bool {
        place == Place::SoFar && self.grows && self.stands_at(place)
    }

    /// All that the answer has told once this place was read. Images count without any usage: they are there.
    pub fn told(&self, place: Place, share: Share) -> Option<Usage> {
        let usage = self.at(place, share);
        if self.stands_at(place) {
            Some(usage)
        } else {
            Some(usage.only(&[Kind::Images])).filter(|images| *images != Usage::default())
        }
    }

    /// Writes the value that stands at this place.
    pub fn write(&self, out: &mut String, place: Place, share: Share) {
        let usage = self.at(place, share);
        // Writing to a string does not fail.
        let _ = match self.form {
            Form::Chat => write_chat(out, &usage),
            Form::Responses => write_responses(out, &usage),
            Form::Images => write_images(out, &usage),
            Form::Messages => write_messages(out, &usage, place),
            Form::Generate => write_generate(out, &usage),
            Form::Embed => write!(out, r#"{{"promptTokenCount":{}}}"#, usage.get(Kind::Input)),
        };
    }

    fn at(&self, place: Place, share: Share) -> Usage {
        let mut usage = self.usage;
        match place {
            Place::Whole | Place::Ended => {}
            Place::SoFar => {
                usage.set(Kind::Output, self.output_so_far(share));
                if self.form == Form::Images {
                    usage.set(Kind::Images, share.done);
                }
            }
            Place::Begun => {
                usage.set(Kind::Output, 1);
                if self.revised {
                    usage.set(Kind::Input, usage.get(Kind::Input) / 2);
                    usage.set(Kind::CacheRead, 0);
                }
            }
        }
        usage
    }

    fn output_so_far(&self, Share { done, of }: Share) -> u64 {
        /// What the fixtures say before the end.
        const USUAL: u64 = 10;
        let output = self.usage.get(Kind::Output);
        if done >= of {
            output
        } else if self.grows {
            let share = u128::from(output) * u128::from(done) / u128::from(of);
            u64::try_from(share).unwrap_or(output)
        } else {
            output.min(USUAL)
        }
    }
}

const ALL_INPUT_A: [Kind; 3] = [Kind::Input, Kind::CacheRead, Kind::CacheWrite5m];
const ALL_OUTPUT: [Kind; 2] = [Kind::Output, Kind::Reasoning];

fn write_chat(out: &mut String, usage: &Usage) -> std::fmt::Result {
    let (prompt, completion) = (usage.sum(&ALL_INPUT_A), usage.sum(&ALL_OUTPUT));
    write!(
        out,
        r#"{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{},"#,
        prompt + completion
    )?;
    write!(
        out,
        r#""prompt_tokens_details":{{"cached_tokens":{},"#,
        usage.get(Kind::CacheRead)
    )?;
    if usage.get(Kind::CacheWrite5m) > 0 {
        write!(
            out,
            r#""cache_write_tokens":{},"#,
            usage.get(Kind::CacheWrite5m)
        )?;
    }
    write!(
        out,
        r#""audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":{},"audio_tokens":0,"#,
        usage.get(Kind::Reasoning)
    )?;
    out.write_str(r#""accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}"#)
}

fn write_responses(out: &mut String, usage: &Usage) -> std::fmt::Result {
    let (input, output) = (usage.sum(&ALL_INPUT_A), usage.sum(&ALL_OUTPUT));
    write!(
        out,
        r#"{{"input_tokens":{input},"input_tokens_details":{{"cached_tokens":{},"cache_write_tokens":{}}},"#,
        usage.get(Kind::CacheRead),
        usage.get(Kind::CacheWrite5m)
    )?;
    write!(
        out,
        r#""output_tokens":{output},"output_tokens_details":{{"reasoning_tokens":{}}},"total_tokens":{}}}"#,
        usage.get(Kind::Reasoning),
        input + output
    )
}

fn write_images(out: &mut String, usage: &Usage) -> std::fmt::Result {
    let (text, image) = (usage.get(Kind::Input), usage.get(Kind::InputImage));
    let output = usage.get(Kind::Output);
    write!(
        out,
        r#"{{"input_tokens":{},"input_tokens_details":{{"text_tokens":{text},"image_tokens":{image}}},"#,
        text + image
    )?;
    write!(
        out,
        r#""output_tokens":{output},"output_tokens_details":{{"image_tokens":{output},"text_tokens":0}},"#
    )?;
    write!(out, r#""total_tokens":{}}}"#, text + image + output)
}

/// The events after the first have no `cache_creation`.
fn write_messages(out: &mut String, usage: &Usage, place: Place) -> std::fmt::Result {
    let output = usage.get(Kind::Output);
    if place == Place::Ended {
        return write!(out, r#"{{"output_tokens":{output}}}"#);
    }
    write!(
        out,
        r#"{{"input_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{},"#,
        usage.get(Kind::Input),
        usage.sum(&[Kind::CacheWrite5m, Kind::CacheWrite1h]),
        usage.get(Kind::CacheRead)
    )?;
    if place == Place::SoFar {
        return write!(out, r#""output_tokens":{output}}}"#);
    }
    write!(
        out,
        r#""cache_creation":{{"ephemeral_5m_input_tokens":{},"ephemeral_1h_input_tokens":{}}},"#,
        usage.get(Kind::CacheWrite5m),
        usage.get(Kind::CacheWrite1h)
    )?;
    write!(
        out,
        r#""output_tokens":{output},"service_tier":"standard"}}"#
    )
}

/// Like the vendor, leaves out what is zero.
fn write_generate(out: &mut String, usage: &Usage) -> std::fmt::Result {
    let cached = usage.get(Kind::CacheRead);
    let prompt = usage.get(Kind::Input) + cached;
    let output = usage.get(Kind::Output);
    let total = prompt + usage.sum(&[Kind::Output, Kind::Reasoning, Kind::ToolUse]);
    write!(
        out,
        r#"{{"promptTokenCount":{prompt},"candidatesTokenCount":{output},"totalTokenCount":{total}"#
    )?;
    if cached > 0 {
        write!(out, r#","cachedContentTokenCount":{cached}"#)?;
    }
    write!(
        out,
        r#","promptTokensDetails":[{{"modality":"TEXT","tokenCount":{prompt}}}]"#
    )?;
    if cached > 0 {
        write!(
            out,
            r#","cacheTokensDetails":[{{"modality":"TEXT","tokenCount":{cached}}}]"#
        )?;
    }
    for (name, kind) in [
        ("thoughtsTokenCount", Kind::Reasoning),
        ("toolUsePromptTokenCount", Kind::ToolUse),
    ] {
        if usage.get(kind) > 0 {
            write!(out, r#","{name}":{}"#, usage.get(kind))?;
        }
    }
    out.write_str("}")
}
