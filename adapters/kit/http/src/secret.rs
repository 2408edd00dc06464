//! Secret texts, which must not be shown.

use serde::Deserialize;

/// Text that must not be shown: it has no `Debug`, no `Display` and no `Serialize`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text so that it is never shown.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text. Use it only to send it to its destination.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}
