//! Files for spreadsheets and programs (RFC 4180).

use axum::response::{IntoResponse, Response};
use csv::{Terminator, WriterBuilder};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

/// The signs that a formula begins with. Spreadsheets take the full-width ones for the same.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// A file to save.
#[derive(Debug)]
pub struct CsvFile {
    name: String,
    text: Vec<u8>,
}

impl CsvFile {
    /// A file of records, the first of which has the names of the columns. What a name in a header cannot have is left out of it.
    ///
    /// # Errors
    /// The records have different lengths.
    pub fn new(name: &str, records: impl Iterator<Item = Vec<String>>) -> csv::Result<Self> {
        let mut builder = WriterBuilder::new();
        let mut file = builder.terminator(Terminator::CRLF).from_writer(Vec::new());
        for record in records {
            file.write_record(&record)?;
        }
        let is_plain =
            |sign: &char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
        Ok(Self {
            name: name.chars().filter(is_plain).collect(),
            text: file.into_inner().map_err(|error| error.into_error())?,
        })
    }
}

impl IntoResponse for CsvFile {
    fn into_response(self) -> Response {
        let attachment = format!("attachment; filename=\"{}.csv\"", self.name);
        let headers = [
            (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
            (CONTENT_DISPOSITION, attachment),
        ];
        (headers, self.text).into_response()
    }
}

/// A cell. A spreadsheet takes what begins like a formula for one, whatever is quoted, and some pass over what is not seen before
/// it: an apostrophe makes it a text.
pub fn cell(value: &str) -> String {
    let is_unseen = |sign: char| {
        sign.is_whitespace()
            || sign.is_control()
            || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    };
    let seen = value.trim_start_matches(is_unseen);
    let is_formula = value.starts_with(|sign: char| sign.is_control()) || seen.starts_with(FORMULA);
    if is_formula {
        format!("'{value}")
    } else {
        value.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        for (name, want) in [
            (
                "usage-2026-11",
                "attachment; filename=\"usage-2026-11.csv\"",
            ),
            ("usage-\"\r\n; x", "attachment; filename=\"usage-x.csv\""),
        ] {
            let file = CsvFile::new(name, [vec!["a".to_owned()]].into_iter()).unwrap();
            let response = file.into_response();
            assert_eq!(response.headers()[CONTENT_DISPOSITION], want);
        }
    }

    #[test]
    fn cells() {
        for (value, want) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@sum(a,b)", "\"'@sum(a,b)\""),
            ("\t=1", "'\t=1"),
            ("\ta", "'\ta"),
            ("\ra", "\"'\ra\""),
            ("\na", "\"'\na\""),
            ("＝1+1", "'＝1+1"),
            ("＋1", "'＋1"),
            ("－1", "'－1"),
            ("＠sum(a)", "'＠sum(a)"),
            (" =1", "' =1"),
            ("\u{3000}=1", "'\u{3000}=1"),
            ("\u{feff}=1", "'\u{feff}=1"),
            ("\u{200b}＝1", "'\u{200b}＝1"),
            (" a", " a"),
            ("ann＝1", "ann＝1"),
            ("a=1", "a=1"),
            ("a\r\nb", "\"a\r\nb\""),
        ] {
            let record = vec![cell(value), "x".to_owned()];
            let written = CsvFile::new("x", [record].into_iter()).unwrap().text;
            let want = format!("{want},x\r\n");
            assert_eq!(String::from_utf8(written).unwrap(), want, "{value:?}");
        }
    }
}
