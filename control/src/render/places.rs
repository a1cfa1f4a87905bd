//! Where things are: every path that gets into Envoy's configuration is absolute, for Envoy runs elsewhere.

use std::path::{Path, PathBuf};

use super::args::Args;
use crate::failure::Failure;

/// The directories of one run.
#[derive(Debug)]
pub struct Places {
    /// Where to write; absolute.
    pub out: Option<PathBuf>,
    /// Where the document is put in force; absolute.
    pub publish: Option<PathBuf>,
    /// Where the operator's files are; absolute.
    credentials: Option<PathBuf>,
    /// The certificate authorities of accounts without their own; absolute.
    pub system_ca: PathBuf,
    /// The gateway's filter; absolute.
    pub filter: PathBuf,
}

impl Places {
    /// Takes them from the command line.
    ///
    /// # Errors
    /// A path that no text can hold, or a document that is to be put into its own place.
    pub fn new(args: &Args) -> Result<Self, Failure> {
        let optional =
            |path: Option<&PathBuf>, option| path.map(|p| absolute(p, option)).transpose();
        let publish = optional(args.publish.as_ref(), "--publish")?;
        if let Some(publish) = &publish
            && is_same(publish, &absolute(&args.document, "--document")?)
        {
            let why = "--publish: this is the document itself, which would be in force before it is looked at";
            return Err(Failure::Usage(why.to_owned()));
        }
        Ok(Self {
            publish,
            out: optional(args.out.as_ref(), "--out")?,
            credentials: optional(args.credentials.as_ref(), "--credentials")?,
            system_ca: absolute(&args.system_ca, "--system-ca")?,
            filter: absolute(&args.filter, "--filter")?,
        })
    }

    /// The directory of the clusters, and nothing else: Envoy reads what is in it again at every rename there.
    pub fn clusters(&self) -> PathBuf {
        self.out
            .as_deref()
            .unwrap_or(Path::new("/"))
            .join("clusters")
    }

    /// The directory of the secrets, and nothing else.
    pub fn secrets(&self) -> PathBuf {
        self.out
            .as_deref()
            .unwrap_or(Path::new("/"))
            .join("secrets")
    }

    /// A file that the document names; `None` for one that is relative to nothing.
    pub fn named(&self, file: &str) -> Option<PathBuf> {
        if Path::new(file).is_absolute() {
            Some(PathBuf::from(file))
        } else {
            self.credentials
                .as_ref()
                .map(|directory| directory.join(file))
        }
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    found(one) == found(other)
}

/// Symbolic links stay: what they point to may be exchanged, as Kubernetes does.
fn absolute(path: &Path, option: &str) -> Result<PathBuf, Failure> {
    let wrong = |why| Failure::Usage(format!("{option}: {why}"));
    let path = std::path::absolute(path).map_err(|error| wrong(error.to_string()))?;
    match path.to_str() {
        Some(text) if !text.chars().any(char::is_control) => Ok(path),
        _ => Err(wrong("the path is not plain text".to_owned())),
    }
}
