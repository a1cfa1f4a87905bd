//! An explanation as text.

use std::io::{self, Write};

use trilane_console::explain::{Explanation, ForwardedRequest, StepResult};

use crate::ink::{Highlight, Ink};
use crate::output::{OutputColumn, OutputTable};
use crate::terminal::printable;

/// The width of step names, in characters.
const NAME: usize = 10;

/// A row for each step, for each URL that it may go to, and for the decision.
pub fn table(explanation: &Explanation) -> OutputTable<impl Iterator<Item = Vec<String>> + '_> {
    let row =
        |part: &str, result: &str, text: &str| [part, result, text].map(str::to_owned).to_vec();
    let columns = ["part", "result", "text"].map(OutputColumn::text);
    let steps = explanation.steps.iter();
    let steps = steps.map(move |step| row(step.step.text(), step.result.text(), &step.reason));
    let urls = explanation
        .upstream
        .iter()
        .flat_map(|upstream| &upstream.urls);
    let urls = urls.map(move |url| row("url", &url.account, &url.url));
    let answer = explanation.answer.as_ref();
    let code = answer.and_then(|answer| answer.code.as_deref());
    let decision = row("decision", explanation.decision, code.unwrap_or_default());
    OutputTable::new(columns, steps.chain(urls).chain([decision]))
}

/// Writes it.
pub fn write(explanation: &Explanation, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let request = format!("{} {}", explanation.method, explanation.path);
    writeln!(out, "{}", ink.mark(Highlight::Strong, &printable(&request)))?;
    for step in &explanation.steps {
        let (mark, word) = match step.result {
            StepResult::Good => (Highlight::Good, "ok"),
            StepResult::Refused => (Highlight::Bad, "no"),
            StepResult::NotReached => (Highlight::Warning, "--"),
        };
        let reason = if step.result == StepResult::NotReached {
            "not come to"
        } else {
            &step.reason
        };
        let name = step.step.text();
        writeln!(
            out,
            "  {} {name:NAME$}  {}",
            ink.mark(mark, word),
            printable(reason)
        )?;
    }
    if let Some(upstream) = &explanation.upstream {
        write_upstream(upstream, explanation.found.prices_text(), out)?;
    }
    let decision = explanation.decision;
    let Some(answer) = &explanation.answer else {
        return writeln!(out, "{}", ink.mark(Highlight::Good, decision));
    };
    let mark = if answer.code.is_some() {
        Highlight::Bad
    } else {
        Highlight::Good
    };
    let code = answer
        .code
        .as_deref()
        .map(|code| format!(" {code}"))
        .unwrap_or_default();
    writeln!(out, "{}: {}{code}", ink.mark(mark, decision), answer.status)?;
    for (name, value) in &answer.headers {
        writeln!(out, "  {name}: {}", printable(value))?;
    }
    writeln!(out, "\n{}", printable(&answer.body))
}

fn write_upstream(
    upstream: &ForwardedRequest,
    prices: Option<String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let accounts = if upstream.accounts.is_empty() {
        String::new()
    } else {
        format!(", to one of the accounts {}", upstream.accounts.join(", "))
    };
    writeln!(out, "  to the cluster {}{accounts}", upstream.cluster)?;
    for url in &upstream.urls {
        let text = format!("{}: {}", url.account, url.url);
        writeln!(out, "  at the account {}", printable(&text))?;
    }
    if let Some(prices) = prices {
        writeln!(out, "  {prices}")?;
    }
    if !upstream.headers_removed.is_empty() {
        let names = upstream.headers_removed.join(", ");
        writeln!(out, "  without the headers {}", printable(&names))?;
    }
    for (name, value) in &upstream.headers_set {
        writeln!(out, "  with {name}: {}", printable(value))?;
    }
    for change in &upstream.body_changes {
        let (at, length, replacement) = (change.at, change.length, printable(&change.replacement));
        writeln!(
            out,
            "  with {replacement} in place of {length} bytes at byte {at} of the body"
        )?;
    }
    Ok(())
}
