//! `trilane init` by options, against stand-ins of vendors.

mod additions;
mod failures;
mod presets;
mod prices;
#[path = "../../../tests/vendors/lists.rs"]
mod vendor;
mod ways;

use std::process::Stdio;

use crate::command_output::CommandOutput;
use crate::desk::{Desk, SECRET};

/// The credential of every vendor here. Nothing may print what begins so.
const CREDENTIAL: &str = "sk-dont-tell-vendor";

/// Runs `trilane init` with the data directory `data`, and the credential in the file `vendor.key`.
fn init(desk: &Desk, args: &[&str]) -> CommandOutput {
    init_with(desk, args, &[])
}

/// The same with these variables in the environment.
fn init_with(desk: &Desk, args: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
    desk.write("vendor.key", &format!("{CREDENTIAL}\n"));
    let mut command = desk.command(&[&["init", "--data", "data"], args].concat());
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command.envs(variables.iter().copied());
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    for said in [&out, &err] {
        assert!(!said.contains(SECRET), "{args:?}: a credential: {said}");
    }
    let code = output.status.code().unwrap();
    CommandOutput { code, out, err }
}

/// The options for a vendor at an address, with its credential in a file.
fn at(vendor: &str) -> Vec<&str> {
    vec!["--vendor", vendor, "--credential-file", "vendor.key"]
}
