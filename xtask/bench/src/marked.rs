//! A provider that notes what the process has taken each time it is asked: who asks again has paid
//! for one step of a turn, its wire included.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use windlass_core::{FailureKind, RequestRecord, RequestRoute, Retry, StreamEvent};
use windlass_ports::{
    Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream, StreamState,
};

use crate::meter::process_ns;

/// Provider that forwards samples and meters the process before each.
pub(crate) struct Marked {
    inner: Arc<dyn Provider>,
    marks: Mutex<Vec<u64>>,
    /// Counts requests that sent new items only.
    rests: Option<Arc<Mutex<u64>>>,
}

impl Marked {
    /// Wraps a provider and meters the process before each request.
    pub(crate) fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, marks: Mutex::default(), rests: None }
    }

    /// Wraps a provider and counts requests that send new items only.
    pub(crate) fn counting(inner: Arc<dyn Provider>) -> Self {
        let rests = Some(Arc::default());
        Self { rests, ..Self::new(inner) }
    }

    /// Returns the processor time before each request since the last call.
    pub(crate) fn marks(&self) -> Vec<u64> {
        std::mem::take(&mut *self.marks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns how many requests since the last call sent new items only.
    pub(crate) fn rests(&self) -> u64 {
        let take = |rests: &Arc<Mutex<u64>>| {
            std::mem::take(&mut *rests.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.rests.as_ref().map_or(0, take)
    }
}

#[async_trait]
impl Provider for Marked {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> ProviderCapabilities {
        self.inner.capabilities()
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        let mark = process_ns().map_err(|error| {
            let words = format!("{error:#}");
            ProviderError::new(FailureKind::InvalidRequest, Retry::Never, words)
        })?;
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).push(mark);
        let stream = self.inner.sample(request).await?;
        match self.rests.clone() {
            Some(rests) => Ok(Box::new(Seen { stream, rests })),
            None => Ok(stream),
        }
    }
}

/// An answer whose way is noted.
struct Seen {
    stream: Box<dyn SampleStream>,
    rests: Arc<Mutex<u64>>,
}

#[async_trait]
impl SampleStream for Seen {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        self.stream.next(events).await
    }

    fn request_record(&mut self) -> Option<RequestRecord> {
        let asked = self.stream.request_record()?;
        if asked.route == RequestRoute::SocketDelta {
            *self.rests.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        Some(asked)
    }
}
