//! Events: the inputs of scripts and simulations as a machine takes them in.

use windlass_core::Input;
use windlass_core::machine::{Defect, Event, Token};

use crate::laws::{Broken, broken};

/// The event that brings an input. A command has this token; no effect is ever over by itself, as
/// what a script or a model of chance says last may be refused.
pub(crate) fn event(input: Input, token: Token) -> Event {
    let key = match &input {
        Input::Recovered => return Event::Recovered,
        Input::Tick => return Event::Tick,
        Input::Keyed { .. }
        | Input::Configure { .. }
        | Input::SetGoal { .. }
        | Input::Send { .. }
        | Input::Continue
        | Input::Interrupt { .. }
        | Input::Answer { .. }
        | Input::Close => return Event::Command { token, input },
        Input::Sampled { key, .. }
        | Input::Ran { key, .. }
        | Input::Returned { key, .. }
        | Input::Programmed { key, .. }
        | Input::Hooked { key, .. }
        | Input::Asked { key, .. }
        | Input::Reconciled { key, .. }
        | Input::Compacted { key, .. }
        | Input::NeverBegan { key } => *key,
    };
    Event::Effect {
        key,
        inputs: vec![input],
        last: false,
    }
}

/// The law that a machine has broken which contradicts itself.
pub(crate) fn defect(defect: &Defect) -> Broken {
    match defect {
        Defect::Misfit(misfit) => {
            let what = format!("a decision does not fit its own state: {misfit}");
            broken(13, what)
        }
        Defect::Recovery(_) => broken(13, defect.to_string()),
        Defect::NeverBegan { .. } | Defect::Restless => broken(3, defect.to_string()),
    }
}
