//! `view_image`: an image file, for a model that sees images.

use std::io::Read as _;

use serde::Deserialize;
use windlass_core::{Image, ImageMedia, Observation, ObservationStatus};
use windlass_ports::image_media;

use super::{FileToolContext, parse};
use crate::fault::CallFailure;
use crate::open;
use crate::root::MissingFolders;

/// Largest image, in bytes.
const MAX_BYTES: usize = Image::MAX_RESULT_BYTES;
/// Most pixels of a side. Providers refuse larger images.
const MAX_SIDE: usize = 8_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewArguments {
    path: String,
}

/// Image that was read.
pub(crate) struct ViewedImage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) media: ImageMedia,
    /// What it is, in words.
    words: String,
}

impl ViewedImage {
    /// Returns what the model is told beside the image.
    pub(crate) fn words(&self) -> String {
        format!("[{}]", self.words)
    }

    /// The observation of a caller that cannot be shown the image, for this reason.
    pub(crate) fn not_shown(&self, why: &str) -> Observation {
        let words = format!("[{}; the image itself is not shown: {why}]", self.words);
        Observation::new(ObservationStatus::Done, words)
    }
}

/// Reads the image that a call names.
pub(crate) fn read(
    arguments: &str,
    bench: &FileToolContext<'_>,
) -> Result<ViewedImage, CallFailure> {
    bench.stop.check()?;
    let ViewArguments { path } = parse(arguments)?;
    let place = bench.root.resolve(&path, MissingFolders::Refuse)?;
    let (file, stat) = open::file(&place)?;
    let refused = |why: &str| CallFailure::Message(format!("cannot show `{path}`: {why}"));
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if size > MAX_BYTES {
        return Err(refused(&format!(
            "it has {size} bytes, and the limit is {MAX_BYTES}: make it smaller"
        )));
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| refused(&error.to_string()))?;
    let media = image_media(&bytes, MAX_BYTES).map_err(|why| refused(&why))?;
    let side = imagesize::blob_size(&bytes);
    let side = side.map_err(|_| refused("its size in pixels cannot be read: it is damaged"))?;
    if side.width.max(side.height) > MAX_SIDE {
        return Err(refused(&format!(
            "it is {} by {} pixels, and the limit is {MAX_SIDE} a side: make it smaller",
            side.width, side.height
        )));
    }
    let (kind, count) = (media.as_str(), bytes.len());
    let words = format!("{path}: {kind}, {} by {} pixels, {count} bytes", side.width, side.height);
    Ok(ViewedImage { bytes, media, words })
}
