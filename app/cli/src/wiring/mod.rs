//! Wiring: which adapters a command runs on.

mod agents;
mod answer;
mod built_in;
mod goal;
mod hooks;
mod named;
mod node;
mod place;
mod programs;
mod provider;
mod providers;
mod rules;
#[cfg(feature = "server")]
mod serve;
mod settings;
mod store;
mod tools;
mod wire;

use std::sync::Arc;

use windlass_clock::SystemClock;
use windlass_engine::core::{Limits, Settings};
use windlass_engine::ports::{Approver, Hooks, Ports};
use windlass_engine::{Config, Engine, Toolbox};
use windlass_replay::Recorder;

use crate::signals;

pub(crate) use agents::agents;
pub(crate) use goal::with_goal;
pub(crate) use hooks::hooks;
pub(crate) use place::{Opened, Site, StoreUrl};
pub(crate) use programs::{runtime, runtimes};
pub(crate) use provider::{Chosen, choose, reach};
#[cfg(feature = "server")]
pub(crate) use serve::{Composed, Reload, compose, fresh_token};
pub(crate) use settings::{Offered, changed, fresh, widening};
pub(crate) use tools::toolbox;
pub(crate) use wire::Over;

/// An engine with what must live as long as it.
pub(crate) struct Rig {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    /// The demo's server, if the demo answers.
    _demo: Option<windlass_demo::Demo>,
    recorder: Option<Arc<Recorder>>,
}

impl Rig {
    /// Returns the reason for an incomplete recording, if it is one.
    pub(crate) fn unrecorded(&self) -> Option<String> {
        self.recorder.as_ref()?.fault()
    }
}

/// Tools and hooks of the user.
pub(crate) struct Own {
    pub(crate) toolbox: Toolbox,
    pub(crate) hooks: Arc<dyn Hooks>,
}

/// Builds an engine for turns with these settings.
pub(crate) fn rig(
    kept: Opened,
    chosen: Chosen,
    own: Own,
    approver: Arc<dyn Approver>,
    settings: Settings,
) -> Rig {
    let ports = Ports {
        provider: chosen.port,
        store: kept.store,
        blobs: kept.blobs,
        tools: Arc::new(own.toolbox),
        hooks: own.hooks,
        approver,
        clock: Arc::new(clock()),
        programs: runtimes(),
    };
    // The person at the terminal sets the limits, so the ceiling is as wide as these; how long
    // a signal is waited for is the process's own.
    let config = Config {
        limits: ceiling(&settings.limits),
        ..Config::default()
    };
    Rig {
        engine: Engine::new(ports, config),
        settings,
        _demo: chosen.demo,
        recorder: chosen.recorder,
    }
}

/// Returns the system's clock.
pub(crate) fn clock() -> SystemClock {
    SystemClock::new()
}

fn ceiling(limits: &Limits) -> Limits {
    Limits {
        samples: limits.samples.max(Limits::default().samples),
        grace_ms: signals::TURN_GRACE_MS,
        ..Limits::default()
    }
}
