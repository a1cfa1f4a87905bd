//! The usage of one answer: what each of its places tells, in the vendor's names and sums.

use std::fmt::Write;

use crate::form::UsageForm;
use crate::usage::{CountedKind, SimulatedUsage};

/// One of the places of an answer where usage can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsagePlace {
    /// A place that has the final numbers.
    Whole,
    /// On the way: output grows from one event to the next.
    SoFar,
    /// The first event of a messages stream: the input, and a placeholder for the output.
    Begun,
    /// The last usage of a messages stream: the output alone.
    Ended,
}

/// The places of an answer that report usage, among those that can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// None.
    Never,
    /// The final ones.
    AtLast,
    /// All.
    Always,
}

/// The repetitions done of a repeated event, this one included: `done` of `of`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepetitionShare {
    pub done: u64,
    pub of: u64,
}

/// The usage that one answer reports, and how.
#[derive(Clone, Copy, Debug)]
pub struct ReportedUsage {
    /// The form of the usage, by the vendor's names and sums.
    pub form: UsageForm,
    /// The final numbers, as far as the form tells them.
    pub usage: SimulatedUsage,
    /// The places that report it.
    pub telling: Telling,
    /// Output grows in equal steps; otherwise all events but the last say the same.
    pub grows: bool,
    /// The first event of a messages stream says less than the later ones, which correct it.
    pub revised: bool,
}

impl ReportedUsage {
    /// Whether usage stands at this place.
    pub fn stands_at(&self, place: UsagePlace) -> bool {
        match self.telling {
            Telling::Never => false,
            Telling::AtLast => place != UsagePlace::SoFar,
            Telling::Always => true,
        }
    }

    /// Whether this place says something else in each repetition of its event.
    pub fn varies_at(&self, place: UsagePlace) -> bool {
        place == UsagePlace::SoFar && self.grows && self.stands_at(place)
    }

    /// All that the answer has told once this place was read. Images count without any usage: they are there.
    pub fn told(&self, place: UsagePlace, share: RepetitionShare) -> Option<SimulatedUsage> {
        let usage = self.at(place, share);
        if self.stands_at(place) {
            Some(usage)
        } else {
            Some(usage.only(&[CountedKind::Images]))
                .filter(|images| *images != SimulatedUsage::default())
        }
    }

