//! `trilane.toml` in the data directory: settings that are the same each time.

use std::io;
use std::path::{Path, PathBuf};

use super::settings::UpSettings;
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::timestamp::parse_duration;

/// Reads it; without the file there are no settings. Paths in it begin at the data directory.
///
/// # Errors
/// It cannot be read, or has what is no setting.
pub fn read(data: &DataDirectory) -> Result<UpSettings, Failure> {
    data.check()?;
    let file = data.options();
    let name = file.display();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(UpSettings::default()),
        Err(error) => {
            return Err(Failure::Unreadable(format!(
                "cannot read {name}: {error}. Let this user read it, or choose another data directory with --data DIR"
            )));
        }
    };
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("{name}: {why}"));
    let mut settings: UpSettings =
        toml::from_str(&text).map_err(|error| wrong(&in_words(&error, &text)))?;
    for (setting, text) in [
        ("ledger-max-age", &settings.ledger_max_age),
        ("drain", &settings.drain),
        ("unresponsive-after", &settings.unresponsive_after),
    ] {
        if let Some(Err(why)) = text.as_deref().map(parse_duration) {
            return Err(wrong(&format!("{setting}: {why}")));
        }
    }
    for path in [
        &mut settings.document,
        &mut settings.credentials,
        &mut settings.ledger,
        &mut settings.envoy,
        &mut settings.filter,
        &mut settings.console_ca,
        &mut settings.enrolment_token_file,
    ] {
        *path = path.take().map(|path| within(data.root(), path));
    }
    Ok(settings)
}

/// A mistake in one line: which line, what stands there, and what is wrong with it.
fn in_words(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let number = before.unwrap_or_default().matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default();
    let what = error.message().replace('\n', ", ");
    format!(
        "line {}, `{}`: {what}",
        number.saturating_add(1),
        line.trim()
    )
}

/// A path that begins in a directory.
fn within(directory: &Path, path: PathBuf) -> PathBuf {
    directory.join(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says() {
        let place = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(place.path().to_owned());
        assert_eq!(read(&data).unwrap().port, None, "there need not be one");
        let write = |text: &str| std::fs::write(data.options(), text).unwrap();
        write(
            "demo = true\nport = 8000\nledger = 'l.jsonl'\nfilter = '/f.wasm'\nledger-max-size = '1k'\n\
             upstream = 'localhost:80'\ndrain = '5m'\n",
        );
        let settings = read(&data).unwrap();
        assert!(settings.demo);
        assert_eq!(settings.port, Some(8000));
        assert_eq!(settings.ledger, Some(place.path().join("l.jsonl")));
        assert_eq!(settings.filter, Some(PathBuf::from("/f.wasm")));
        assert_eq!(settings.ledger_max_size.unwrap().0, 1024);
        assert_eq!(settings.upstream.unwrap().port(), 80);
        for (text, want) in [
            ("prot = 8000", "unknown field `prot`"),
            ("port = 80000", "port"),
            ("drain = '5'", "drain: expected a number with s, m, h"),
            ("ledger-max-size = 'much'", "expected a number of bytes"),
            ("upstream = 'x'", "is not of the form host:port"),
            ("port", "trilane.toml"),
        ] {
            write(text);
            let Err(Failure::Usage(said)) = read(&data) else {
                panic!("{text}");
            };
            assert!(said.contains(want), "{text}: {said}");
        }
    }

    #[test]
    fn the_command_line_comes_first() {
        let line = UpSettings {
            port: Some(1),
            ..UpSettings::default()
        };
        let file = UpSettings {
            port: Some(2),
            tls_port: Some(3),
            demo: true,
            ..UpSettings::default()
        };
        let both = line.or(file);
        assert_eq!(
            (both.port, both.tls_port, both.demo),
            (Some(1), Some(3), true)
        );
    }
}
