//! Tenant: an engine of its own over a store that it may share.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_engine::core::{Ceiling, Permissions, Settings};
use windlass_engine::ports::{ExternalApprover, Ports, Tenants};
use windlass_engine::{Config, Engine, Peers};
use windlass_localfs::{LocalFileRestorer, ToolSandbox};
use windlass_server::{ServedSessions, Tenant};

use super::TenantPorts;
use super::tenant_settings::{SessionChoices, TenantSettings};
use crate::args::{EscalationMode, RecoverMode, SettingsArgs};
use crate::exit::Failure;
use crate::wiring::goal::with_goal;
use crate::wiring::settings::ceiling;
use crate::wiring::{
    self, Adapters, AvailableExtensions, ProviderTransport, RuledToolbox, ToolSetup, UserGrants,
};

/// Working folder of a tenant's tools.
pub(super) struct TenantWorkspace {
    /// Absolute path.
    pub(super) folder: PathBuf,
    /// Sandbox of the tools' processes.
    pub(super) sandbox: ToolSandbox,
    /// Permissions of its sessions, unless its configuration names others.
    pub(super) permissions: Permissions,
    /// True to give models its `AGENTS.md` files.
    pub(super) agents: bool,
    /// Sessions that are served: all of the tenant's, or those of the folder.
    pub(super) served: ServedSessions,
}

/// Composes a tenant. Clients of the server answer approvals.
pub(super) fn tenant(
    name: &str,
    workspace: TenantWorkspace,
    shape: &SettingsArgs,
    offers: SessionChoices,
    (adapters, kept): (&Adapters, &TenantPorts),
    profile: &dyn Fn(&str) -> Result<ToolSandbox, Failure>,
) -> Result<Tenant, Failure> {
    let chosen = adapters.choose_provider(shape, &ProviderTransport::Network, None)?;
    let locks = wiring::run_locks(&kept.url);
    wiring::end_abandoned(locks.as_ref());
    let RuledToolbox { toolbox, rules, .. } = adapters.toolbox(&ToolSetup {
        workspace: &workspace.folder,
        file: shape.tools.as_deref(),
        sandbox: workspace.sandbox.clone(),
        escalation: shape.escalation.unwrap_or(EscalationMode::Never),
        // Clients that answer questions declare the tool themselves, as the page does.
        answers: false,
        processes: shape.process_limits,
        locks,
        profile,
    })?;
    // Hooks may name any known tool.
    let tools = wiring::offered_tools(&toolbox);
    let known = with_goal(tools.clone());
    let hooks = wiring::hooks(shape.hooks.as_deref(), &known)?;
    let offered =
        AvailableExtensions { tools, hooks: hooks.hooks(), redaction: hooks.redaction(), rules };
    let provider = chosen.port.clone();
    let files = LocalFileRestorer::open(&workspace.folder);
    let files = files.map_err(|error| Failure::usage(error.to_string()))?;
    let (shown, served) = (workspace.folder.display().to_string(), workspace.served);
    let house = TenantSettings::new(shape, offers, chosen, offered, workspace.permissions)?;
    let house = house.with_workspace(workspace).with_any_model(!kept.configured);
    let ports = Ports {
        provider,
        store: kept.store.clone(),
        blobs: kept.blobs.clone(),
        tools: Arc::new(toolbox),
        hooks,
        approver: Arc::new(ExternalApprover),
        clock: Arc::new(wiring::clock()),
        programs: wiring::runtimes(),
    };
    // Without configured tenants the server is the user's own, as `windlass run` is.
    let owner = kept.configured.then_some(name);
    let config = config(house.usual()).with(|it| {
        it.programs = house.max_program_limits();
        it.fork_bytes = kept.fork_bytes;
    });
    let config = kept.sharing.apply(config);
    let peers = kept.cluster.as_ref().map(|(shared, load)| Peers {
        mailbox: shared.mailbox.clone(),
        live_bus: shared.live_bus.clone(),
        tenants: Tenants::One(name.to_owned()),
        load: load.clone(),
    });
    let engine = Engine::with_compute(ports, config, peers, kept.compute_slots.clone());
    let hold_recovered = kept.recover == RecoverMode::Hold;
    engine.set_grants(Arc::new(UserGrants::new(owner, shown.clone(), &kept.url)));
    engine.set_ceiling(Ceiling { hold_recovered, ..Ceiling::of(house.usual()) });
    Ok(Tenant {
        name: name.to_owned(),
        engine,
        store: kept.store.clone(),
        blobs: kept.blobs.clone(),
        workspace: Some(shown),
        files: Some(Arc::new(files)),
        served,
        factory: Arc::new(house),
    })
}

/// Creates the configuration of the engine. The operator sets the limits, so the upper bounds equal
/// them.
fn config(usual: &Settings) -> Config {
    Config::default().with(|it| it.limits = ceiling(&usual.limits))
}
