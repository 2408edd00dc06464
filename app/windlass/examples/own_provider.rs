//! Own provider: a model that runs in this process.
//!
//! A provider turns one request into a stream of events, and never retries: the engine does. The
//! suite `windlass_testkit::provider_suite` holds a provider over HTTP to all promises of the port.

#![allow(clippy::print_stdout, reason = "an example prints")]

use async_trait::async_trait;
use windlass::core::{PromptItem, StopReason, StreamEvent, Usage};
use windlass::ports::{
    Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream, StreamState,
};

/// Repeats the words of the user, last one first.
pub(crate) struct Backwards;

#[async_trait]
impl Provider for Backwards {
    fn name(&self) -> &str {
        "backwards"
    }

    // It may be offered tools, and calls none.
    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::default().with_tools()
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        let prompts = request.prompt.items.iter().filter_map(|item| {
            let PromptItem::User { text } = item else { return None };
            Some(text.clone())
        });
        let prompt = prompts.last().unwrap_or_default();
        let words = prompt.split_whitespace().map(str::to_owned).collect();
        Ok(Box::new(Words { left: words }))
    }
}

/// An answer, word by word.
struct Words {
    left: Vec<String>,
}

#[async_trait]
impl SampleStream for Words {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        if let Some(word) = self.left.pop() {
            let space = if self.left.is_empty() { "" } else { " " };
            events.push(StreamEvent::Text { slot: 0, text: word + space });
            return Ok(StreamState::More);
        }
        events.push(StreamEvent::Done { slot: 0, text: None, opaque: None });
        events.push(StreamEvent::Usage(Usage { output: Some(1), ..Usage::default() }));
        events.push(StreamEvent::Finished { reason: StopReason::Stop });
        Ok(StreamState::End)
    }
}

#[tokio::main]
async fn main() -> windlass::Result {
    let windlass = windlass::builder("any-model").provider(Backwards).open().await?;
    println!("{}", windlass.run("tools without agents").await?);
    Ok(())
}
