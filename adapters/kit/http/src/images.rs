//! Images of a conversation, read from the store and encoded for the wire.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::{Image, PromptItem};
use windlass_ports::{BlobErrorKind, BlobReader, ProviderError};

use crate::address::misconfigured;

/// Most bytes of one image to send.
const MOST_BYTES: u64 = 20 * 1024 * 1024;

/// Image encoded in base64. `None` if its bytes are not stored any more, or not here.
pub type EncodedImage = Option<Arc<str>>;

/// Images that a request contains for the first time, by digest.
#[derive(Debug, Clone, Default)]
pub struct EncodedImages(BTreeMap<String, EncodedImage>);

impl EncodedImages {
    /// Reads and encodes the images among `items`.
    ///
    /// # Errors
    /// [`ProviderError`] when a stored image cannot be read or has other bytes than its digest
    /// names.
    pub async fn of(
        items: impl Iterator<Item = &PromptItem>,
        kept: &BlobReader,
    ) -> Result<Self, ProviderError> {
        let mut pictures = BTreeMap::new();
        for image in items.flat_map(PromptItem::images) {
            if !pictures.contains_key(&image.sha256) {
                pictures.insert(image.sha256.clone(), encode_image(image, kept).await?);
            }
        }
        Ok(Self(pictures))
    }

    /// Returns an encoded image.
    #[must_use]
    pub fn get(&self, image: &Image) -> EncodedImage {
        self.0.get(&image.sha256).cloned().flatten()
    }
}

async fn encode_image(image: &Image, kept: &BlobReader) -> Result<EncodedImage, ProviderError> {
    if image.bytes > MOST_BYTES {
        return Ok(None);
    }
    match kept.read(&image.sha256, image.bytes).await {
        Ok(bytes) => {
            use base64::Engine as _;
            let text = base64::engine::general_purpose::STANDARD.encode(bytes);
            Ok(Some(text.into()))
        }
        Err(error) if matches!(error.kind, BlobErrorKind::NotFound | BlobErrorKind::Disabled) => {
            Ok(None)
        }
        Err(error) => Err(misconfigured(format!("reading the image {}: {error}", image.sha256))),
    }
}
