//! Runtime of a turn: the engine with its adapters, and the settings that the command asks for.

use std::sync::Arc;

use windlass_engine::core::{Session, Settings};

use super::turn::TurnTask;
use crate::approver::{Terminal, TerminalApprover};
use crate::args::{EscalationMode, SettingsArgs};
use crate::exit::Failure;
use crate::present::{mode_name, permissions_name};
use crate::wiring::{
    self, AvailableExtensions, PromptServers, ProviderTransport, RuledToolbox, Runtime,
    StoreHandle, ToolSetup, UserExtensions, UserGrants, Workspace,
};

/// Runtime of a turn, with what the command says and asks about it.
pub(super) struct TurnRuntime {
    pub(super) rig: Runtime,
    pub(super) approver: Arc<TerminalApprover>,
    pub(super) servers: PromptServers,
    /// Sandbox of its tools, in words.
    pub(super) confinement: String,
}

/// Builds the runtime of a turn of a session, which the log may have.
pub(super) async fn turn_runtime(
    task: &TurnTask<'_>,
    site: &Workspace,
    kept: StoreHandle,
    recorded: Option<&Session>,
) -> Result<TurnRuntime, Failure> {
    let settings = recorded.map(|session| &*session.settings);
    let shape = &task.settings.for_session(settings);
    let usual = &SettingsArgs {
        // Whether a session plans or builds is its own affair.
        mode: shape.mode,
        ..task.settings.for_session(None)
    };
    let over = ProviderTransport::new(&task.recording, task.resumes())?;
    let chosen = task.adapters.choose_provider(shape, &over, settings)?;
    wiring::require_model(shape, &chosen, settings).await?;
    let profile = shape.sandbox.profile.as_deref();
    let sandbox = wiring::sandbox(profile, site, &site.workspace, &[])?;
    let confinement = match task.settings.json {
        true => String::new(),
        false => wiring::confinement(&sandbox),
    };
    let permissions = wiring::default_permissions(&sandbox, profile, usual.permissions)?;
    let permissions = usual.permissions.unwrap_or(permissions);
    // Without a terminal nobody could be asked.
    let escalation = shape.escalation.unwrap_or(match Terminal::exists() {
        true => EscalationMode::Ask,
        false => EscalationMode::Never,
    });
    let locks = wiring::run_locks(&site.store);
    wiring::end_abandoned(locks.as_ref());
    let RuledToolbox { toolbox, rules, servers } = task.adapters.toolbox(&ToolSetup {
        workspace: &site.workspace,
        file: shape.tools.as_deref(),
        sandbox,
        escalation,
        answers: true,
        processes: shape.process_limits,
        locks,
        profile: &|name| wiring::sandbox(Some(name), site, &site.workspace, &[]),
    })?;
    // Hooks may name any known tool, since the offered tools change.
    let known = wiring::with_goal(wiring::offered_tools(&toolbox));
    let hooks = wiring::hooks(shape.hooks.as_deref(), &known)?;
    let there = match has_goal(task, recorded) {
        true => known,
        false => wiring::offered_tools(&toolbox),
    };
    let of_file = recorded.map_or(&[][..], |_| task.settings.usual.rules());
    let offered = AvailableExtensions {
        // A child session has no more tools than its parent granted.
        tools: match recorded {
            Some(session) => session.offered_tools(there),
            None => there,
        },
        hooks: hooks.hooks(),
        redaction: hooks.redaction(),
        rules: [rules.as_slice(), of_file].concat(),
    };
    let ceiling = wiring::permitted_calls(usual, &offered, permissions)?;
    let own = UserExtensions { toolbox, hooks };
    let settings = match settings {
        None => wiring::new_settings(shape, &chosen, offered, permissions)?,
        Some(recorded) => {
            let mut settings =
                wiring::changed_settings(recorded, shape, &chosen, offered, permissions)?;
            settings.retain_client_tools(recorded);
            settings
        }
    };
    let servers = servers.for_model(chosen.port.model(&settings.model));
    // An open approval belongs to the open turn.
    let asks = recorded.and_then(Session::turn);
    let posture = posture(asks.map_or(&settings, |turn| &turn.settings));
    let approver = TerminalApprover::new(super::me(), posture)
        .with_agent_names(kept.store.clone())
        .with_flag_hint();
    let approver = Arc::new(approver);
    let grants = UserGrants::new(None, site.recorded(), &site.store);
    let bounds = (ceiling, grants);
    let (asks, sharing) = (approver.clone(), task.sharing);
    let rig = wiring::build_runtime(kept, chosen, own, asks, settings, bounds, sharing);
    Ok(TurnRuntime { rig, approver, servers, confinement })
}

/// Returns true if the session has a goal during the turn.
pub(super) fn has_goal(task: &TurnTask<'_>, recorded: Option<&Session>) -> bool {
    let had = recorded.is_some_and(|session| session.goal.is_some());
    task.input.goal.is_some() || (had && !task.input.no_goal)
}

fn posture(settings: &Settings) -> String {
    format!(
        "{} mode, permissions {}",
        mode_name(settings.mode),
        permissions_name(settings.permissions)
    )
}
