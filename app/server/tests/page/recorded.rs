//! A scripted provider that records its requests, as providers over HTTP do.

use async_trait::async_trait;
use windlass_server::windlass_engine::core::{RequestRecord, StreamEvent};
use windlass_server::windlass_engine::ports::{
    Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream, StreamState,
};
use windlass_testkit::provider::ScriptedProvider;

/// A provider with a record of each request.
pub(crate) struct RecordedProvider(pub(crate) ScriptedProvider);

struct RecordedStream {
    stream: Box<dyn SampleStream>,
    record: Option<RequestRecord>,
}

#[async_trait]
impl Provider for RecordedProvider {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> ProviderCapabilities {
        self.0.capabilities()
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        let record = RequestRecord {
            provider: self.name().to_owned(),
            model: request.prompt.settings.model.clone(),
            endpoint: "http://127.0.0.1/v1".into(),
            ..RequestRecord::default()
        };
        let stream = self.0.sample(request).await?;
        Ok(Box::new(RecordedStream { stream, record: Some(record) }))
    }
}

#[async_trait]
impl SampleStream for RecordedStream {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        self.stream.next(events).await
    }

    fn request_record(&mut self) -> Option<RequestRecord> {
        self.record.take()
    }
}
