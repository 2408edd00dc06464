//! Images for a model: checked by their first bytes, and stored as blobs before the log names them.

use windlass_core::{Image, ImageMedia};

use crate::blobs::{BlobError, BlobErrorKind, OutputStore};

/// Returns the media type of an image of at most `most` bytes.
///
/// # Errors
/// What is wrong with it and what to do, in words.
pub fn image_media(bytes: &[u8], most: usize) -> Result<ImageMedia, String> {
    let size = bytes.len();
    if size > most {
        return Err(format!("it has {size} bytes, and the limit is {most}: make it smaller"));
    }
    ImageMedia::of(bytes).ok_or_else(|| {
        String::from("it is no PNG, JPEG, GIF or WebP, which models take: convert it")
    })
}

/// Stores an image, and returns the name that the log has for it. Equal bytes are stored once.
///
/// # Errors
/// [`BlobError`] of the store; of the kind `Full` when it keeps only a part.
pub async fn store_image(
    outputs: &OutputStore,
    media: ImageMedia,
    bytes: &[u8],
) -> Result<Image, BlobError> {
    let mut writer = outputs.begin().await?;
    writer.write(bytes).await?;
    let kept = writer.finish().await?;
    if kept.bytes != bytes.len() as u64 {
        let context = format!(
            "the store beside the log keeps at most {} bytes of it: make it smaller",
            kept.bytes
        );
        return Err(BlobError::new(BlobErrorKind::Full, context));
    }
    Ok(Image { media, sha256: kept.sha256, bytes: kept.bytes })
}
