//! The address of the database, from the command line, a file or the environment.

use std::env;

use trilane_console::named_file;
use trilane_console::store::DatabaseAddress;

use super::args::DatabaseArgs;
use crate::failure::Failure;

/// The environment's variable.
const VARIABLE: &str = "TRILANE_DATABASE";

/// Reads the address of the database from the options, a file or the environment.
///
/// # Errors
/// It is not said, the file cannot be read, or a password is on the command line.
pub fn address(args: &DatabaseArgs) -> Result<DatabaseAddress, Failure> {
    let text = match (&args.database, &args.database_file) {
        (Some(text), _) if has_password(text) => {
            let why = format!(
                "--database has a password, which everybody on this machine can read: put the URL into a file \
                 (--database-file) or into the environment ({VARIABLE})"
            );
            return Err(Failure::Usage(why));
        }
        (Some(text), _) => text.clone(),
        (None, Some(file)) => named_file::read_text(file, named_file::SECRET).map_err(|error| {
            Failure::Unreadable(format!("cannot read {}: {error}", file.display()))
        })?,
        (None, None) => env::var(VARIABLE).map_err(|_| {
            let why =
                format!("say where the database is: --database, --database-file or {VARIABLE}");
            Failure::Usage(why)
        })?,
    };
    if text.trim().is_empty() {
        return Err(Failure::Usage("the database's address is empty".to_owned()));
    }
    Ok(DatabaseAddress::parse(&text))
}

/// Whether a URL has a password, in its authority or its query.
fn has_password(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else {
        return false;
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    user.contains(':') || path.contains("password=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_on_the_command_line() {
        for (text, want) in [
            ("/var/lib/trilane", false),
            ("C:/trilane", false),
            ("postgres://console@db:5432/console", false),
            ("postgres://db/console", false),
            ("postgres://console:x@db/console", true),
            ("postgres://db/console?password=x", true),
            ("postgres://a:b@c@db", true),
        ] {
            assert_eq!(has_password(text), want, "{text}");
        }
    }
}
