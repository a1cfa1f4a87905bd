//! A document that a console has taken the place of: a change of it would change nothing.

use std::fs;
use std::path::Path;

use crate::data_directory::DataDirectory;
use crate::envoy_config::CONSOLE_CLUSTER;
use crate::failure::Failure;
use crate::run_directory::RunDirectory;

/// Refuses a change of the document in a data directory whose gateway was last started with a console: that has document and keys.
///
/// # Errors
/// It is such a document.
pub fn check(document: &Path) -> Result<(), Failure> {
    let Ok(path) = fs::canonicalize(document) else {
        return Ok(());
    };
    let Some(data) = path
        .parent()
        .map(|parent| DataDirectory::new(parent.to_owned()))
    else {
        return Ok(());
    };
    if data.document() != path {
        return Ok(());
    }
    let config = fs::read_to_string(RunDirectory::of(&data).envoy_yaml());
    if !config.is_ok_and(|config| config.contains(CONSOLE_CLUSTER)) {
        return Ok(());
    }
    let shown = path.display();
    Err(Failure::Data(format!(
        "{shown} is not in force: its gateway was last started with a console, which has the document and the keys. Do this on the \
         console's page Keys, or over its API (/api/v1/keys). A gateway that is started without a console reads this file again"
    )))
}
