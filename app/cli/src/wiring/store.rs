//! Live events over NATS, for stores without a channel of their own.

use std::sync::Arc;

use windlass_engine::ports::LiveBus;

use crate::exit::Failure;

/// Rejects a URL that is unusable for live events.
#[cfg(all(feature = "nats", feature = "server"))]
pub(super) fn check_live(url: &str) -> Result<(), Failure> {
    live(url).map(|_| ())
}

/// Connects to the servers for live events.
#[cfg(feature = "nats")]
pub(super) async fn connect_live_bus(url: &str) -> Result<Arc<dyn LiveBus>, Failure> {
    Ok(Arc::new(windlass_nats::NatsLiveBus::connect(&live(url)?).await?))
}

#[cfg(feature = "nats")]
fn live(url: &str) -> Result<windlass_nats::NatsConfig, Failure> {
    windlass_nats::NatsConfig::parse(url).map_err(|error| {
        Failure::usage(format!("cannot use the servers of live events (live): {error}"))
    })
}

/// Rejects every URL: live events need NATS.
#[cfg(all(not(feature = "nats"), feature = "server"))]
pub(super) fn check_live(_url: &str) -> Result<(), Failure> {
    Err(Failure::not_built("live events over NATS", "nats"))
}

/// Rejects every URL: live events need NATS.
#[cfg(not(feature = "nats"))]
pub(super) async fn connect_live_bus(_url: &str) -> Result<Arc<dyn LiveBus>, Failure> {
    Err(Failure::not_built("live events over NATS", "nats"))
}
