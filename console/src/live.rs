//! Parts of pages that are sent again while somebody looks at them: how many at once, and that they end with the console.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, watch};

/// The parts that are looked at, at the same time. Each keeps a connection open.
const MOST: usize = 256;

/// Parts of pages that are looked at.
#[derive(Debug, Clone)]
pub struct LiveParts {
    places: Arc<Semaphore>,
    ended: Arc<watch::Sender<bool>>,
    /// The part that is the same for all who may see it, and since when it is.
    shared: Arc<Mutex<Option<(Instant, Arc<str>)>>>,
}

impl Default for LiveParts {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MOST)),
            ended: Arc::new(watch::Sender::new(false)),
            shared: Arc::default(),
        }
    }
}

/// A place among them. Dropped, it is free again.
#[derive(Debug)]
pub struct LivePlace {
    _permit: OwnedSemaphorePermit,
    ended: watch::Receiver<bool>,
}

impl LiveParts {
    /// A place, if there is one left.
    pub fn enter(&self) -> Option<LivePlace> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(LivePlace {
            _permit: permit,
            ended: self.ended.subscribe(),
        })
    }

    /// How many are looked at.
    pub fn count(&self) -> usize {
        MOST.saturating_sub(self.places.available_permits())
    }

    /// Ends all of them: a console that stops waits for its responses.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }

    /// The part that all see alike: it is made once for those who ask within `age`, and again only by one of them.
    ///
    /// # Errors
    /// Those of making it.
    pub async fn shared<E>(
        &self,
        age: Duration,
        make: impl AsyncFnOnce() -> Result<String, E>,
    ) -> Result<Arc<str>, E> {
        let mut shared = self.shared.lock().await;
        if let Some((at, part)) = &*shared
            && at.elapsed() < age
        {
            return Ok(Arc::clone(part));
        }
        let part: Arc<str> = make().await?.into();
        *shared = Some((Instant::now(), Arc::clone(&part)));
        Ok(part)
    }
}

impl LivePlace {
    /// Waits so long. False: the console ends.
    pub async fn wait(&mut self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => true,
            _ = self.ended.wait_for(|ended| *ended) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn places_are_few_and_come_back() {
        let live = LiveParts::default();
        let places: Vec<_> = (0..MOST).map_while(|_| live.enter()).collect();
        assert_eq!((places.len(), live.count()), (MOST, MOST));
        assert!(live.enter().is_none());
        drop(places);
        assert!(live.count() == 0 && live.enter().is_some());
    }

    #[tokio::test]
    async fn whoever_waits_is_told_of_the_end() {
        let live = LiveParts::default();
        let mut place = live.enter().expect("a place");
        assert!(place.wait(Duration::ZERO).await);
        let waiting = tokio::spawn(async move { place.wait(Duration::from_secs(3600)).await });
        live.end();
        assert!(!waiting.await.expect("it ends"));
        let mut late = live.enter().expect("a place");
        assert!(!late.wait(Duration::from_secs(3600)).await);
    }

    #[tokio::test]
    async fn what_all_see_is_made_once() {
        let live = LiveParts::default();
        let long = Duration::from_secs(3600);
        let make = async |text: &str| Ok::<_, ()>(text.to_owned());
        let first = live.shared(long, async || make("first").await).await;
        let second = live.shared(long, async || make("second").await).await;
        let third = live.shared(Duration::ZERO, async || make("third").await).await;
        let parts = [first, second, third].map(|part| part.expect("a part").to_string());
        assert_eq!(parts, ["first", "first", "third"]);
        let failed = live.shared(Duration::ZERO, async || Err(())).await;
        assert!(failed.is_err());
    }
}
