//! The scopes of tokens: the parts of the API that a program needs, of what its person may do.

use core::fmt;

/// A part of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// Keys.
    Keys,
    /// Usage, spend and requests.
    Usage,
    /// Budgets, and webhooks that tell of them.
    Budgets,
    /// People and teams.
    People,
    /// Tokens of the API.
    Tokens,
    /// The audit.
    Audit,
    /// Documents, drafts and the first steps.
    Documents,
    /// Accounts and their credentials.
    Accounts,
    /// Envoys, and the state of the console.
    Envoys,
    /// Programs on the machines of people.
    Machines,
}

impl Area {
    /// All.
    pub const ALL: [Self; 10] = [
        Self::Keys,
        Self::Usage,
        Self::Budgets,
        Self::People,
        Self::Tokens,
        Self::Audit,
        Self::Documents,
        Self::Accounts,
        Self::Envoys,
        Self::Machines,
    ];

    /// Returns the name, as scopes have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Usage => "usage",
            Self::Budgets => "budgets",
            Self::People => "people",
            Self::Tokens => "tokens",
            Self::Audit => "audit",
            Self::Documents => "documents",
            Self::Accounts => "accounts",
            Self::Envoys => "envoys",
            Self::Machines => "machines",
        }
    }
}

/// A scope: an area, or all, and whether it may be changed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// The area; `None`: all.
    area: Option<Area>,
    /// Whether it may be changed.
    changes: bool,
}

impl Scope {
    /// The scope that somebody needs to see something of an area, or to change it.
    pub const fn of(area: Area, changes: bool) -> Self {
        let area = Some(area);
        Self { area, changes }
    }

    /// Reads `keys:read`, `keys:write` or `all:read`.
    pub fn parse(text: &str) -> Option<Self> {
        let (area, level) = text.split_once(':')?;
        let changes = match level {
            "read" => false,
            "write" => true,
            _ => return None,
        };
        // Whoever may change all has a token without scopes.
        if area == "all" {
            return (!changes).then_some(Self {
                area: None,
                changes,
            });
        }
        let area = Area::ALL.into_iter().find(|known| known.name() == area)?;
        Some(Self::of(area, changes))
    }

    /// Whether it includes another one. Whoever may change something sees it.
    fn includes(self, other: Self) -> bool {
        (self.area.is_none() || self.area == other.area) && (self.changes || !other.changes)
    }

    /// All scopes, in their order.
    pub fn all() -> Vec<Self> {
        let everything = Self {
            area: None,
            changes: false,
        };
        let of_areas = Area::ALL.into_iter().flat_map(|area| {
            let both = [Self::of(area, false), Self::of(area, true)];
            // Nothing changes the past, and nothing is to be seen of machines.
            both.into_iter().filter(move |scope| match area {
                Area::Usage | Area::Audit => !scope.changes,
                Area::Machines => scope.changes,
                _ => true,
            })
        });
        core::iter::once(everything).chain(of_areas).collect()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let area = self.area.map_or("all", Area::name);
        let level = if self.changes { "write" } else { "read" };
        write!(f, "{area}:{level}")
    }
}

/// The scopes of a token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// Reads scopes, each once.
    ///
    /// # Errors
    /// The first that is none.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut scopes = Vec::new();
        for text in texts {
            let scope = Scope::parse(text).ok_or_else(|| text.to_owned())?;
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        Ok(Self(scopes))
    }

    /// Reads scopes as they are stored. What cannot be read allows nothing.
    pub fn stored(text: &str) -> Self {
        Self::parse(text.split(' ').filter(|text| !text.is_empty())).unwrap_or_default()
    }

    /// The scopes as they are stored.
    pub fn to_stored(&self) -> String {
        self.names().join(" ")
    }

    /// The names of the scopes.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(Scope::to_string).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether they include a scope.
    pub fn include(&self, scope: Scope) -> bool {
        self.0.iter().any(|own| own.includes(scope))
    }

    /// Whether they include all of others.
    pub fn include_all(&self, others: &Self) -> bool {
        others.0.iter().all(|other| self.include(*other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_scopes_include_which() {
        for (own, other, want) in [
            ("keys:read", "keys:read", true),
            ("keys:write", "keys:read", true),
            ("keys:read", "keys:write", false),
            ("keys:write", "people:read", false),
            ("all:read", "people:read", true),
            ("all:read", "people:write", false),
            ("people:read", "all:read", false),
        ] {
            let (scopes, other) = (Scopes::stored(own), Scope::parse(other).unwrap());
            assert_eq!(scopes.include(other), want, "{own} and {other}");
        }
        assert!(!Scopes::stored("keys:read nonsense").include(Scope::parse("keys:read").unwrap()));
    }

    #[test]
    fn scopes_are_read_as_they_are_written() {
        for scope in Scope::all() {
            assert_eq!(Scope::parse(&scope.to_string()), Some(scope));
        }
        for text in [
            "",
            "keys",
            "keys:",
            "keys:all",
            "all:write",
            "Keys:read",
            "keys:read ",
        ] {
            assert_eq!(Scope::parse(text), None, "{text}");
        }
        assert_eq!(
            Scopes::stored("usage:read keys:read usage:read").to_stored(),
            "usage:read keys:read"
        );
    }
}
