//! A provider under a name of the user's own: what the log says of it is that name.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::core::{Asked, StreamEvent};
use windlass_engine::ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    Streaming,
};

/// A provider under another name.
pub(super) struct Named {
    name: String,
    provider: Arc<dyn Provider>,
}

impl Named {
    pub(super) fn new(name: &str, provider: Arc<dyn Provider>) -> Self {
        Self {
            name: name.to_owned(),
            provider,
        }
    }

    fn asked(&self, asked: Asked) -> Asked {
        Asked {
            provider: self.name.clone(),
            ..asked
        }
    }
}

#[async_trait]
impl Provider for Named {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> ProviderCapabilities {
        self.provider.capabilities()
    }

    fn model(&self, model: &str) -> ModelCapabilities {
        self.provider.model(model)
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        match self.provider.sample(request).await {
            Ok(mut stream) => Ok(Box::new(Stream {
                asked: stream.asked().map(|asked| self.asked(asked)),
                stream,
            })),
            Err(mut error) => {
                let asked = error.details.asked.take();
                error.details.asked = asked.map(|asked| Box::new(self.asked(*asked)));
                Err(error)
            }
        }
    }
}

struct Stream {
    asked: Option<Asked>,
    stream: Box<dyn SampleStream>,
}

#[async_trait]
impl SampleStream for Stream {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<Streaming, ProviderError> {
        self.stream.next(events).await
    }

    fn asked(&mut self) -> Option<Asked> {
        self.asked.take()
    }
}
