//! `trilane filter`: copies the filter to where Envoy reads it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;
use crate::files;
use crate::output::{self, FormatArgs, OutputColumn, OutputFormat, OutputTable};

/// Copies the filter to where Envoy reads it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command's container image contains the filter and no shell: this copies it into a volume shared with Envoy's \
container, before Envoy starts. The file is replaced whole, by a rename, and left alone if it has the same content. \
A running Envoy keeps the filter that it has loaded.

Exit codes:
  0  the filter is in place
  1  it cannot be read or written, or is not a WebAssembly module
  2  wrong command line

Examples:
  trilane filter --out /filter/trilane.wasm")]
pub struct FilterArgs {
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    /// The file to copy [the default is its place in the command's image]
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/trilane/filter/trilane.wasm"
    )]
    pub from: PathBuf,

    #[command(flatten)]
    pub format: FormatArgs,
}

/// The first bytes of every WebAssembly module.
const MAGIC: &[u8] = b"\0asm";

/// Copies the filter, and prints its digest.
///
/// # Errors
/// It cannot be read or written, or is not a WebAssembly module.
pub fn run(args: &FilterArgs) -> Result<(), Failure> {
    let filter = fs::read(&args.from).map_err(|error| failed("read", &args.from, &error))?;
    if !filter.starts_with(MAGIC) {
        let file = args.from.display();
        return Err(Failure::Data(format!("{file} is no WebAssembly module")));
    }
    let changed =
        files::put(&args.out, &filter).map_err(|error| failed("write", &args.out, &error))?;
    let digest = hex::encode(Sha256::digest(&filter));
    let file = args.out.display().to_string();
    output::print(|out| match args.format.format() {
        OutputFormat::Table => writeln!(out, "{digest}  {file}"),
        OutputFormat::Csv => {
            let columns = ["file", "sha256", "changed"].map(OutputColumn::text);
            OutputTable::new(columns, [vec![file, digest, changed.to_string()]]).write_csv(out)
        }
        OutputFormat::Json => {
            let told = json!({"file": args.out, "sha256": digest, "changed": changed});
            output::write_json(&told, out)
        }
    })
}

fn failed(what: &str, file: &Path, error: &io::Error) -> Failure {
    Failure::Data(format!("cannot {what} {}: {error}", file.display()))
}
