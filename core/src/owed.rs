//! Owed: what the world owes a state. A function, not a queue: an effect cannot be lost, and it
//! stops when it is no longer owed.

use alloc::vec::Vec;

use crate::effect::{Demand, EffectKey, Owed};
use crate::id::Seq;
use crate::session::{Fitness, Progress, Session, Stage};
use crate::settings::EffectClass;

/// The effects that are to run, or to wind down, in the order of their causes.
#[must_use]
pub fn owed(session: &Session) -> Vec<Owed> {
    let Some(turn) = session.turn() else {
        return Vec::new();
    };
    let demand = match turn.stop {
        None => Demand::Run,
        Some(_) => Demand::Wind,
    };
    match &turn.stage {
        Stage::Sampling(sampling) => alloc::vec![Owed {
            key: EffectKey::Sample {
                started: sampling.started,
            },
            demand,
            needs: sampling.previous,
        }],
        Stage::Executing(executing) => {
            let mut owed = Vec::new();
            for call in executing.calls.iter() {
                let (Progress::Running { started, .. }, Fitness::Fit { effect, .. }) =
                    (&call.progress, &call.fitness)
                else {
                    continue;
                };
                owed.push(Owed {
                    key: EffectKey::Call {
                        call: call.id,
                        started: *started,
                    },
                    demand,
                    needs: match effect {
                        EffectClass::ReadOnly => Seq::ZERO,
                        EffectClass::Idempotent | EffectClass::Effectful => *started,
                    },
                });
            }
            owed
        }
        Stage::Opening { .. }
        | Stage::Ready(_)
        | Stage::Backoff(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Vec::new(),
    }
}
