//! The work that is left when the previous document is no longer in force.

use super::paths::Paths;
use super::publication::FileCleanUp;
use super::report::RenderReport;
use super::to_ads::AdsCleanUp;

/// The resources that are to be removed.
#[derive(Debug)]
pub enum CleanUp {
    /// Files.
    Files(Box<FileCleanUp>),
    /// Resources of Envoy's stream.
    Ads(Box<AdsCleanUp>),
}

impl CleanUp {
    /// Removes what the document does not need.
    pub fn run(self, paths: &Paths) -> RenderReport {
        match self {
            Self::Files(left) => left.run(paths),
            Self::Ads(left) => left.run(),
        }
    }
}
