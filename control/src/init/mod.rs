//! `trilane init`: from nothing to a document for real vendors.
//!
//! For each vendor ([`trilane_console::vendors`]) it takes a [`credential`], tests it by the vendor's own list of models,
//! and chooses models with their prices ([`chosen`]): [by options](by_options), or [by a
//! dialogue](by_dialogue) with a person ([`dialogue`]). What is there already stays, unless somebody says otherwise
//! ([`present`]); a vendor that is there may get [another key](another_key). In the end ([`finish`]) it makes the document's text, writes document, credentials and a
//! first key ([`writing`]), and says what to set in [`clients`].

mod another_key;
mod args;
mod by_dialogue;
mod by_options;
mod chosen;
mod clients;
mod credential;
mod dialogue;
mod finish;
mod present;
mod tested;
mod vendor_arg;
mod writing;

pub use args::InitArgs;
use present::FirstKey;

use crate::envoy_program;
use crate::failure::Failure;
use crate::terminal::say;

/// Asks, or takes the options; tests, and writes.
///
/// # Errors
/// A vendor did not give its list, something is in the way, or cannot be written.
pub fn run(args: &InitArgs) -> Result<(), Failure> {
    let data = args.data.directory()?;
    data.check()?;
    let key = FirstKey {
        id: args.key_id.clone(),
        file: present::key_file(args, &data, &args.key_id)?,
        terms: args.terms.clone(),
    };
    if args.vendors.is_empty() {
        by_dialogue::run(args, &data, key)?;
        // It is written. Without an Envoy `trilane up` asks again.
        let fetched = envoy_program::find_or_fetch(None, &data, args.fetching);
        return match fetched {
            Err(Failure::Data(why)) => {
                say(&why);
                Ok(())
            }
            fetched => fetched.map(drop),
        };
    }
    by_options::run(args, &data, key)?;
    if args.fetching.yes {
        envoy_program::find_or_fetch(None, &data, args.fetching)?;
    }
    Ok(())
}
