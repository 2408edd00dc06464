//! Response stream: reads one answer from the network and returns its events to the engine.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use windlass_core::{RequestRecord, StreamEvent};
use windlass_ports::{ProviderError, SampleStream, StreamState, WireBody};

use crate::client::OpenResponse;
use crate::decode::{Decoder, Dialect};
use crate::error::ErrorContext;

/// Time and bytes for draining the connection of a finished answer.
const DRAIN: (Duration, usize) = (Duration::from_secs(1), 64 * 1024);

/// Most received chunks that one call handles.
const CHUNKS: usize = 64;

/// Streams one answer.
pub struct ResponseStream<D> {
    /// `None` once the answer is complete or failed.
    body: Option<Box<dyn WireBody>>,
    decoder: Decoder<D>,
    origin: ErrorContext,
    asked: Option<RequestRecord>,
}

impl<D: Dialect> ResponseStream<D> {
    /// Creates the stream of an answer to a request with this record.
    #[must_use]
    pub fn new(
        (body, origin): OpenResponse,
        decoder: Decoder<D>,
        asked: Option<RequestRecord>,
    ) -> Self {
        Self { body: Some(body), decoder, origin, asked }
    }

    /// Drains the connection in the background, so that it can be used again.
    fn release(&mut self) {
        tracing::debug!(ignored = self.decoder.ignored(), "the answer is whole");
        let Some(mut body) = self.body.take() else {
            return;
        };
        if let Some(Ok(None) | Err(_)) = body.chunk().now_or_never() {
            return;
        }
        tokio::spawn(async move {
            let (time, mut room) = DRAIN;
            let drain = async {
                while let Ok(Some(bytes)) = body.chunk().await {
                    match room.checked_sub(bytes.len()) {
                        Some(left) => room = left,
                        None => return,
                    }
                }
            };
            let _ = tokio::time::timeout(time, drain).await;
        });
    }
}

#[async_trait]
impl<D: Dialect> SampleStream for ResponseStream<D> {
    fn request_record(&mut self) -> Option<RequestRecord> {
        self.asked.take()
    }

    /// Appends nothing after a read that contained only keep-alives, which shows that the answer
    /// continues.
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        let Some(body) = &mut self.body else {
            return Ok(StreamState::End);
        };
        let mut read = body.chunk().await;
        let mut taken = 0;
        loop {
            match read {
                Ok(Some(bytes)) => match self.decoder.push(&bytes, events, &self.origin)? {
                    StreamState::More => {}
                    StreamState::End => {
                        self.release();
                        return Ok(StreamState::End);
                    }
                },
                Ok(None) => {
                    self.body = None;
                    self.decoder.end(events, &self.origin)?;
                    return Ok(StreamState::End);
                }
                Err(error) => return Err(self.origin.broken(error)),
            }
            taken += 1;
            // Checked before the next read, since the bytes that were read must be decoded.
            if taken == CHUNKS {
                return Ok(StreamState::More);
            }
            match body.chunk().now_or_never() {
                Some(more) => read = more,
                None => return Ok(StreamState::More),
            }
        }
    }
}
