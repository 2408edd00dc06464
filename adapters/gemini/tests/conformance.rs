//! Holds the provider to the promises of its port, with models whose calls have ids and without.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::sync::Arc;

use windlass_gemini::{Gemini, GeminiConfig};
use windlass_http::http_wire;
use windlass_kit_http::SseCaps;
use windlass_ports::Provider;
use windlass_testkit::http::{GeminiApi, Protocol};
use windlass_testkit::provider::suite::{Endpoint, ProviderFixture};

struct GeminiFixture(&'static GeminiApi, &'static str);

impl ProviderFixture for GeminiFixture {
    fn protocol(&self) -> &'static dyn Protocol {
        self.0
    }

    fn model(&self) -> &str {
        self.1
    }

    fn provider(&self, at: &Endpoint) -> Arc<dyn Provider> {
        let config = GeminiConfig::new().with_base_url(&*at.base_url).with_api_key(&*at.key);
        let gemini = Gemini::over(&config, http_wire(&at.base_url).unwrap()).unwrap();
        Arc::new(gemini.with_caps(SseCaps::of(at.most_bytes)))
    }
}

#[rustfmt::skip]
mod without_ids { use super::*; windlass_testkit::provider_suite!(GeminiFixture(&GeminiApi::WITHOUT_IDS, "gemini-2.5-pro")); }
#[rustfmt::skip]
mod with_ids { use super::*; windlass_testkit::provider_suite!(GeminiFixture(&GeminiApi::WITH_IDS, "gemini-3-pro")); }
