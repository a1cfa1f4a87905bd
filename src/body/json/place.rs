//! Where in a body the keys are compared: the few objects on the way to what decides something.
//!
//! They are the outermost object, some of its members, and tools wherever the content has any.

use super::JsonScanner;
use crate::body::BodyError;
use crate::body::nesting::Container;

/// How many watched objects and arrays may be open at once. The longest way that the protocols know, to a tool in a
/// namespace and its `svg`, has six.
const MAX_WATCHED: usize = 8;

/// An object whose keys are compared, or an array of such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The outermost object.
    Top,
    /// The value of `stream_options`.
    StreamOptions,
    /// A value of `generationConfig`.
    GenerationConfig,
    /// `tools`, and each of them.
    Tool,
    /// An object that runs the model that it names: `svg`, `moderation`.
    Runner,
    /// `fallbacks` of Messages, and each of them.
    Fallback,
    /// `requests` of a batch of protocol C, and each of them.
    Request,
}

impl Place {
    /// Whether an array of such objects is meant as well.
    fn is_listed(self) -> bool {
        matches!(self, Self::Tool | Self::Fallback | Self::Request)
    }
}

/// The watched objects and arrays that are open, outermost first.
#[derive(Debug)]
pub(super) struct Watched {
    /// Each with how deep it is.
    places: [(Place, u16); MAX_WATCHED],
    len: u8,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            places: [(Place::Top, 0); MAX_WATCHED],
            len: 0,
        }
    }
}

impl Watched {
    /// The innermost, and how deep it is.
    fn inner(&self) -> Option<(Place, u16)> {
        let last = usize::from(self.len).checked_sub(1)?;
        self.places.get(last).copied()
    }

    /// How deep the innermost is; 0 where nothing is open.
    pub(super) fn depth(&self) -> u16 {
        self.inner().map_or(0, |(_, depth)| depth)
    }

    /// Opens one more.
    ///
    /// # Errors
    /// [`BodyError::TooDeep`] where so many are open as no protocol knows.
    fn open(&mut self, place: Place, depth: u16) -> Result<(), BodyError> {
        let room = self.places.get_mut(usize::from(self.len));
        *room.ok_or(BodyError::TooDeep)? = (place, depth);
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn close(&mut self) {
        self.len = self.len.saturating_sub(1);
    }
}

impl JsonScanner {
    /// The innermost open object or array, if it is watched.
    pub(super) fn place(&self) -> Option<Place> {
        let (place, depth) = self.watched.inner()?;
        (depth == self.depth()).then_some(place)
    }

    /// The innermost open object, if its keys are compared.
    pub(super) fn object(&self) -> Option<Place> {
        match self.nesting.inner() {
            Some(Container::Object) => self.place(),
            _ => None,
        }
    }

    /// Opens an object or array: the value of a key that leads to `place`, or an item.
    ///
    /// # Errors
    /// [`BodyError::TooDeep`].
    pub(super) fn open(
        &mut self,
        container: Container,
        place: Option<Place>,
    ) -> Result<(), BodyError> {
        let watched = match (self.nesting.inner(), container) {
            (None, _) => Some(Place::Top),
            (Some(Container::Object), Container::Object) => place,
            (Some(Container::Object), Container::Array) => place.filter(|place| place.is_listed()),
            (Some(Container::Array), Container::Object) => self.place(),
            (Some(Container::Array), Container::Array) => None,
        };
        self.nesting.open(container)?;
        match watched {
            Some(place) => self.watched.open(place, self.depth()),
            None => Ok(()),
        }
    }

    /// Closes the innermost; gives its place, if it was a watched object.
    pub(super) fn close_watched(&mut self) -> Option<Place> {
        let closed = self.object();
        if self.place().is_some() {
            self.watched.close();
        }
        self.nesting.close();
        closed
    }
}
