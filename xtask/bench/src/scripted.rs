//! A provider that answers by script in this process, with no wire in between.
//!
//! Whoever asks it again has paid for one step of a turn and for nothing else, so it notes what
//! the process has taken each time it is asked.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use windlass_core::{FailureKind, Retry, StopReason, StreamEvent, Usage};
use windlass_ports::{
    Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream, StreamState,
};

use crate::meter::process_ns;
use crate::script::{Answer, PAYLOAD, Script};

/// Answers one session's samples by a script.
#[derive(Debug)]
pub(crate) struct Scripted {
    script: Script,
    marks: Mutex<Vec<u64>>,
    /// Reports token usage, always the same numbers.
    measures: bool,
}

impl Scripted {
    /// At the beginning of a script.
    pub(crate) fn new(script: Script) -> Self {
        Self { script, marks: Mutex::default(), measures: true }
    }

    /// The same, but it does not say what a request took: the engine counts for itself, and compacts
    /// as the conversation grows.
    pub(crate) fn unmeasured(script: Script) -> Self {
        Self { measures: false, ..Self::new(script) }
    }

    /// Returns the processor time of the process before each request.
    pub(crate) fn marks(&self) -> Vec<u64> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::default().with_tools()
    }

    async fn sample(&self, _: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        let mark = process_ns().map_err(|error| {
            ProviderError::new(FailureKind::InvalidRequest, Retry::Never, format!("{error:#}"))
        })?;
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.script.answer(marks.len());
        marks.push(mark);
        Ok(Box::new(Whole(answer, self.measures)))
    }
}

/// An answer that comes in one piece.
struct Whole(Answer, bool);

#[async_trait]
impl SampleStream for Whole {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        let slot = 0;
        match self.0 {
            Answer::Call(number, bytes) => {
                let (id, name) = (format!("call_{number}"), "echo".to_owned());
                events.push(StreamEvent::CallOpened { slot, id, name });
                let text = match bytes {
                    0 => format!(r#"{{"text":"{PAYLOAD}"}}"#),
                    _ => format!(r#"{{"text":"{PAYLOAD}","bytes":{bytes}}}"#),
                };
                events.push(StreamEvent::CallArguments { slot, text });
            }
            Answer::Words(words) => {
                let word = || StreamEvent::Text { slot, text: " word".to_owned() };
                events.extend(std::iter::repeat_with(word).take(words));
            }
        }
        events.push(StreamEvent::Done { slot, text: None, opaque: None });
        if self.1 {
            events.push(StreamEvent::Usage(Usage {
                input: Some(7),
                output: Some(3),
                ..Usage::default()
            }));
        }
        events.push(StreamEvent::Finished { reason: StopReason::Stop });
        Ok(StreamState::End)
    }
}
