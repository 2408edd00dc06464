//! Send: an input as a presenter hands it over.

#[cfg(doc)]
use windlass_core::Image;
use windlass_core::{ContextPart, Delivery, Scope};

/// An input to send.
#[derive(Debug, Clone)]
pub struct Send {
    /// Who says it.
    pub scope: Scope,
    /// What is said.
    pub text: String,
    /// When it is meant to be heard.
    pub delivery: Delivery,
    /// What the presenter tells the model besides: the instructions of a project, the state of an
    /// editor. A part is shown again only when its text is another one.
    pub context: Vec<ContextPart>,
    /// The images that are shown with it, in order: the bytes of PNG, JPEG, GIF or WebP files, at
    /// most [`Image::MOST`] of at most [`Send::IMAGE_BYTES`] each. They are kept beside the log.
    pub images: Vec<Vec<u8>>,
    /// The caller's own key: sending the same key again changes nothing.
    pub key: Option<String>,
    /// Whether the turn only plans what its tools would do.
    pub dry_run: bool,
}

impl Send {
    /// How many bytes an image may have.
    pub const IMAGE_BYTES: usize = 20 * 1024 * 1024;

    /// Words for a turn of their own, with nothing besides.
    #[must_use]
    pub fn new(scope: Scope, text: impl Into<String>) -> Self {
        Self {
            scope,
            text: text.into(),
            delivery: Delivery::Turn,
            context: Vec::new(),
            images: Vec::new(),
            key: None,
            dry_run: false,
        }
    }
}
