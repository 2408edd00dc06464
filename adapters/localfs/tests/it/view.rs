//! `view_image` stores the image and names it; what cannot be shown is refused with the remedy.

use std::fs;
use std::sync::Arc;

use serde_json::json;
use windlass_core::{CallId, Image, ImageMedia, Observation, ObservationStatus};
use windlass_ports::{CancelSource, OutputStore, ToolContext};
use windlass_testkit::blobs::HeldBlobs;

use crate::common::{RecordedProgress, World, context_with, session};

/// The head of a PNG file with this size in pixels.
fn png(width: u32, height: u32) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    [&head[..], &width.to_be_bytes(), &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat()
}

async fn view(world: &World, blobs: &HeldBlobs, path: &str, program: bool) -> Observation {
    let progress = Arc::new(RecordedProgress::default());
    let context = ToolContext {
        outputs: OutputStore::new(Arc::new(blobs.clone()), session()),
        program: program.then_some(CallId(1)),
        ..context_with(&CancelSource::new(), 60_000, progress)
    };
    world.call_in("view_image", json!({ "path": path }), context).await
}

#[tokio::test]
async fn an_image_is_stored_and_named() {
    let (world, blobs) = (World::new(), HeldBlobs::new(1 << 20));
    let content = png(640, 480);
    fs::write(world.path("shot.png"), &content).unwrap();
    let seen = view(&world, &blobs, "shot.png", false).await;
    assert_eq!(seen.status, ObservationStatus::Done, "{}", seen.output);
    assert_eq!(seen.output, "[shot.png: image/png, 640 by 480 pixels, 29 bytes]");
    let [Image { media: ImageMedia::Png, sha256, bytes: 29 }] = &*seen.images else {
        panic!("{:?}", seen.images);
    };
    assert_eq!(blobs.bytes(&session(), sha256).unwrap(), content);

    let seen = view(&world, &blobs, "shot.png", true).await;
    assert!(seen.images.is_empty() && seen.output.contains("a program receives text"), "{seen:?}");
}

#[tokio::test]
async fn what_cannot_be_shown_is_refused() {
    let (world, blobs) = (World::new(), HeldBlobs::new(1 << 20));
    fs::write(world.path("a.txt"), "words").unwrap();
    fs::write(world.path("cut.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    fs::write(world.path("wide.png"), png(8_001, 1)).unwrap();
    let large = fs::File::create(world.path("large.png")).unwrap();
    large.set_len(Image::MAX_RESULT_BYTES as u64 + 1).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", world.path("link.png")).unwrap();
    for (path, words) in [
        ("a.txt", "it is no PNG, JPEG, GIF or WebP"),
        ("cut.png", "its size in pixels cannot be read"),
        ("wide.png", "it is 8001 by 1 pixels, and the limit is 8000 a side"),
        ("large.png", "it has 3932161 bytes, and the limit is 3932160"),
        ("link.png", "link.png"),
        ("none.png", "none.png"),
        ("../out.png", "out.png"),
    ] {
        let seen = view(&world, &blobs, path, false).await;
        assert_eq!(seen.status, ObservationStatus::Failed, "{path}: {}", seen.output);
        assert!(seen.output.contains(words) && seen.images.is_empty(), "{path}: {}", seen.output);
    }
    // A full store fails the call, and says so.
    fs::write(world.path("shot.png"), png(1, 1)).unwrap();
    let seen = view(&world, &HeldBlobs::new(8), "shot.png", false).await;
    assert_eq!(seen.status, ObservationStatus::Failed, "{}", seen.output);
    assert!(seen.output.contains("keeps at most 8 bytes"), "{}", seen.output);
}
