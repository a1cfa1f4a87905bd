//! Parts of pages that are sent again while somebody looks at them: how many at once, and that they end with the console.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, watch};

use crate::language::Language;

/// The parts that are looked at, at the same time. Each keeps a connection open.
const MOST: usize = 256;

/// The interval between looks at a part, unless it is set otherwise.
const EVERY: Duration = Duration::from_secs(5);

/// A part that all see alike, and when it was made.
type SharedPart = (Instant, Arc<str>);

/// The name of such a part, and the tag of its language.
type SharedName = (&'static str, &'static str);

/// A place among them. Dropped, it is free again.
#[derive(Debug)]
pub struct LivePlace {
    _permit: OwnedSemaphorePermit,
    every: Duration,
    ended: watch::Receiver<bool>,
}

/// Parts of pages that are looked at.
#[derive(Debug, Clone)]
pub struct LiveParts {
    every: Duration,
    places: Arc<Semaphore>,
    ended: Arc<watch::Sender<bool>>,
    /// The parts that are the same for all who may see them, by name, and since when each is.
    shared: Arc<Mutex<BTreeMap<SharedName, SharedPart>>>,
}

impl Default for LiveParts {
    fn default() -> Self {
        Self::new(EVERY)
    }
}

impl LiveParts {
    /// Parts that are looked at so often.
    pub fn new(every: Duration) -> Self {
        Self {
            every,
            places: Arc::new(Semaphore::new(MOST)),
            ended: Arc::new(watch::Sender::new(false)),
            shared: Arc::default(),
        }
    }

    /// A place, if there is one left.
    pub fn enter(&self) -> Option<LivePlace> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(LivePlace {
            _permit: permit,
            every: self.every,
            ended: self.ended.subscribe(),
        })
    }

    /// Returns the number of parts that are looked at.
    pub fn count(&self) -> usize {
        MOST.saturating_sub(self.places.available_permits())
    }

    /// Ends all of them: a console that stops waits for its responses.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }

    /// The part of a name, which all see alike: those who ask at the same time get the same one, as old as they look at it at most.
    ///
    /// # Errors
    /// Those of making it.
    pub async fn shared<E>(
        &self,
        name: &'static str,
        make: impl AsyncFnOnce() -> Result<String, E>,
    ) -> Result<Arc<str>, E> {
        let name = (name, Language::current().tag());
        let mut shared = self.shared.lock().await;
        if let Some((at, part)) = shared.get(&name)
            && at.elapsed() < self.every
        {
            return Ok(Arc::clone(part));
        }
        let part: Arc<str> = make().await?.into();
        shared.insert(name, (Instant::now(), Arc::clone(&part)));
        Ok(part)
    }
}

impl LivePlace {
    /// Waits until it is time to look again. False: the console ends.
    pub async fn wait(&mut self) -> bool {
        tokio::select! {
            () = tokio::time::sleep(self.every) => true,
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
        let soon = LiveParts::new(Duration::ZERO);
        assert!(soon.enter().expect("a place").wait().await);
        let late = LiveParts::new(Duration::from_secs(3600));
        let mut place = late.enter().expect("a place");
        let waiting = tokio::spawn(async move { place.wait().await });
        late.end();
        assert!(!waiting.await.expect("it ends"));
        assert!(!late.enter().expect("a place").wait().await);
    }

    #[tokio::test]
    async fn each_language_has_its_own() {
        let live = LiveParts::default();
        let english = live.shared("part", async || Ok::<_, ()>("English".to_owned()));
        let english = english.await.expect("a part");
        let chinese = live.shared("part", async || Ok::<_, ()>("Chinese".to_owned()));
        let language = Language::parse("zh").expect("a language");
        let chinese = language.scope(String::new(), chinese).await;
        assert_eq!(english.as_ref(), "English");
        assert_eq!(chinese.expect("a part").as_ref(), "Chinese");
    }

    #[tokio::test]
    async fn what_all_see_is_made_once() {
        for (case, every, want) in [
            ("at once", Duration::from_secs(3600), ["first", "first"]),
            ("later", Duration::ZERO, ["first", "second"]),
        ] {
            let live = LiveParts::new(every);
            let first = live
                .shared("part", async || Ok::<_, ()>("first".to_owned()))
                .await;
            let second = live
                .shared("part", async || Ok::<_, ()>("second".to_owned()))
                .await;
            let parts = [first, second].map(|part| part.expect("a part").to_string());
            assert_eq!(parts, want, "{case}");
        }
        let live = LiveParts::default();
        let other = live.shared("other", async || Ok::<_, ()>("other".to_owned()));
        assert_eq!(other.await.expect("a part").as_ref(), "other");
        assert!(live.shared("part", async || Err(())).await.is_err());
        let again = live
            .shared("part", async || Ok::<_, ()>("again".to_owned()))
            .await;
        assert_eq!(again.expect("a part").as_ref(), "again");
    }
}
