//! `trilane explain`: what the gateway would do with a request, and why.
//!
//! The request that the command line describes ([`request`]) goes through the gateway's own state machine
//! ([`crate::gateway`]); what comes out of it, and what the same code says of each [`step`] on the way, makes
//! the [`explanation`]. Of a request that is over the ledger tells ([`past`]).

mod args;
mod explanation;
mod lines;
mod past;
mod request;
mod step;
mod words;

use std::io::{self, Write as _};
use std::path::Path;

pub use args::Args;
use explanation::Explanation;
use request::Request;

use crate::document;
use crate::failure::Failure;
use crate::gateway::{self, Gateway};
use crate::ink::Ink;

/// Decides and explains.
///
/// # Errors
/// A request that is refused, or that nothing can be said of.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.is_past()? {
        return past::run(args);
    }
    let inputs = [
        Some(&args.document),
        args.whose.key_file.as_ref(),
        args.body.as_ref(),
    ];
    if inputs
        .iter()
        .flatten()
        .filter(|file| file.as_path() == Path::new("-"))
        .count()
        > 1
    {
        let why = "standard input can be one of document, key and body, not several of them";
        return Err(Failure::Usage(why.to_owned()));
    }
    let compiled = document::good(&args.document)?;
    let asker = args.whose.asker(&compiled)?;
    let gateway = Gateway::new(compiled, asker.as_ref());
    let request = Request::new(args, asker.as_ref(), &gateway)?;
    let ran = gateway::run(&gateway, &request.head, &request.body);
    let explanation = Explanation::new(&gateway, &request, asker.as_ref(), &ran);
    // Whoever looks at the code alone may have closed the output.
    match tell(&explanation, args.json).map_err(|error| Failure::of_output(&error)) {
        Err(Failure::Closed) | Ok(()) => {}
        failed => return failed,
    }
    if ran.is_refused() {
        Err(Failure::Told)
    } else {
        Ok(())
    }
}

fn tell(explanation: &Explanation, json: bool) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if json {
        let text = serde_json::to_string(explanation).map_err(io::Error::other)?;
        writeln!(out, "{text}")?;
    } else {
        lines::write(explanation, Ink::of_output(), &mut out)?;
    }
    out.flush()
}
