//! The help of the command and of each subcommand, whole: `help.txt`.

use std::path::Path;

use crate::desk::Desk;
use crate::golden;

#[test]
fn the_help_of_every_command() {
    let desk = Desk::new();
    let mut text = String::new();
    add_help(&desk, &[], &mut text);
    for known in [
        "trilane up",
        "trilane key create",
        "trilane console approve",
    ] {
        assert!(text.contains(&format!("$ {known} --help\n")), "{known}");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/help.txt");
    golden::compare(&golden, &text);
}

/// Adds the help of a command, and that of the commands below it.
fn add_help(desk: &Desk, path: &[&str], text: &mut String) {
    let mut command = desk.command(&[path, &["--help"]].concat());
    // The help shows the values of variables that are set.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TRILANE_") {
            command.env_remove(name);
        }
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{path:?}: {output:?}");
    assert_eq!(output.stderr, b"", "{path:?}");
    let help = String::from_utf8(output.stdout).unwrap();
    let name = [&["trilane"], path].concat().join(" ");
    *text += &format!("$ {name} --help\n{help}\n");
    let below = help.split_once("\nCommands:\n").map_or("", |(_, of)| of);
    let below = below.lines().take_while(|line| !line.is_empty());
    for line in below {
        // Descriptions of several lines are indented further.
        let Some(name) = line.strip_prefix("  ").and_then(|of| of.split(' ').next()) else {
            continue;
        };
        if !name.is_empty() && name != "help" {
            add_help(desk, &[path, &[name]].concat(), text);
        }
    }
}
