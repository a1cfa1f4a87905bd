//! The explanation of a request that is over, as text.

use std::io::{self, Write};

use trilane::usage::Kind;
use trilane_console::explain::{ExplainedPart, PastRequest};

use crate::ink::{Highlight, Ink};
use crate::terminal::printable;

/// The width of part names, in characters.
const NAME: usize = 8;

/// A row for each part.
pub fn rows<'a>(request: &'a PastRequest<'_>) -> impl Iterator<Item = Vec<String>> + 'a {
    let id = request.request_id.unwrap_or_default();
    let parts = request.parts.iter();
    parts.map(move |ExplainedPart { part, text }| {
        vec![id.to_owned(), (*part).to_owned(), text.clone()]
    })
}

/// Writes it as text.
pub fn write(request: &PastRequest<'_>, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let words = [request.method, request.path];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    let line = if words.is_empty() {
        "a request".to_owned()
    } else {
        words.join(" ")
    };
    writeln!(out, "{}", ink.mark(Highlight::Strong, &printable(&line)))?;
    let id = request.request_id.unwrap_or("without an id");
    let time = request.timestamp.unwrap_or_default();
    writeln!(out, "  {:NAME$}  {} at {time}", "request", printable(id))?;
    for ExplainedPart { part, text } in &request.parts {
        writeln!(out, "  {part:NAME$}  {}", printable(text))?;
        if let ("charged", Some(bill)) = (*part, &request.bill) {
            bill.items.iter().try_for_each(|used| {
                let price = used.price.as_deref().unwrap_or("0");
                let each = match used.what {
                    what if Kind::ALL.iter().any(|kind| kind.name() == what) => " a million",
                    _ => " each",
                };
                let (what, amount, cost) = (used.what, used.amount, &used.cost);
                writeln!(
                    out,
                    "  {:NAME$}    {what}: {amount} at {price}{each} = {cost}",
                    ""
                )
            })?;
            let basis = bill.basis();
            let basis = basis.map(|basis| format!(", at the prices {basis}"));
            writeln!(
                out,
                "  {:NAME$}    together, times {}{} = {}",
                "",
                bill.multiplier,
                printable(&basis.unwrap_or_default()),
                bill.charge
            )?;
        }
    }
    let mark = if request.status < 400 && request.status > 0 {
        Highlight::Good
    } else {
        Highlight::Bad
    };
    let status = match request.status {
        0 => "no answer".to_owned(),
        status => status.to_string(),
    };
    writeln!(out, "{}", ink.mark(mark, &status))
}
