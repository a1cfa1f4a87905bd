//! What is served, and its paths.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use trilane_console::feed::PageError;

use super::document::Shelf;
use super::feed::Feed;
use crate::tell::Teller;

/// The most pages in memory, each of about 3 MB at most. Further readers wait.
const PAGES: usize = 16;

/// A page's share of the memory, released when dropped.
pub type Busy = OwnedSemaphorePermit;

/// What is served, each with its path.
#[derive(Debug)]
pub struct ServedPaths {
    /// The document.
    pub document: Option<(String, Arc<Shelf>)>,
    /// The feed.
    pub feed: Option<(String, Arc<Feed>)>,
    /// What is spent of budgets.
    pub spend: Option<(String, QueryAnswer)>,
    teller: Teller,
    pages: Arc<Semaphore>,
    /// The last reported problem of the feed, while it lasts.
    told: Mutex<Option<String>>,
}

type AnswerFn = dyn Fn(&str) -> Result<Vec<u8>, PageError> + Send + Sync;

/// What answers queries with JSON. It may wait for a disk.
#[derive(Clone)]
pub struct QueryAnswer(Arc<AnswerFn>);

impl QueryAnswer {
    /// This answers them.
    pub fn new(
        answer: impl Fn(&str) -> Result<Vec<u8>, PageError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(answer))
    }

    /// The answer to a query.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn ask(&self, query: &str) -> Result<Vec<u8>, PageError> {
        let (answer, query) = (Arc::clone(&self.0), query.to_owned());
        let answered = spawn_blocking(move || answer(&query)).await;
        answered.unwrap_or_else(|_| Err(PageError::Unready("it is about to end".to_owned())))
    }
}

impl core::fmt::Debug for QueryAnswer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("QueryAnswer(..)")
    }
}

impl ServedPaths {
    /// A site with these.
    pub fn new(
        document: Option<(String, Arc<Shelf>)>,
        feed: Option<(String, Arc<Feed>)>,
        teller: Teller,
    ) -> Self {
        Self {
            document,
            feed,
            spend: None,
            teller,
            pages: Arc::new(Semaphore::new(PAGES)),
            told: Mutex::default(),
        }
    }

    /// Waits until there is room for another page.
    pub async fn busy(&self) -> Option<Busy> {
        Arc::clone(&self.pages).acquire_owned().await.ok()
    }

    /// Queries the feed on a thread of its own, because disks may be slow. A problem is reported once while it lasts.
    pub async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        what: impl FnOnce(&Feed) -> Result<T, PageError> + Send + 'static,
    ) -> Result<T, PageError> {
        let unready = |text: &str| Err(PageError::Unready(text.to_owned()));
        let Some((_, feed)) = &self.feed else {
            return unready("there is no feed");
        };
        let feed = Arc::clone(feed);
        let answer = spawn_blocking(move || what(&feed)).await;
        let answer = answer.unwrap_or_else(|_| unready("it is about to end"));
        self.note(answer.as_ref().err());
        answer
    }

    /// Reports a new problem.
    pub fn note(&self, error: Option<&PageError>) {
        let trouble = match error {
            Some(PageError::Unready(problem)) => Some(problem),
            Some(PageError::Gone(_)) | None => None,
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.as_ref() != trouble {
            if let Some(problem) = trouble {
                self.teller.trouble(&format!(
                    "{problem}; the feed answers 503 until this is over"
                ));
            }
            *told = trouble.cloned();
        }
    }
}
