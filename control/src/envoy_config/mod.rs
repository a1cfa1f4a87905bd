//! `trilane envoy-config`: Envoy's configuration for one way of running it.
//!
//! The annotated [`original`] is read as YAML. [`settings`] say what differs where it runs, and [`change`] sets exactly that at
//! named [`place`]s: an original without one of them is refused. The [`mode`] on the command line has settings of its own,
//! which [`args`] adjust. The stream of an agent ([`ads`]), the [`agent`]'s feeds, the way to [sign in](sign_in) and the [`limits_service`] are parts that are added. Where a control plane generates the configuration,
//! [`mesh`] takes from the original what that lacks.

mod ads;
mod agent;
mod args;
mod change;
mod limits_service;
mod mesh;
mod mode;
mod original;
mod place;
mod settings;
mod sign_in;
mod upstreams;

use std::path::Path;

pub use args::EnvoyConfigArgs;
pub use settings::{
    AccountSource, DocumentSource, EnvoySettings, LedgerPlace, SignInConsole, TlsListener,
};
pub use sign_in::CONSOLE_CLUSTER;
pub use upstreams::StaticUpstreams;

use crate::failure::Failure;
use crate::{files, output};

/// Prints the configuration, or writes it to a file.
///
/// # Errors
/// The original lacks a place, a path cannot be written in YAML, or the file cannot be written.
pub fn run(args: &EnvoyConfigArgs) -> Result<(), Failure> {
    let original = args.original.as_deref();
    let text = match args.mesh()? {
        Some(mesh) => {
            let config = original::read(original)?;
            mesh::text(config, &mesh).map_err(|problem| of(original, &problem))?
        }
        None => text(original, &args.settings()?)?,
    };
    match &args.out {
        None => output::print(|out| out.write_all(text.as_bytes())),
        Some(file) => files::put(file, text.as_bytes())
            .map(drop)
            .map_err(|error| Failure::Data(format!("cannot write {}: {error}", file.display()))),
    }
}

/// Envoy's configuration as YAML: the original, or that in a file, with these settings.
///
/// # Errors
/// The original cannot be read or lacks a place, or a path cannot be written in YAML.
pub fn text(original: Option<&Path>, settings: &EnvoySettings) -> Result<String, Failure> {
    let mut config = original::read(original)?;
    change::apply(&mut config, settings).map_err(|problem| of(original, &problem))?;
    original::write(&config)
}

/// The problem of an original.
fn of(original: Option<&Path>, problem: &str) -> Failure {
    let name = original.map_or_else(
        || original::NAME.to_owned(),
        |file| file.display().to_string(),
    );
    Failure::Data(format!("{name}: {problem}"))
}
