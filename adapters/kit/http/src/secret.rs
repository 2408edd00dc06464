//! Texts that must not be shown.

use serde::Deserialize;

/// A text that must not be shown: it has no `Debug`, no `Display` and no `Serialize`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text so that it is never shown.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text. Whoever asks for it sends it to where it belongs, and nowhere else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}
