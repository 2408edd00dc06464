//! Identifiers. A session's id is given; every other id is a position in its log.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// Id of a session: 1 to 64 characters of `A-Z a-z 0-9 . _ -`, not starting with `.` or `-`.
///
/// The alphabet is safe in a file name, a URL path segment and a database key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct SessionId(Arc<str>);

/// Error for a text that is no session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a session id: use 1 to 64 characters of A-Z a-z 0-9 . _ -, not starting with . or -")]
pub struct InvalidSessionId;

impl SessionId {
    /// Parses a session id.
    ///
    /// # Errors
    /// [`InvalidSessionId`] when the text is empty, too long, or has another character.
    pub fn new(text: &str) -> Result<Self, InvalidSessionId> {
        let fits = !text.is_empty() && text.len() <= 64 && !text.starts_with(['.', '-']);
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if fits && text.bytes().all(allowed) {
            Ok(Self(Arc::from(text)))
        } else {
            Err(InvalidSessionId)
        }
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SessionId {
    type Error = InvalidSessionId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

// Serialised as text without a copy, since each fact of a log carries the id.
impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

macro_rules! position {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

position! {
    /// Position in a session's log. The first fact has position 1; 0 precedes it.
    Seq
}
position! {
    /// A writer's generation: each claim of a session has a larger one than the last.
    Epoch
}
position! {
    /// A turn, by the position of its `TurnOpened`.
    TurnId
}
position! {
    /// An input, by the position of its `InputQueued`.
    InputId
}
position! {
    /// A call, by the position of its `ItemAdded` or `ProgramCalled`.
    CallId
}

impl Seq {
    /// Position before the first fact.
    pub const ZERO: Self = Self(0);

    /// Returns the next position.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the position `n` after this one.
    #[must_use]
    pub fn plus(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_path_safe() {
        for good in ["a", "s-1", "A.b_c", "0"] {
            assert!(SessionId::new(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", "-rf", "a/b", "a b", "a\0", "ä", long.as_str()] {
            assert!(SessionId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_session_id_gives_back_the_text_it_was_made_of() {
        let id = SessionId::new("s-1.a_B").unwrap();
        assert_eq!(id.as_str(), "s-1.a_B");
        assert_eq!(alloc::format!("{id}"), "s-1.a_B");
        assert_eq!(alloc::format!("{id:?}"), "\"s-1.a_B\"");
        assert_eq!(String::from(id), "s-1.a_B");
    }
}
