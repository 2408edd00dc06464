//! The provider, held to the suite of its port.

mod fixtures;

use std::sync::Arc;
use std::time::Duration;

use fixtures::Desk;
use newcomer::provider::DeskProvider;
use windlass::http::http_wire;
use windlass_ports::Provider;
use windlass_testkit::provider::suite::Endpoint;

fn provider(at: &Endpoint) -> Arc<dyn Provider> {
    let wire = http_wire(&at.base_url).unwrap();
    Arc::new(DeskProvider::new(&at.base_url, &at.key, at.most_bytes, wire).unwrap())
}

windlass_testkit::provider_suite!(Desk { provider, patience: Duration::from_secs(60) });
