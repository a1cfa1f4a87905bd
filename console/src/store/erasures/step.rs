//! The steps of an erasure, in their order.

use super::{Erasure, bounded, lines, names, sums};
use crate::store::usage_rows::UsageTable;
use crate::store::{StoreError, Transaction};

/// A step of an erasure, named after the data that it erases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureStep {
    /// The person's keys are removed, so that gateways refuse them.
    Keys,
    /// Usage by hour.
    Hours,
    /// Usage by day: after hours, which days are made of.
    Days,
    /// Usage by what requests say of themselves.
    Dimensions,
    /// The spend of the person.
    Spend,
    /// The person's shares in the spend feed, and a budget.
    Shares,
    /// The subject of what gateways are told.
    Subject,
    /// Notes that the budget is nearly spent: after what they are made of.
    NearlySpent,
    /// Messages about the budget: after what they are made of.
    Messages,
    /// Lines of the ledger.
    Lines,
    /// Lines that could not be counted.
    Aside,
    /// Answers that are kept for requests that come again.
    Answers,
    /// The publishers of documents.
    Documents,
    /// The authors of drafts.
    Drafts,
    /// The people who set credentials.
    Credentials,
    /// The creators of other people's keys.
    KeyMakers,
    /// The entries of the audit.
    Audit,
}

impl ErasureStep {
    const ALL: [Self; 17] = [
        Self::Keys,
        Self::Hours,
        Self::Days,
        Self::Dimensions,
        Self::Spend,
        Self::Shares,
        Self::Subject,
        Self::NearlySpent,
        Self::Messages,
        Self::Lines,
        Self::Aside,
        Self::Answers,
        Self::Documents,
        Self::Drafts,
        Self::Credentials,
        Self::KeyMakers,
        Self::Audit,
    ];
    /// The first step of every erasure.
    pub const FIRST: Self = Self::Keys;

    /// Returns the name, as the database has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Hours => "hours",
            Self::Days => "days",
            Self::Dimensions => "dimensions",
            Self::Spend => "spend",
            Self::Shares => "shares",
            Self::Subject => "subject",
            Self::NearlySpent => "nearly_spent",
            Self::Messages => "messages",
            Self::Lines => "lines",
            Self::Aside => "aside",
            Self::Answers => "answers",
            Self::Documents => "documents",
            Self::Drafts => "drafts",
            Self::Credentials => "credentials",
            Self::KeyMakers => "key_makers",
            Self::Audit => "audit",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// Returns the step after it; `None`: it is the last.
    pub(super) fn next(self) -> Option<Self> {
        let mut after = Self::ALL.into_iter().skip_while(|step| *step != self);
        after.nth(1)
    }
}

/// Erases a bounded number of rows. Up to where it is done then; `None`: nothing is left.
pub(super) async fn run(
    transaction: &mut Transaction,
    erasure: &Erasure,
    person: &str,
) -> Result<Option<String>, StoreError> {
    let pseudonym = erasure.pseudonym.as_str();
    let both = (person, pseudonym);
    let is_more = match erasure.step {
        ErasureStep::Keys => bounded::KEYS.run(transaction, both).await?,
        ErasureStep::Hours => sums::usage(transaction, UsageTable::Hours, both).await?,
        ErasureStep::Days => sums::usage(transaction, UsageTable::Days, both).await?,
        ErasureStep::Dimensions => sums::dimensions(transaction, both).await?,
        ErasureStep::Spend => sums::spend(transaction, both).await?,
        ErasureStep::Shares => bounded::SHARES.run(transaction, both).await?,
        ErasureStep::Subject => bounded::SUBJECT.run(transaction, both).await?,
        ErasureStep::NearlySpent => bounded::NEARLY_SPENT.run(transaction, both).await?,
        ErasureStep::Messages => bounded::MESSAGES.run(transaction, both).await?,
        ErasureStep::Lines => lines::erase(transaction, both).await?,
        ErasureStep::Aside => bounded::ASIDE.run(transaction, both).await?,
        ErasureStep::Answers => bounded::ANSWERS.run(transaction, both).await?,
        ErasureStep::Documents => bounded::DOCUMENTS.run(transaction, both).await?,
        ErasureStep::Drafts => bounded::DRAFTS.run(transaction, both).await?,
        ErasureStep::Credentials => bounded::CREDENTIALS.run(transaction, both).await?,
        ErasureStep::KeyMakers => {
            return names::key_makers(transaction, both, &erasure.place).await;
        }
        ErasureStep::Audit => return names::audit(transaction, both, &erasure.place).await,
    };
    Ok(is_more.then(String::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_comes_once() {
        let mut step = Some(ErasureStep::FIRST);
        for want in ErasureStep::ALL {
            assert_eq!(step, Some(want));
            assert_eq!(ErasureStep::parse(want.name()), Some(want));
            step = want.next();
        }
        assert_eq!(step, None);
    }
}
