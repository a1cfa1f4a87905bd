//! Golden exchanges: the cases of `tests/golden/cases`, each through the filter without a proxy, with all that comes of it: what
//! leaves, what is answered, and the ledger's line.
//!
//! After a change that is meant, `TRILANE_WRITE_SNAPSHOTS=1` writes them anew: read the difference.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used
)]

mod gateway;
mod memory;
mod run;
mod script;

use std::path::{Path, PathBuf};

use script::{Part, Script};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The file with what is expected as it is now.
fn written(script: &Script, documents: &run::Documents) -> String {
    let results: Vec<run::CaseResult> = script
        .cases
        .iter()
        .map(|case| run::case(case, documents))
        .collect();
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    for part in &script.parts {
        match part {
            Part::Line(kept) => line(kept),
            Part::Step(case, step) => {
                script.cases[*case].steps[*step]
                    .lines
                    .iter()
                    .for_each(|it| line(it));
                let results = results[*case].after_step.get(step).into_iter().flatten();
                results.for_each(|it| line(&format!("    {it}")));
            }
            Part::Value(case, value) => {
                line(format!("- {}", script.cases[*case].values[*value]).trim_end());
                line(&format!("    {}", results[*case].of_values[*value]));
            }
        }
    }
    text
}

/// The first place where a file is no longer as it was; nothing where it is written anew.
fn difference(path: &Path, documents: &run::Documents) -> Option<String> {
    let was = std::fs::read_to_string(path).expect("text");
    let is = written(&Script::parse(&was), documents);
    if was == is {
        return None;
    }
    if std::env::var_os("TRILANE_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(path, is).expect("written");
        return None;
    }
    let name = path
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let place = was.lines().zip(is.lines()).position(|(was, is)| was != is);
    let place = place.unwrap_or_else(|| was.lines().count().min(is.lines().count()));
    let case = was
        .lines()
        .take(place + 1)
        .filter(|line| line.starts_with("# "))
        .last();
    let line = |text: &str| text.lines().nth(place).unwrap_or_default().to_owned();
    let (case, was, is) = (case.unwrap_or_default(), line(&was), line(&is));
    Some(format!(
        "{name}:{}: {case}\n  was {was}\n  is  {is}",
        place + 1
    ))
}

/// `TRILANE_GOLDEN` is a part of the names of those files that are wanted.
#[test]
fn exchanges_are_as_they_were() {
    let only = std::env::var("TRILANE_GOLDEN").unwrap_or_default();
    let files = std::fs::read_dir(directory().join("cases")).expect("the cases");
    let mut paths: Vec<PathBuf> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.to_string_lossy().contains(&only))
        .collect();
    paths.sort();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let of_thread = &|number: usize| {
        let documents = run::Documents::default();
        let own = paths.iter().skip(number).step_by(threads);
        own.filter_map(|path| difference(path, &documents))
            .collect::<Vec<String>>()
    };
    let differences = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || of_thread(number)))
            .collect();
        let found = running
            .into_iter()
            .map(|thread| thread.join().expect("it ends"));
        found.collect::<Vec<_>>().concat()
    });
    assert!(
        differences.is_empty(),
        "{}\nIf that is meant: TRILANE_WRITE_SNAPSHOTS=1, and the commit says so.",
        differences.join("\n")
    );
}
