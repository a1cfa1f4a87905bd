//! `trilane filter`: copies the filter, and the judge beside it, to where Envoy reads them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::carried_filter::{carried_judge, judge_beside, other_judge};
use crate::failure::Failure;
use crate::files;
use crate::output::{self, FormatArgs, OutputColumn, OutputFormat, OutputTable};

/// Copies the filter, and the judge beside it, to where Envoy reads them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command's container image contains the filter and no shell: this copies it into a volume shared with Envoy's \
container, before Envoy starts, and the judge of accounts' answers, `trilane_judge.wasm`, beside it: the one beside FILE, else the one in this \
program. A file is replaced whole, by a \
rename, and left alone if it has the same content. A running Envoy keeps what it has loaded.

Exit codes:
  0  both are in place
  1  one cannot be read or written, or is not a WebAssembly module
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

/// Copies the filter and the judge, and prints their digests.
///
/// # Errors
/// One cannot be read or written, or is not a WebAssembly module.
pub fn run(args: &FilterArgs) -> Result<(), Failure> {
    // Nothing is written before both are read.
    let filter = read(&args.from)?;
    let judge = match other_judge(&args.from) {
        Some(file) => read(&file)?,
        None => carried_judge().unwrap_or_default().to_vec(),
    };
    let copied = [
        copy(&filter, &args.out)?,
        copy(&judge, &judge_beside(&args.out))?,
    ];
    output::print(|out| match args.format.format() {
        OutputFormat::Table => copied
            .iter()
            .try_for_each(|copy| writeln!(out, "{}  {}", copy.digest, copy.file)),
        OutputFormat::Csv => {
            let columns = ["file", "sha256", "changed"].map(OutputColumn::text);
            let rows = copied.iter().map(|copy| {
                vec![
                    copy.file.clone(),
                    copy.digest.clone(),
                    copy.changed.to_string(),
                ]
            });
            OutputTable::new(columns, rows).write_csv(out)
        }
        OutputFormat::Json => {
            let told = copied.iter().map(
                |copy| json!({"file": copy.file, "sha256": copy.digest, "changed": copy.changed}),
            );
            output::write_json(&told.collect::<Vec<_>>(), out)
        }
    })
}

/// A file that was copied.
struct Copied {
    file: String,
    digest: String,
    /// Whether it was another one before.
    changed: bool,
}

fn read(from: &Path) -> Result<Vec<u8>, Failure> {
    let module = fs::read(from).map_err(|error| failed("read", from, &error))?;
    if !module.starts_with(MAGIC) {
        let file = from.display();
        return Err(Failure::Data(format!("{file} is no WebAssembly module")));
    }
    Ok(module)
}

fn copy(module: &[u8], out: &Path) -> Result<Copied, Failure> {
    let changed = files::put(out, module).map_err(|error| failed("write", out, &error))?;
    Ok(Copied {
        file: out.display().to_string(),
        digest: hex::encode(Sha256::digest(module)),
        changed,
    })
}

fn failed(what: &str, file: &Path, error: &io::Error) -> Failure {
    Failure::Data(format!("cannot {what} {}: {error}", file.display()))
}
