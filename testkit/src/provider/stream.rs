//! A scripted answer as it streams.

use std::collections::VecDeque;
use std::future::pending;

use async_trait::async_trait;
use windlass_core::{FailureKind, Retry, StreamEvent};
use windlass_ports::{ProviderError, SampleStream, StreamState};

use super::step::Beat;
use super::{Ended, Ending};

pub(super) struct ScriptedStream {
    beats: VecDeque<Beat>,
    ending: Ending,
}

impl ScriptedStream {
    pub(super) fn new(beats: VecDeque<Beat>, ending: Ending) -> Self {
        Self { beats, ending }
    }
}

#[async_trait]
impl SampleStream for ScriptedStream {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        // A beat is taken only when it is over, so that a caller may drop this and ask again.
        while let Some(beat) = self.beats.front() {
            match beat {
                Beat::Gate(gate) => gate.pass().await,
                Beat::Stall => pending().await,
                Beat::Events(batch) => {
                    let whole = batch.iter().any(|e| matches!(e, StreamEvent::Finished { .. }));
                    events.extend(batch.iter().cloned());
                    self.beats.pop_front();
                    if whole {
                        self.ending.set(Ended::Whole);
                        return Ok(StreamState::End);
                    }
                    return Ok(StreamState::More);
                }
                Beat::Fail(failure) => {
                    self.ending.set(Ended::Failed);
                    return Err(failure.clone().into());
                }
            }
            self.beats.pop_front();
        }
        self.ending.set(Ended::Failed);
        Err(ProviderError::new(
            FailureKind::Truncated,
            Retry::Soon,
            "the scripted stream ended without its terminal event",
        ))
    }
}
