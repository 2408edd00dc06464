//! Holds both dialects to the promises of the provider port.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::sync::Arc;

use windlass_openai::{Api, OpenAi, OpenAiConfig, SseCaps};
use windlass_ports::Provider;
use windlass_testkit::http::Dialect;
use windlass_testkit::provider::suite::{Endpoint, ProviderFixture};

struct Speaks(Api, Dialect);

impl ProviderFixture for Speaks {
    fn dialect(&self) -> Dialect {
        self.1
    }

    fn provider(&self, at: &Endpoint) -> Arc<dyn Provider> {
        let config = OpenAiConfig::new(self.0).with_base_url(&*at.base_url);
        let caps = SseCaps::of(at.most_bytes);
        Arc::new(
            OpenAi::new(&config.with_api_key(&*at.key))
                .unwrap()
                .with_caps(caps),
        )
    }
}

mod chat {
    windlass_testkit::provider_suite!(super::Speaks(super::Api::Chat, super::Dialect::Chat));
}

mod responses {
    windlass_testkit::provider_suite!(super::Speaks(
        super::Api::Responses,
        super::Dialect::Responses
    ));
}
