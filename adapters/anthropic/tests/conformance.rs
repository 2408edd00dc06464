//! Holds the provider to the promises of its port.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::sync::Arc;

use windlass_anthropic::{Anthropic, AnthropicConfig, Thinking};
use windlass_http::http_wire;
use windlass_kit_http::SseCaps;
use windlass_ports::Provider;
use windlass_testkit::http::{Dialect, Protocol};
use windlass_testkit::provider::suite::{Endpoint, ProviderFixture};

struct AnthropicFixture;

impl ProviderFixture for AnthropicFixture {
    fn protocol(&self) -> &'static dyn Protocol {
        &Dialect::Messages
    }

    /// It thinks, and takes images and schemas.
    fn model(&self) -> &str {
        "claude-sonnet-4-6"
    }

    fn provider(&self, at: &Endpoint) -> Arc<dyn Provider> {
        let config = AnthropicConfig::new().with_base_url(&*at.base_url);
        // Cases that drop answers ask for the suite's own model, which is none of Anthropic's.
        let mut config = config.with_api_key(&*at.key).with_thinking(Thinking::Adaptive);
        config.web_search = Some(true);
        let anthropic = Anthropic::over(&config, http_wire(&at.base_url).unwrap()).unwrap();
        Arc::new(anthropic.with_caps(SseCaps::of(at.most_bytes)))
    }
}

windlass_testkit::provider_suite!(AnthropicFixture);
