//! `trilane filter`: the filter that lies beside the command, brought to where Envoy reads it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;
use crate::files;

/// Copies the filter to where Envoy reads it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command's container image has the filter in it and no shell: this brings it into a volume that Envoy's container \
has too, before Envoy starts. The file is replaced whole, by a rename, and left alone where it is the same already. \
An Envoy that runs goes on with the filter that it has.

Exit codes:
  0  the filter is there
  1  it cannot be read or written, or is no WebAssembly module
  2  wrong command line

Examples:
  trilane filter --out /filter/trilane.wasm")]
pub struct Args {
    /// Where to put it
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,

    /// Where it is [in the command's image: here]
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/trilane/filter/trilane.wasm"
    )]
    pub from: PathBuf,

    /// Tell where it is, its digest, and whether it is another one now, as JSON
    #[arg(long)]
    pub json: bool,
}

/// How every WebAssembly module begins.
const MAGIC: &[u8] = b"\0asm";

/// Copies it, and says which one it is.
///
/// # Errors
/// A filter that cannot be read, is none, or cannot be written.
pub fn run(args: &Args) -> Result<(), Failure> {
    let filter = fs::read(&args.from).map_err(|error| failed("read", &args.from, &error))?;
    if !filter.starts_with(MAGIC) {
        let file = args.from.display();
        return Err(Failure::Data(format!("{file} is no WebAssembly module")));
    }
    let changed = put(&args.out, &filter).map_err(|error| failed("write", &args.out, &error))?;
    let digest = hex::encode(Sha256::digest(&filter));
    let told = if args.json {
        let told = json!({"file": args.out, "sha256": digest, "changed": changed});
        writeln!(io::stdout(), "{told}")
    } else {
        writeln!(io::stdout(), "{digest}  {}", args.out.display())
    };
    told.map_err(|error| Failure::of_output(&error))
}

/// Whether it was another one before, or none.
fn put(file: &Path, content: &[u8]) -> io::Result<bool> {
    let name = file.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let directory = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let differs = files::differs(file, content)?;
    if differs {
        files::replace(directory, name, content)?;
    }
    Ok(differs)
}

fn failed(what: &str, file: &Path, error: &io::Error) -> Failure {
    Failure::Data(format!("cannot {what} {}: {error}", file.display()))
}
