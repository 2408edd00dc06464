//! Images of results, stored so that a model is shown them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use windlass_core::Image;
use windlass_ports::{OutputStore, image_media, store_image};

/// Images of a result that are stored.
#[derive(Debug, Default)]
pub(crate) struct StoredImages {
    pub(crate) images: Vec<Image>,
    /// Indices of the parts that they are.
    pub(crate) parts: BTreeSet<usize>,
}

/// Stores the images of a result. What is no image that a model takes, is too large, or cannot be stored
/// is left out.
pub(crate) async fn store(result: &CallToolResult, outputs: &OutputStore) -> StoredImages {
    let mut stored = StoredImages::default();
    for (at, block) in result.content.iter().enumerate() {
        if stored.images.len() == Image::MAX_PER_RESULT {
            break;
        }
        let Some(bytes) = base64(block).and_then(|text| STANDARD.decode(text).ok()) else {
            continue;
        };
        let Ok(media) = image_media(&bytes, Image::MAX_RESULT_BYTES) else {
            continue;
        };
        match store_image(outputs, media, &bytes).await {
            Ok(image) => {
                stored.images.push(image);
                stored.parts.insert(at);
            }
            Err(error) => tracing::debug!(%error, "an image of an MCP server is not stored"),
        }
    }
    stored
}

/// Returns the bytes of a part that is an image, in base64.
fn base64(block: &ContentBlock) -> Option<&str> {
    if let ContentBlock::Image(image) = block {
        return Some(&image.data);
    }
    let ContentBlock::Resource(resource) = block else {
        return None;
    };
    let ResourceContents::BlobResourceContents { mime_type, blob, .. } = &resource.resource else {
        return None;
    };
    mime_type.as_deref().filter(|kind| kind.starts_with("image/")).map(|_| blob.as_str())
}
