//! Images of user inputs: validated, and stored as blobs before the log names them.

use windlass_core::{Image, ImageMedia, Reject};
use windlass_ports::{BlobError, BlobErrorKind, OutputStore};

use crate::error::SendError;
use crate::session::NewInput;

/// Stores the images of an input, and returns the names that the log will have. Equal bytes are
/// stored once. Images of an input that is then rejected stay stored without a name in the log.
pub(crate) async fn store_images(
    keeper: &OutputStore,
    images: &[Vec<u8>],
) -> Result<Vec<Image>, SendError> {
    if images.len() > Image::MAX_PER_INPUT {
        return Err(SendError::Rejected(Reject::TooManyImages {
            images: images.len(),
            limit: Image::MAX_PER_INPUT,
        }));
    }
    let wrong = |number, problem: String| SendError::Image { number, problem };
    let mut checked = Vec::with_capacity(images.len());
    for (number, bytes) in (1..).zip(images) {
        let media = media(bytes).map_err(|why| wrong(number, why))?;
        checked.push((number, media, bytes));
    }
    let mut named = Vec::with_capacity(checked.len());
    for (number, media, bytes) in checked {
        let image = store_image(keeper, media, bytes).await;
        named.push(image.map_err(|error| wrong(number, words(&error)))?);
    }
    Ok(named)
}

fn media(bytes: &[u8]) -> Result<ImageMedia, String> {
    let (size, most) = (bytes.len(), NewInput::IMAGE_BYTES);
    if size > most {
        return Err(format!("it has {size} bytes, and the limit is {most}: make it smaller"));
    }
    ImageMedia::of(bytes).ok_or_else(|| {
        String::from("it is no PNG, JPEG, GIF or WebP, which models take: convert it")
    })
}

async fn store_image(
    keeper: &OutputStore,
    media: ImageMedia,
    bytes: &[u8],
) -> Result<Image, BlobError> {
    let mut writer = keeper.begin().await?;
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

fn words(error: &BlobError) -> String {
    match error.kind {
        BlobErrorKind::Disabled => String::from(
            "nothing is kept beside the log, and an image must be: set the port `blobs`",
        ),
        BlobErrorKind::Full
        | BlobErrorKind::NotFound
        | BlobErrorKind::Corrupt
        | BlobErrorKind::Io => error.to_string(),
    }
}