    /// Writes the value that stands at this place.
    pub fn write(&self, out: &mut String, place: UsagePlace, share: RepetitionShare) {
        let usage = self.at(place, share);
        // Writing to a string does not fail.
        let _ = match self.form {
            UsageForm::Chat => write_chat(out, &usage),
            UsageForm::Responses => write_responses(out, &usage),
            UsageForm::Images => write_images(out, &usage),
            UsageForm::Messages => write_messages(out, &usage, place),
            UsageForm::Generate => write_generate(out, &usage),
            UsageForm::Embeddings => {
                let input = usage.get(CountedKind::Input);
                write!(out, r#"{{"prompt_tokens":{input},"total_tokens":{input}}}"#)
            }
            UsageForm::Embed => write!(
                out,
                r#"{{"promptTokenCount":{}}}"#,
                usage.get(CountedKind::Input)
            ),
        };
    }

    fn at(&self, place: UsagePlace, share: RepetitionShare) -> SimulatedUsage {
        let mut usage = self.usage;
        match place {
            UsagePlace::Whole | UsagePlace::Ended => {}
            UsagePlace::SoFar => {
                usage.set(CountedKind::Output, self.output_so_far(share));
                if self.form == UsageForm::Images {
                    usage.set(CountedKind::Images, share.done);
                }
            }
            UsagePlace::Begun => {
                usage.set(CountedKind::Output, 1);
                if self.revised {
                    usage.set(CountedKind::Input, usage.get(CountedKind::Input) / 2);
                    usage.set(CountedKind::CacheRead, 0);
                }
            }
        }
        usage
    }

    fn output_so_far(&self, RepetitionShare { done, of }: RepetitionShare) -> u64 {
        /// The output tokens that the fixtures report before the end.
        const USUAL: u64 = 10;
        let output = self.usage.get(CountedKind::Output);
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

const ALL_INPUT_A: [CountedKind; 3] = [
    CountedKind::Input,
    CountedKind::CacheRead,
    CountedKind::CacheWrite5m,
];
const ALL_OUTPUT: [CountedKind; 2] = [CountedKind::Output, CountedKind::Reasoning];

fn write_chat(out: &mut String, usage: &SimulatedUsage) -> std::fmt::Result {
    let (prompt, completion) = (usage.sum(&ALL_INPUT_A), usage.sum(&ALL_OUTPUT));
    write!(
        out,
        r#"{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{},"#,
        prompt + completion
    )?;
    write!(
        out,
        r#""prompt_tokens_details":{{"cached_tokens":{},"#,
        usage.get(CountedKind::CacheRead)
    )?;
    if usage.get(CountedKind::CacheWrite5m) > 0 {
        write!(
            out,
            r#""cache_write_tokens":{},"#,
            usage.get(CountedKind::CacheWrite5m)
        )?;
    }
    write!(
        out,
        r#""audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":{},"audio_tokens":0,"#,
        usage.get(CountedKind::Reasoning)
    )?;
    out.write_str(r#""accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}"#)
}

fn write_responses(out: &mut String, usage: &SimulatedUsage) -> std::fmt::Result {
    let (input, output) = (usage.sum(&ALL_INPUT_A), usage.sum(&ALL_OUTPUT));
    write!(
        out,
        r#"{{"input_tokens":{input},"input_tokens_details":{{"cached_tokens":{},"cache_write_tokens":{}}},"#,
        usage.get(CountedKind::CacheRead),
        usage.get(CountedKind::CacheWrite5m)
    )?;
    write!(
        out,
        r#""output_tokens":{output},"output_tokens_details":{{"reasoning_tokens":{}}},"total_tokens":{}}}"#,
        usage.get(CountedKind::Reasoning),
        input + output
    )
}

fn write_images(out: &mut String, usage: &SimulatedUsage) -> std::fmt::Result {
    let (text, image) = (
        usage.get(CountedKind::Input),
        usage.get(CountedKind::InputImage),
    );
    let output = usage.get(CountedKind::Output);
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
fn write_messages(out: &mut String, usage: &SimulatedUsage, place: UsagePlace) -> std::fmt::Result {
    let output = usage.get(CountedKind::Output);
    if place == UsagePlace::Ended {
        return write!(out, r#"{{"output_tokens":{output}}}"#);
    }
    write!(
        out,
        r#"{{"input_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{},"#,
        usage.get(CountedKind::Input),
        usage.sum(&[CountedKind::CacheWrite5m, CountedKind::CacheWrite1h]),
        usage.get(CountedKind::CacheRead)
    )?;
    if place == UsagePlace::SoFar {
        return write!(out, r#""output_tokens":{output}}}"#);
    }
    write!(
        out,
        r#""cache_creation":{{"ephemeral_5m_input_tokens":{},"ephemeral_1h_input_tokens":{}}},"#,
        usage.get(CountedKind::CacheWrite5m),
        usage.get(CountedKind::CacheWrite1h)
    )?;
    write!(
        out,
        r#""output_tokens":{output},"service_tier":"standard"}}"#
    )
}

/// Like the vendor, leaves out what is zero.
fn write_generate(out: &mut String, usage: &SimulatedUsage) -> std::fmt::Result {
    let cached = usage.get(CountedKind::CacheRead);
    let prompt = usage.get(CountedKind::Input) + cached;
    let output = usage.get(CountedKind::Output);
    let total = prompt
        + usage.sum(&[
            CountedKind::Output,
            CountedKind::Reasoning,
            CountedKind::ToolUse,
        ]);
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
        ("thoughtsTokenCount", CountedKind::Reasoning),
        ("toolUsePromptTokenCount", CountedKind::ToolUse),
    ] {
        if usage.get(kind) > 0 {
            write!(out, r#","{name}":{}"#, usage.get(kind))?;
        }
    }
    out.write_str("}")
}
