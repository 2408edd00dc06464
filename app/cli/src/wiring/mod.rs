//! Wiring: chooses the adapters of a command.

mod adapters;
mod address;
mod encryption;
mod goal;
pub(crate) mod grant_file;
mod grants;
mod hooks;
mod instructions;
mod left_store;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod node;
mod output_schema;
mod own_tools;
mod programs;
mod project_context;
mod prompt_text;
mod provider;
mod provider_scheme;
mod providers;
mod ready_provider;
mod rules;
mod run_locks;
mod sandbox;
mod secret_variables;
#[cfg(feature = "server")]
mod serve;
mod session_context;
mod session_ref;
mod settings;
mod skills;
mod store;
mod tool_scheme;
mod tools;
mod trust;
mod trust_record;
mod user_state;
mod wire;
mod workspace;

use std::sync::Arc;

use windlass_clock::SystemClock;
use windlass_engine::core::{Ceiling, Limits, Settings};
use windlass_engine::ports::{Approver, Hooks, Ports};
use windlass_engine::{Config, Engine, Toolbox};
use windlass_replay::Recorder;

use crate::args::ProgramSharingArgs;
use crate::signals;

pub(crate) use adapters::Adapters;
pub(crate) use goal::with_goal;
pub(crate) use grant_file::GrantEntry;
pub(crate) use grants::{UserGrants, grant_place};
pub(crate) use hooks::hooks;
pub(crate) use own_tools::offered_tools;
pub(crate) use programs::{runtime, runtimes};

pub(crate) use prompt_text::{PromptServers, PromptText};
pub(crate) use provider::{ProviderChoice, list_models, provider_models, require_model};
pub use provider_scheme::{ProviderScheme, ProviderSetup};
pub(crate) use run_locks::{end_abandoned, run_locks};
pub(crate) use sandbox::{confinement, default_permissions, describe as describe_sandbox, sandbox};
pub(crate) use secret_variables::{OWN as SECRET_ARGUMENTS, secret_variables};
#[cfg(feature = "server")]
pub(crate) use serve::{
    ComposedServer, IN_PROCESS_HOST, OwnServer, Reload, compose, compose_own, fresh_token,
};
pub(crate) use session_context::session_context;
pub(crate) use session_ref::{SessionRef, short_id};
pub(crate) use settings::{
    AvailableExtensions, changed_settings, new_settings, permitted_calls, widening,
};
pub(crate) use skills::{
    as_project_file as skill_as_project_file, named_skills, skill_names, untrusted_skills,
    usable_skills,
};
pub use tool_scheme::{ToolScheme, ToolSetup};
pub(crate) use tools::{RuledToolbox, configured};
#[cfg(feature = "server")]
pub(crate) use trust::trusted;
pub(crate) use trust::{TrustAsker, instructions, trustable_files, untrusted_words};
pub(crate) use trust_record::{FileTrust, TrustRecord};
pub(crate) use user_state::state_folder;
pub(crate) use wire::ProviderTransport;
pub(crate) use workspace::{StoreHandle, Workspace};

/// Engine with everything that must live as long.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    /// Server of the demo, if the demo is the provider.
    _demo: Option<windlass_demo::DemoServer>,
    recorder: Option<Arc<Recorder>>,
}

impl Runtime {
    /// Returns a description of missing recordings, if a recording is incomplete.
    pub(crate) fn unrecorded(&self) -> Option<String> {
        self.recorder.as_ref()?.fault()
    }
}

/// Tools and hooks of the user.
pub(crate) struct UserExtensions {
    pub(crate) toolbox: Toolbox,
    pub(crate) hooks: Arc<dyn Hooks>,
}

/// Builds an engine for turns with these settings.
pub(crate) fn build_runtime(
    kept: StoreHandle,
    chosen: ProviderChoice,
    own: UserExtensions,
    approver: Arc<dyn Approver>,
    settings: Settings,
    (ceiling, grants): (Ceiling, UserGrants),
    sharing: ProgramSharingArgs,
) -> Runtime {
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
    // The person at the terminal sets the limits, so the upper bounds equal them. The process
    // itself determines the grace period after a signal.
    let config = sharing.apply(Config::default().with(|it| {
        it.limits = most(&settings.limits);
        it.programs = programs::ceiling(&settings);
    }));
    let engine = Engine::new(ports, config);
    engine.set_ceiling(ceiling);
    engine.set_grants(Arc::new(grants));
    Runtime { engine, settings, _demo: chosen.demo, recorder: chosen.recorder }
}

/// Returns the system's clock.
pub(crate) fn clock() -> SystemClock {
    SystemClock::new()
}

fn most(limits: &Limits) -> Limits {
    settings::ceiling(limits).with(|it| it.grace_ms = signals::TURN_GRACE_MS)
}
