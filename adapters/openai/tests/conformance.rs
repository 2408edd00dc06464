//! Holds both dialects to the promises of the provider port.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::sync::Arc;

use windlass_http::http_wire;
use windlass_kit_http::SseCaps;
use windlass_openai::{Api, Models, OpenAi, OpenAiConfig};
use windlass_ports::Provider;
use windlass_testkit::http::{Dialect, Protocol};
use windlass_testkit::provider::suite::{Endpoint, ProviderFixture};

/// A model that searches in both protocols.
const SEARCHES: &str = r#"
[[model]]
name = "gpt-5"
parallel_calls = true
reasoning = true
images = true
structured_output = true
web_search = ["openai", "openai-chat"]
"#;

struct OpenAiFixture(Api, &'static Dialect);

impl ProviderFixture for OpenAiFixture {
    fn protocol(&self) -> &'static dyn Protocol {
        self.1
    }

    /// It takes images and schemas.
    fn model(&self) -> &str {
        "gpt-5"
    }

    fn provider(&self, at: &Endpoint) -> Arc<dyn Provider> {
        let config = OpenAiConfig::new(self.0).with_base_url(&*at.base_url);
        let models = Models::extended(SEARCHES).unwrap();
        let mut config = config.with_api_key(&*at.key).with_models(models);
        config.quirks = serde_json::from_str(r#"{"web_search":"both"}"#).unwrap();
        let openai = OpenAi::over(&config, http_wire(&at.base_url).unwrap()).unwrap();
        Arc::new(openai.with_caps(SseCaps::of(at.most_bytes)))
    }
}

#[rustfmt::skip]
mod chat { use super::*; windlass_testkit::provider_suite!(OpenAiFixture(Api::Chat, &Dialect::Chat)); }
#[rustfmt::skip]
mod responses { use super::*; windlass_testkit::provider_suite!(OpenAiFixture(Api::Responses, &Dialect::Responses)); }
