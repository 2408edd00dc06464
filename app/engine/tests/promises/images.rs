//! Images that users show: kept before the log names them, and handed to the provider.

use std::sync::Arc;

use windlass_engine::core::{Fact, Image, ImageMedia, PromptItem, Reject, TurnOutcome};
use windlass_engine::{NewInput, SendError};
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{ScriptedProvider, say};

use crate::world::{Cast, World, hello};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand a picture";
const GIF: &[u8] = b"GIF89a and a picture";

fn showing(images: &[&[u8]]) -> NewInput {
    hello().with(|it| it.images = images.iter().map(|bytes| bytes.to_vec()).collect())
}

/// A provider that reads each image of its prompt from what it is handed, and says what it found.
fn reads() -> Arc<ScriptedProvider> {
    Arc::new(ScriptedProvider::responding(|request| {
        let images = request.prompt.items.iter().filter_map(|item| match item {
            PromptItem::Image { image } => Some(image.clone()),
            PromptItem::User { .. }
            | PromptItem::Context { .. }
            | PromptItem::Text { .. }
            | PromptItem::Refusal { .. }
            | PromptItem::Reasoning { .. }
            | PromptItem::Call { .. }
            | PromptItem::Result { .. }
            | PromptItem::CallReport { .. }
            | PromptItem::ProgramReport { .. } => None,
        });
        let read = |image: Arc<Image>| {
            let reading = request.blobs.read(&image.sha256, image.bytes);
            match futures_util::FutureExt::now_or_never(reading).unwrap() {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) => format!("{:?}", error.kind),
            }
        };
        say(images.map(read).collect::<Vec<_>>().join(", "))
    }))
}

fn world(blobs: &HeldBlobs) -> (World, Arc<ScriptedProvider>) {
    let provider = reads();
    let cast = Cast { provider: provider.clone(), ..Cast::new([], []).blobs(blobs) };
    (World::of(FaultyStore::new(), cast), provider)
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_an_image_are_there_for_each_process() {
    let (world, provider) = world(&HeldBlobs::new(1 << 20));
    let conversation = world.open("s").await;
    let sent = conversation.send(showing(&[PNG, GIF])).await.unwrap();
    let report = conversation.outcome(sent).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let named = world.picked(|fact| {
        if let Fact::InputQueued(fact) = fact {
            return Some(fact.images.clone());
        }
        None
    });
    let media: Vec<_> = named[0].iter().map(|image| image.media).collect();
    assert_eq!(media, [ImageMedia::Png, ImageMedia::Gif]);
    assert_eq!(named[0][0].bytes, PNG.len() as u64);
    drop(conversation);
    let next = world.next_process();
    let conversation = next.open("s").await;
    let sent = conversation.send(hello()).await.unwrap();
    conversation.outcome(sent).await.unwrap();
    let said: Vec<String> = next.picked(|fact| {
        if let Fact::ItemAdded(fact) = fact {
            return Some(format!("{:?}", fact.item));
        }
        None
    });
    assert_eq!(said.len(), 2);
    for said in said {
        assert!(said.contains("PNG") && said.contains("GIF89a"), "{said}");
    }
    assert_eq!(provider.misses(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_image_or_too_much_is_refused_and_changes_nothing() {
    let (world, _) = world(&HeldBlobs::new(1 << 20));
    let conversation = world.open("s").await;
    let before = world.kinds();
    let large = vec![0xff; NewInput::IMAGE_BYTES + 1];
    for (images, number, why) in [
        (vec![PNG, b"<svg/>"], 2, "no PNG, JPEG, GIF or WebP"),
        (vec![&large[..]], 1, "the limit is 20971520"),
    ] {
        let refused = conversation.send(showing(&images)).await.unwrap_err();
        let SendError::Image { number: at, problem: said } = &refused else {
            panic!("{refused}");
        };
        assert_eq!(*at, number);
        assert!(said.contains(why), "{said}");
    }
    let many = vec![PNG; Image::MAX_PER_INPUT + 1];
    let refused = conversation.send(showing(&many)).await.unwrap_err();
    let limit = Image::MAX_PER_INPUT;
    let images = limit + 1;
    assert!(
        matches!(&refused, SendError::Rejected(reject)
            if *reject == Reject::TooManyImages { images, limit }),
        "{refused}"
    );
    assert_eq!(world.kinds(), before);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_keep_an_image_refuses_the_input() {
    let full = HeldBlobs::new(1 << 20).full_after(4);
    for (blobs, why) in [(full, "full"), (HeldBlobs::new(4), "at most 4 bytes")] {
        let (world, _) = world(&blobs);
        let conversation = world.open("s").await;
        let before = world.kinds();
        let refused = conversation.send(showing(&[PNG])).await.unwrap_err();
        let words = refused.to_string();
        assert!(words.contains("image 1") && words.contains(why), "{words}");
        assert_eq!(world.kinds(), before);
    }
}
