//! Events: the inputs of scripts and simulations as a machine takes them in.

use std::sync::Arc;

use windlass_core::machine::{CommandToken, EngineDefect, MachineEvent};
use windlass_core::{Ceiling, Input, Mode, Permissions, PermissionsNarrowed};

use crate::laws::{Broken, broken};

/// The event that brings an input. A command has this token; no effect is ever over by itself, as
/// what a script or a model of chance says last may be refused.
pub(crate) fn event(input: Input, token: CommandToken) -> MachineEvent {
    let key = match &input {
        Input::Recover => return MachineEvent::Recovered { matched: Vec::new() },
        Input::Narrow { to } => {
            let ceiling = Arc::new(ceiling(to));
            return MachineEvent::Ceiling { ceiling, matched: Vec::new() };
        }
        Input::Tick => return MachineEvent::Tick,
        Input::Keyed { .. }
        | Input::Configure { .. }
        | Input::SetGoal { .. }
        | Input::Compact { .. }
        | Input::Send { .. }
        | Input::RunCommand { .. }
        | Input::ChildEnded { .. }
        | Input::EditInput { .. }
        | Input::MoveInput { .. }
        | Input::WithdrawInput { .. }
        | Input::Rename { .. }
        | Input::Rewind { .. }
        | Input::FilesRestored { .. }
        | Input::Continue
        | Input::Interrupt { .. }
        | Input::Answer { .. }
        | Input::SubmitResult { .. }
        | Input::Close => return MachineEvent::Command { token, input },
        Input::SampleEvent { key, .. }
        | Input::CallEnded { key, .. }
        | Input::CallSuspended { key, .. }
        | Input::AgentEnded { key, .. }
        | Input::AgentDetached { key, .. }
        | Input::ProgramEvent { key, .. }
        | Input::HookReplied { key, .. }
        | Input::ApproverAnswered { key, .. }
        | Input::CallReconciled { key, .. }
        | Input::CompactionEnded { key, .. }
        | Input::NeverStarted { key } => *key,
    };
    MachineEvent::Effect { key, inputs: vec![input], last: false }
}

/// The ceiling to which a session with wide settings is narrowed by this.
fn ceiling(to: &PermissionsNarrowed) -> Ceiling {
    let effects = to.effects.iter();
    Ceiling {
        mode: to.mode.unwrap_or(Mode::Build),
        permissions: to.permissions.unwrap_or(Permissions::Auto),
        rules: to.rules.clone(),
        hooks: to.hooks.clone(),
        effects: effects.map(|one| (one.tool.clone(), one.effect)).collect(),
        hold_recovered: to.hold,
    }
}

/// The law that a machine has broken which contradicts itself.
pub(crate) fn defect(defect: &EngineDefect) -> Broken {
    match defect {
        EngineDefect::InvalidFact(misfit) => {
            let what = format!("a decision does not fit its own state: {misfit}");
            broken(13, what)
        }
        EngineDefect::Recovery(_) => broken(13, defect.to_string()),
        EngineDefect::NeverStarted { .. } | EngineDefect::NotConverging => {
            broken(3, defect.to_string())
        }
    }
}
