//! Images in inputs and in results of calls. The log holds an image's digest; its bytes are stored outside the log.

use alloc::string::String;

use serde::{Deserialize, Serialize};

/// An image, by digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Media type of the bytes.
    pub media: ImageMedia,
    /// SHA-256 of its bytes, in lower-case hexadecimal: its name in the blob store.
    pub sha256: String,
    /// Number of bytes.
    pub bytes: u64,
}

impl Image {
    /// Most images of one input.
    pub const MAX_PER_INPUT: usize = 16;
    /// Most images of the result of a call.
    pub const MAX_PER_RESULT: usize = 8;
    /// Most bytes of an image of a result: 5 MiB in base64, which every large provider takes.
    pub const MAX_RESULT_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;
}

/// Media types of images that models accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ImageMedia {
    /// The format PNG.
    #[serde(rename = "image/png")]
    Png,
    /// The format JPEG.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// The format GIF; models read its first frame.
    #[serde(rename = "image/gif")]
    Gif,
    /// The format WebP.
    #[serde(rename = "image/webp")]
    Webp,
}

impl ImageMedia {
    /// Returns the media type, for example `image/png`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// Returns the media type of an image by its first bytes; `None` if models do not accept it.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_told_by_how_it_begins() {
        for (bytes, media) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF87a", "image/gif"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\x01\x02\x03\x04WEBPVP8", "image/webp"),
        ] {
            assert_eq!(ImageMedia::of(bytes).map(ImageMedia::as_str), Some(media));
        }
        for bytes in [&b""[..], b"GIF88a", b"<svg/>", b"RIFF\x01\x02\x03\x04WAVE"] {
            assert_eq!(ImageMedia::of(bytes), None);
        }
    }
}
