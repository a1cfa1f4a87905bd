//! The statements of the source against the schema: each is prepared by the engines that it is for, though no test may run it.

use core::str::FromStr as _;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

use crate::database::TestDatabase;

/// The first words of a statement, and the words that one of them has for sure.
const FIRST: [(&str, &[&str]); 5] = [
    ("SELECT ", &[]),
    ("INSERT INTO ", &["VALUES", "SELECT"]),
    ("UPDATE ", &["SET"]),
    ("DELETE FROM ", &[]),
    ("WITH ", &[" AS "]),
];

/// Words that only PostgreSQL has.
const OF_POSTGRES: [&str; 11] = [
    "trilane_",
    "::",
    "unnest(",
    "pg_",
    "to_regclass",
    "FOR UPDATE",
    "FOR NO KEY",
    "FOR SHARE",
    "MATERIALIZED",
    "ANY(",
    "generate_series",
];

/// Words that only SQLite has.
const OF_SQLITE: [&str; 6] = [
    "rowid",
    "json_each",
    "sqlite_",
    "pragma_",
    "RAISE(",
    // A table of both, with a number of its own in SQLite.
    "key_search (id)",
];

/// The console gives the types of values with them, which a bare statement does not have.
const UNTYPED: &str = "could not determine data type of parameter";

fn files(directory: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") {
            all.push(path);
        }
    }
}

/// Whether a text is a whole statement: without a place for a part that is put in.
fn is_statement(text: &str) -> bool {
    let whole = |(first, others): &(&str, &[&str])| {
        let has_one = others.is_empty() || others.iter().any(|word| text.contains(word));
        text.starts_with(first) && has_one
    };
    FIRST.iter().any(whole) && !text.contains('{')
}

/// Finds the statements in the texts of a file.
fn statements(tokens: TokenStream, all: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => statements(group.stream(), all),
            TokenTree::Literal(literal) => {
                let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) else {
                    continue;
                };
                let text = text.value();
                if is_statement(&text) {
                    all.push(text);
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_statement_fits_the_schema() {
    let (sqlite, postgres) = (TestDatabase::sqlite(), TestDatabase::postgres().await);
    drop((sqlite.open().await, postgres.open().await));
    let mut sources = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut sources,
    );
    let (mut found, mut wrong) = (0, Vec::new());
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        let mut all = Vec::new();
        statements(TokenStream::from_str(&text).unwrap(), &mut all);
        for statement in all {
            found += 1;
            let has = |words: &[&str]| words.iter().any(|word| statement.contains(word));
            if !has(&OF_POSTGRES)
                && let Err(error) = sqlite.execute(&format!("EXPLAIN {statement}")).await
            {
                wrong.push(format!(
                    "{}: SQLite: {error}: {statement}",
                    source.display()
                ));
            }
            if !has(&OF_SQLITE)
                && let Err(error) = postgres
                    .execute(&format!("PREPARE one AS {statement}"))
                    .await
                && !error.to_string().contains(UNTYPED)
            {
                wrong.push(format!(
                    "{}: PostgreSQL: {error}: {statement}",
                    source.display()
                ));
            }
        }
    }
    assert!(found > 200, "{found} statements");
    assert!(
        wrong.is_empty(),
        "{} of {found}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    sqlite.drop().await;
    postgres.drop().await;
}
