//! Objects of a body in which keys are compared: the few on the way to members that decide something.
//!
//! They are the outermost object, some of its members, and tools wherever the content has any.

use super::JsonScanner;
use crate::body::BodyError;
use crate::text::Container;

/// The most such objects and arrays open at once. The longest path that the protocols know, to a tool in a
/// namespace and its `svg`, has six.
const MAX_WATCHED: usize = 8;

/// An object whose keys are compared, or an array of such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyScope {
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
    /// `fallbacks` and other lists of models, and each of them.
    Fallback,
    /// `requests` of a batch of protocol C, and each of them.
    Request,
    /// An object that asks for reasoning: `reasoning`, `thinking`, `thinkingConfig`.
    Reasoning,
    /// `image_config`, or `imageConfig` in the generation config of protocol C.
    ImageConfig,
    /// `audio` of Chat Completions.
    Audio,
}

impl KeyScope {
    /// Whether an array of such objects is meant as well.
    fn is_listed(self) -> bool {
        matches!(self, Self::Tool | Self::Fallback | Self::Request)
    }
}

/// Members that have been read in an open object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ScopeMarks(u8);

impl ScopeMarks {
    /// It names a model.
    pub(super) const MODEL: Self = Self(1);
    /// It is a tool that makes images.
    pub(super) const IMAGE_TOOL: Self = Self(2);

    /// Whether this has been read.
    pub(super) fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }
}

/// An open object or array whose keys are compared.
#[derive(Debug, Clone, Copy)]
struct OpenScope {
    scope: KeyScope,
    marks: ScopeMarks,
    depth: u16,
}

/// The open objects and arrays whose keys are compared, outermost first.
#[derive(Debug)]
pub(super) struct OpenScopes {
    scopes: [OpenScope; MAX_WATCHED],
    len: u8,
}

impl Default for OpenScopes {
    fn default() -> Self {
        let none = OpenScope {
            scope: KeyScope::Top,
            marks: ScopeMarks(0),
            depth: 0,
        };
        Self {
            scopes: [none; MAX_WATCHED],
            len: 0,
        }
    }
}

impl OpenScopes {
    /// The innermost.
    fn inner(&self) -> Option<OpenScope> {
        let last = usize::from(self.len).checked_sub(1)?;
        self.scopes.get(last).copied()
    }

    /// Returns the depth of the innermost scope; 0 where none is open.
    pub(super) fn depth(&self) -> u16 {
        self.inner().map_or(0, |inner| inner.depth)
    }

    /// Notes what was read in the innermost.
    pub(super) fn mark(&mut self, mark: ScopeMarks) {
        let last = usize::from(self.len).checked_sub(1);
        if let Some(inner) = last.and_then(|last| self.scopes.get_mut(last)) {
            inner.marks.0 |= mark.0;
        }
    }

    /// Opens one more.
    ///
    /// # Errors
    /// [`BodyError::TooDeep`] where so many are open as no protocol knows.
    fn open(&mut self, scope: KeyScope, depth: u16) -> Result<(), BodyError> {
        let room = self.scopes.get_mut(usize::from(self.len));
        *room.ok_or(BodyError::TooDeep)? = OpenScope {
            scope,
            marks: ScopeMarks::default(),
            depth,
        };
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn close(&mut self) {
        self.len = self.len.saturating_sub(1);
    }
}

impl JsonScanner {
    /// The innermost open object or array, if its keys are compared.
    pub(super) fn scope(&self) -> Option<KeyScope> {
        let inner = self.scopes.inner()?;
        (inner.depth == self.depth()).then_some(inner.scope)
    }

    /// The innermost open object, if its keys are compared.
    pub(super) fn object(&self) -> Option<KeyScope> {
        match self.nesting.inner() {
            Some(Container::Object) => self.scope(),
            _ => None,
        }
    }

    /// Opens an object or array: the value of a key that leads to `scope`, or an item.
    ///
    /// # Errors
    /// [`BodyError::TooDeep`].
    pub(super) fn open(
        &mut self,
        container: Container,
        scope: Option<KeyScope>,
    ) -> Result<(), BodyError> {
        let scopes = match (self.nesting.inner(), container) {
            (None, _) => Some(KeyScope::Top),
            (Some(Container::Object), Container::Object) => scope,
            (Some(Container::Object), Container::Array) => scope.filter(|scope| scope.is_listed()),
            (Some(Container::Array), Container::Object) => self.scope(),
            (Some(Container::Array), Container::Array) => None,
        };
        self.nesting.open(container)?;
        match scopes {
            Some(scope) => self.scopes.open(scope, self.depth()),
            None => Ok(()),
        }
    }

    /// Closes the innermost; gives its scope and what was read in it, if its keys are compared.
    pub(super) fn close_scope(&mut self) -> Option<(KeyScope, ScopeMarks)> {
        let depth = self.depth();
        let inner = self.scopes.inner().filter(|inner| inner.depth == depth);
        if inner.is_some() {
            self.scopes.close();
        }
        let closed = self.nesting.inner();
        self.nesting.close();
        let object = inner.filter(|_| closed == Some(Container::Object));
        object.map(|object| (object.scope, object.marks))
    }
}
