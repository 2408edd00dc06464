//! Streaming: prints the text of an answer while the model writes it.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::io::Write as _;

#[tokio::main]
async fn main() -> windlass::Result {
    let windlass = windlass::builder("demo").open().await?;
    let conversation = windlass.new_conversation()?;
    let mut turn = conversation.send("slowly: one two three four five six").await?;
    while let Some(text) = turn.next_text().await {
        print!("{text}");
        std::io::stdout().flush()?;
    }
    let answer = turn.answer().await?;
    println!("\n(session {})", answer.session);
    Ok(())
}
