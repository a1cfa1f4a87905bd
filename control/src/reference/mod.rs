//! `trilane completions` and `trilane man`: scripts and pages generated from the command line.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Command;

use crate::failure::Failure;

/// Prints a script for shell completion.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trilane completions bash > /etc/bash_completion.d/trilane
  trilane completions zsh > \"${fpath[1]}/_trilane\"
  trilane completions fish > ~/.config/fish/completions/trilane.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// The shells.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints a manual page, of the command or of one of its subcommands.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trilane man | man -l -
  trilane man key create | man -l -
  trilane man --out /usr/local/share/man/man1")]
pub struct Man {
    /// A subcommand, such as `key create` [default: the command itself]
    #[arg(value_name = "SUBCOMMAND")]
    path: Vec<String>,

    /// Write the pages of all subcommands into this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    out: Option<PathBuf>,
}

/// Prints the script that completes `command`.
///
/// # Errors
/// An output that cannot be written.
pub fn completions(args: &Completions, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    clap_complete::generate(shell, &mut command, "trilane", &mut script);
    print(&script)
}

/// Prints a manual page of `command`, or writes all of them.
///
/// # Errors
/// No such subcommand, or an output that cannot be written.
pub fn man(args: &Man, mut command: Command) -> Result<(), Failure> {
    if let Some(directory) = &args.out {
        return write_all(command, directory).map_err(|error| {
            Failure::Data(format!(
                "cannot write into {}: {error}",
                directory.display()
            ))
        });
    }
    command.build();
    let mut place = &mut command;
    for name in &args.path {
        let known = place
            .get_subcommands()
            .map(|known| known.get_name().to_owned());
        let known = known
            .filter(|name| name != "help")
            .collect::<Vec<_>>()
            .join(", ");
        place = place.find_subcommand_mut(name).ok_or_else(|| {
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known
            };
            Failure::Usage(format!("there is no such subcommand; there is: {known}"))
        })?;
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(place.clone()).render(&mut page);
    rendered.map_err(|error| Failure::of_output(&error))?;
    print(&page)
}

fn write_all(command: Command, directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(command, directory)
}

fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|error| Failure::of_output(&error))
}
