//! `trilane explain`: what the gateway would do with a request, and why; or what happened to one that is over.
//!
//! The request that the command line describes ([`request`]) goes through the gateway's own state machine
//! ([`trilane_console::gateway`]). Its result, with the reason of each step of the decision, makes the
//! [`Explanation`]. A request that is over is explained from its ledger line ([`past`]).

mod args;
mod lines;
mod past;
mod request;

use std::path::Path;

pub use args::ExplainArgs;
use args::Question;
use trilane_console::explain::Explanation;
use trilane_console::gateway::{self, LocalGateway};

use crate::document::{self, STDIN};
use crate::failure::Failure;
use crate::in_force::NotInForce;
use crate::ink::Ink;
use crate::output::{self, OutputFormat};

/// Explains a request.
///
/// # Errors
/// The request is rejected, or there is no result.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let (document, target) = match args.question()? {
        Question::Past(request) => return past::run(args, request),
        Question::Described(document, target) => (document, target),
    };
    let inputs = [
        Some(document),
        args.whose.key_file.as_deref(),
        args.body.as_deref(),
    ];
    let inputs = inputs.into_iter().flatten();
    if inputs.filter(|file| *file == Path::new(STDIN)).count() > 1 {
        let why = "standard input can be one of document, key and body, not several of them";
        return Err(Failure::Usage(why.to_owned()));
    }
    let compiled = document::good(document)?;
    if let Some(not) = NotInForce::of(document) {
        not.note_of_pages("page Requests");
    }
    let asker = args.whose.asker(&compiled)?;
    let gateway = LocalGateway::new(compiled, asker.as_ref());
    let request = request::described(args, &target, asker.as_ref(), &gateway)?;
    let ran = gateway::run(&gateway, &request.head, &request.body);
    let explanation = Explanation::new(&gateway, &request, asker.as_ref(), &ran);
    output::print_beside_code(|out| match args.format.format() {
        OutputFormat::Table => lines::write(&explanation, Ink::of_output(), out),
        OutputFormat::Csv => lines::table(&explanation).write_csv(out),
        OutputFormat::Json => output::write_json(&explanation, out),
    })?;
    if ran.is_refused() {
        Err(Failure::Told)
    } else {
        Ok(())
    }
}
