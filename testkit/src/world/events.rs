//! Events: the inputs of scripts and simulations as a machine takes them in.

use windlass_core::Input;
use windlass_core::machine::{CommandToken, EngineDefect, MachineEvent};

use crate::laws::{Broken, broken};

/// The event that brings an input. A command has this token; no effect is ever over by itself, as
/// what a script or a model of chance says last may be refused.
pub(crate) fn event(input: Input, token: CommandToken) -> MachineEvent {
    let key = match &input {
        Input::Recover => return MachineEvent::Recovered,
        Input::Tick => return MachineEvent::Tick,
        Input::Keyed { .. }
        | Input::Configure { .. }
        | Input::SetGoal { .. }
        | Input::Compact { .. }
        | Input::Send { .. }
        | Input::ChildEnded { .. }
        | Input::EditInput { .. }
        | Input::MoveInput { .. }
        | Input::WithdrawInput { .. }
        | Input::Rewind { .. }
        | Input::Continue
        | Input::Interrupt { .. }
        | Input::Answer { .. }
        | Input::Close => return MachineEvent::Command { token, input },
        Input::SampleEvent { key, .. }
        | Input::CallEnded { key, .. }
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
