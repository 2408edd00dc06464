//! Renamed provider: appears in the log under a name of the user's own.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::core::{RequestRecord, Settings, StreamEvent};
use windlass_engine::ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    StreamState,
};

/// Provider under another name.
pub struct RenamedProvider {
    name: String,
    provider: Arc<dyn Provider>,
}

impl RenamedProvider {
    /// Wraps a provider under this name.
    #[must_use]
    pub fn new(name: &str, provider: Arc<dyn Provider>) -> Self {
        Self { name: name.to_owned(), provider }
    }

    fn renamed(&self, asked: RequestRecord) -> RequestRecord {
        RequestRecord { provider: self.name.clone(), ..asked }
    }
}

#[async_trait]
impl Provider for RenamedProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> ProviderCapabilities {
        self.provider.capabilities()
    }

    fn model(&self, model: &str) -> ModelCapabilities {
        self.provider.model(model)
    }

    fn check_settings(&self, settings: &Settings) -> Result<(), ProviderError> {
        self.provider.check_settings(settings)
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        match self.provider.sample(request).await {
            Ok(mut stream) => Ok(Box::new(RenamedStream {
                asked: stream.request_record().map(|asked| self.renamed(asked)),
                stream,
            })),
            Err(mut error) => {
                let asked = error.details.request.take();
                error.details.request = asked.map(|asked| Box::new(self.renamed(*asked)));
                Err(error)
            }
        }
    }
}

struct RenamedStream {
    asked: Option<RequestRecord>,
    stream: Box<dyn SampleStream>,
}

#[async_trait]
impl SampleStream for RenamedStream {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        self.stream.next(events).await
    }

    fn request_record(&mut self) -> Option<RequestRecord> {
        self.asked.take()
    }
}
