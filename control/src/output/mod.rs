//! The output of subcommands in the requested format: `--format table|csv|json`, the same everywhere.

mod table;

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

pub use table::{OutputColumn, OutputTable};

use crate::failure::Failure;

/// The format of printed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    Table,
    /// RFC 4180, with a header
    Csv,
    /// For programs
    Json,
}

/// The options that choose the format.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct FormatArgs {
    /// The format of the output
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

impl FormatArgs {
    /// For people.
    pub const TABLE: Self = Self {
        format: OutputFormat::Table,
    };

    /// The format that is asked for.
    pub fn format(self) -> OutputFormat {
        self.format
    }
}

/// Writes to standard output, whole.
///
/// # Errors
/// It cannot be written, or nobody reads it any longer ([`Failure::Closed`]).
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    written.map_err(|error| Failure::of_output(&error))
}

/// The same for a command whose exit code is an answer by itself: whoever looks at that alone may have closed the output.
///
/// # Errors
/// It cannot be written.
pub fn print_beside_code(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    match print(write) {
        Err(Failure::Closed) => Ok(()),
        printed => printed,
    }
}

/// Writes a value as JSON, on a line.
///
/// # Errors
/// As the output gives them.
pub fn write_json(value: &(impl Serialize + ?Sized), out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
