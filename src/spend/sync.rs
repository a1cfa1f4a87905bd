//! Order of the pages of a spend feed, and the treatment of each.

use core::fmt::Write as _;

use percent_encoding::utf8_percent_encode;

use super::page::SpendPage;
use crate::config::FeedSource;
use crate::config::policy::Policy;
use crate::feed::ESCAPED;
use crate::host::Entropy;
use crate::limits::elsewhere::{self, COMPLETE, INSTANCE};
use crate::shared_data::SharedData;

/// A version that no value has: a value is set with it only where there is none.
const ABSENT: u32 = u32::MAX;

/// The position in a spend feed.
#[derive(Debug)]
pub struct SpendSync {
    source: FeedSource,
    /// The currency of the document, in which budgets are.
    currency: Option<String>,
    /// The number of this process.
    instance: String,
    /// `None`: from the beginning.
    cursor: Option<String>,
}

/// The effect of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendOutcome {
    /// Records that were written.
    pub written: u64,
    /// Whether there is a next page already.
    pub more: bool,
}

impl SpendSync {
    /// From the beginning of the feed that a policy names; `None` where it names none, or this process has no number yet.
    pub fn begin(policy: &Policy, host: &(impl SharedData + Entropy)) -> Option<Self> {
        let source = policy.spend_feed.clone()?;
        let drawn = format!("{:016x}", host.random());
        // Where there is one it stays: lines of the ledger have it.
        let _ = host.set(INSTANCE, drawn.as_bytes(), Some(ABSENT));
        Some(Self {
            source,
            currency: policy.currency.as_deref().map(str::to_owned),
            instance: elsewhere::instance(host)?.to_string(),
            cursor: None,
        })
    }

    /// Whether it is the feed that a policy names.
    pub fn is_of(&self, policy: &Policy) -> bool {
        policy.spend_feed.as_ref() == Some(&self.source)
            && policy.currency.as_deref() == self.currency.as_deref()
    }

    /// Returns the address of the feed.
    pub fn source(&self) -> &FeedSource {
        &self.source
    }

    /// The path of the next page of so many subjects.
    pub fn next_path(&self, limit: u32) -> String {
        let mut path = self.source.path.clone();
        path.push(if path.contains('?') { '&' } else { '?' });
        let _ = write!(path, "limit={limit}&instance={}", self.instance);
        for (name, value) in [("currency", &self.currency), ("cursor", &self.cursor)] {
            if let Some(value) = value {
                let _ = write!(path, "&{name}=");
                path.extend(utf8_percent_encode(value, ESCAPED));
            }
        }
        path
    }

    /// Takes a page.
    ///
    /// # Errors
    /// The problem with it. Nothing is changed then.
    pub fn take(&mut self, page: &[u8], shared: &impl SharedData) -> Result<SpendOutcome, String> {
        let page = SpendPage::parse(page)?;
        for (name, told) in &page.records {
            let _ = shared.set(name, &told.encode(), None);
        }
        if !page.more {
            let _ = shared.set(COMPLETE, &[1], None);
        }
        self.cursor = Some(page.cursor);
        Ok(SpendOutcome {
            written: u64::try_from(page.records.len()).unwrap_or(u64::MAX),
            more: page.more,
        })
    }
}
