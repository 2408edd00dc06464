//! Streaming: prints the text of an answer while the model writes it.

#![allow(clippy::print_stdout, reason = "an example prints")]

use futures_util::StreamExt as _;
use windlass::core::Delta;
use windlass::{Event, LiveKind};

/// Runs the example.
#[tokio::main]
pub(crate) async fn main() -> windlass::Result {
    let windlass = windlass::builder("demo").open().await?;
    let conversation = windlass.new_conversation()?;
    let mut turn = conversation.send("slowly: one two three four five six").await?;
    while let Some(event) = turn.next().await {
        let Event::Live(live) = event else { continue };
        for event in live.iter() {
            if let LiveKind::Delta { delta: Delta::Text { text, .. }, .. } = &event.kind {
                print!("{text}");
            }
        }
    }
    let answer = turn.answer().await?;
    println!("\n{} samples in session {}", answer.usage.samples, answer.session);
    Ok(())
}
