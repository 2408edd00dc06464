//! Build: the constructors of an engine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::watch;
use windlass_ports::Ports;
use windlass_ports::sync::Mutex;

use super::{Engine, Inner};
use crate::child_results::ResultDeliveries;
use crate::config::Config;
use crate::grants::GrantBook;
use crate::live::CatchUpTask;
use crate::lookup::LookupCache;
use crate::peers::Peers;
use crate::program::ComputeSlots;
use crate::store_watch::StoreWatch;

impl Engine {
    /// Creates an engine that is the only user of its store.
    #[must_use]
    pub fn new(ports: Ports, config: Config) -> Self {
        Self::with_compute(ports, config, None, ComputeSlots::new(config.programs_at_once))
    }

    /// Creates an engine that shares its store with other nodes.
    #[must_use]
    pub fn with_cluster(ports: Ports, config: Config, peers: Peers) -> Self {
        Self::with_compute(ports, config, Some(peers), ComputeSlots::new(config.programs_at_once))
    }

    /// Creates an engine whose programs share their slots with those of other engines, which
    /// replaces [`Config::programs_at_once`]. `peers` is `None` for the only user of a store.
    #[must_use]
    pub fn with_compute(
        ports: Ports,
        config: Config,
        peers: Option<Peers>,
        compute_slots: ComputeSlots,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                ceiling: watch::Sender::new(None),
                grants: Mutex::new(GrantBook::new(None)),
                ports,
                peers,
                compute_slots,
                config,
                slots: Mutex::default(),
                is_shut_down: AtomicBool::new(false),
                store_watch: StoreWatch::default(),
                lookups: LookupCache::default(),
                deliveries: ResultDeliveries::default(),
                catch_up: CatchUpTask::default(),
                compiled: Mutex::default(),
            }),
        }
    }
}
