//! The paths of one run. Those that end up in Envoy's configuration are absolute, since Envoy runs elsewhere.

use std::path::{Path, PathBuf};

use trilane_console::credentials::{CredentialDestinations, is_name};
use trilane_console::documents::NOT_PLAIN;

use super::args::Args;
use super::control_plane::ControlPlane;
use crate::carried_filter::judge_beside;
use crate::failure::Failure;

/// The paths of one run, absolute.
#[derive(Debug)]
pub struct Paths {
    /// The directory to write to.
    pub out: Option<PathBuf>,
    /// The control plane for which the clusters are written as a resource.
    pub control_plane: Option<ControlPlane>,
    /// The file to publish the document to.
    pub publish: Option<PathBuf>,
    /// The directory of the operator's files.
    credentials: Option<PathBuf>,
    /// The directory of the credentials that a console has given; the document is that console's then.
    pub given: Option<PathBuf>,
    /// The destinations of credentials by the operator's own document.
    pub bound: CredentialDestinations,
    /// The certificate authorities of accounts without a `ca` of their own.
    pub system_ca: PathBuf,
    /// The judge of answers, as Envoy sees it, beside the filter.
    pub judge: Option<String>,
}

impl Paths {
    /// Reads them from the command line.
    ///
    /// # Errors
    /// A path that is not plain text, or a document that would be published to itself.
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
            control_plane: args.control_plane,
            out: optional(args.out.as_ref(), "--out")?,
            credentials: optional(args.credentials.as_ref(), "--credentials")?,
            given: optional(args.given.as_ref(), "--data")?,
            bound: args.bound.clone(),
            system_ca: absolute(&args.system_ca.file(), "--system-ca")?,
            judge: optional(args.filter.as_ref(), "--filter")?
                .map(|filter| judge_beside(&filter).to_string_lossy().into_owned()),
        })
    }

    /// The directory of the clusters. It has nothing else in it, since Envoy reads the clusters again at every rename there.
    pub fn clusters(&self) -> PathBuf {
        self.out
            .as_deref()
            .unwrap_or(Path::new("/"))
            .join("clusters")
    }

    /// The directory of the secrets. It has nothing else in it.
    pub fn secrets(&self) -> PathBuf {
        self.out
            .as_deref()
            .unwrap_or(Path::new("/"))
            .join("secrets")
    }

    /// The path of a file that the document names.
    ///
    /// # Errors
    /// There is no such path: the document is a console's and leads out of the directory of credentials, or there is no `--credentials`.
    pub fn named(&self, file: &str) -> Result<PathBuf, &'static str> {
        if self.given.is_some() {
            if !is_name(file) {
                return Err(NOT_PLAIN);
            }
        } else if Path::new(file).is_absolute() {
            return Ok(PathBuf::from(file));
        }
        let directory = self.credentials.as_ref();
        directory
            .map(|directory| directory.join(file))
            .ok_or("begins without a slash: say with --credentials in which directory it is")
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    found(one) == found(other)
}

/// Symbolic links are not followed: their target may be replaced, as Kubernetes does.
fn absolute(path: &Path, option: &str) -> Result<PathBuf, Failure> {
    let wrong = |why| Failure::Usage(format!("{option}: {why}"));
    let path = std::path::absolute(path).map_err(|error| wrong(error.to_string()))?;
    match path.to_str() {
        Some(text) if !text.chars().any(char::is_control) => Ok(path),
        _ => Err(wrong("the path is not plain text".to_owned())),
    }
}
