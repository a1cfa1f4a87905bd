//! Following a spend feed: what is spent of budgets elsewhere, page by page.
//!
//! Only totals tell what a fleet has spent, and only an Envoy's own counters what it has spent in the last second. The feed
//! gives, for each subject with a budget, the fleet's total without the charges that this process has in its counters. A
//! subject comes again whenever that changes; a page replaces what was said of its subjects before. Budgets of members,
//! owners and teams come in it as well, so that a change of one is no publication.
//!
//! | file | what it does |
//! |---|---|
//! | `page` | reads a page |
//! | `sync` | which page is next, and what becomes of one |

mod page;
mod sync;

pub use page::{BudgetSpendDocument, SpendPageDocument, SpendSubjectDocument};
pub use sync::{SpendOutcome, SpendSync};

/// The maximum number of subjects in a page: as few as keys, for the same reason.
pub const PAGE: u32 = 100;
