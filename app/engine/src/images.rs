//! Images of user inputs: validated, and stored as blobs before the log names them.

use windlass_core::{Image, Reject};
use windlass_ports::{BlobError, BlobErrorKind, OutputStore, image_media, store_image};

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
        let media = image_media(bytes, NewInput::IMAGE_BYTES).map_err(|why| wrong(number, why))?;
        checked.push((number, media, bytes));
    }
    let mut named = Vec::with_capacity(checked.len());
    for (number, media, bytes) in checked {
        let image = store_image(keeper, media, bytes).await;
        named.push(image.map_err(|error| wrong(number, words(&error)))?);
    }
    Ok(named)
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
