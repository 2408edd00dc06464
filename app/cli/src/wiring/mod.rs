//! Wiring: which adapters a command runs on.

mod place;
mod provider;
mod settings;
mod tools;

use std::sync::Arc;

use windlass::core::{Limits, Settings};
use windlass::ports::{LogStore, Ports};
use windlass::{Config, Engine};
use windlass_clock::SystemClock;

pub(crate) use place::Site;
pub(crate) use provider::{Chosen, choose, reach};
pub(crate) use settings::{changed, fresh};
pub(crate) use tools::toolbox;

/// An engine with what must live as long as it.
pub(crate) struct Rig {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    /// The demo's server, if the demo answers.
    _demo: Option<windlass_demo::Demo>,
}

/// Builds an engine for turns with these settings.
pub(crate) fn rig(
    store: Arc<dyn LogStore>,
    chosen: Chosen,
    toolbox: windlass::Toolbox,
    settings: Settings,
) -> Rig {
    let ports = Ports {
        provider: chosen.port,
        store,
        tools: Arc::new(toolbox),
        clock: Arc::new(clock()),
    };
    // The person at the terminal sets the limits, so the ceiling is as wide as these.
    let config = Config {
        limits: ceiling(&settings.limits),
        ..Config::default()
    };
    Rig {
        engine: Engine::new(ports, config),
        settings,
        _demo: chosen.demo,
    }
}

/// The system's clock.
pub(crate) fn clock() -> SystemClock {
    SystemClock::new()
}

fn ceiling(limits: &Limits) -> Limits {
    Limits {
        samples: limits.samples.max(Limits::default().samples),
        ..Limits::default()
    }
}
