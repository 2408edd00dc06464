//! A fair world: the provider answers, tools finish, and ticks come when the deadline says.

use windlass_core::{
    Demand, EffectKey, FailureKind, Hold, Input, Item, Observation, ObservationStatus, Phase,
    Retry, SampleFailure, SampleNews, StopReason,
};

use super::driver::World;
use crate::laws::{Broken, Held, broken};

/// Runs a world until its session is at rest: no turn is open, and no input waits but held ones.
/// Answers with the number of steps.
///
/// # Errors
/// [`Broken`] by law 2 when it is stuck or takes more steps than it should, or another law.
pub fn settle(world: &mut World) -> Result<usize, Broken> {
    let calls = world.owed().len();
    let bound = 64 + calls * 4 + world.session().queue.len() * 16;
    for steps in 0..bound {
        world.sync()?;
        if rested(world) {
            return Ok(steps);
        }
        let next = world.running.iter().next();
        match next.map(|(key, demand)| (*key, *demand)) {
            Some((key, demand)) => answer(world, key, demand)?,
            None => tick(world)?,
        }
    }
    Err(broken(
        2,
        format!("{bound} steps were not enough: {:?}", world.session()),
    ))
}

/// Whether nothing is left to do without a user.
#[must_use]
pub fn rested(world: &World) -> bool {
    let session = world.session();
    match &session.phase {
        Phase::Idle => session.queue.is_empty() || session.hold == Hold::Held,
        Phase::Turning(_) => false,
    }
}

fn answer(world: &mut World, key: EffectKey, demand: Demand) -> Held {
    match (key, demand) {
        (EffectKey::Sample { .. }, Demand::Run) => {
            let item = Item::Text { text: "ok".into() };
            let news = SampleNews::Item(item);
            world.take(Input::Sampled { key, news })?;
            let news = SampleNews::Ended {
                stop: StopReason::Stop,
                usage: None,
                response_id: None,
            };
            world.take(Input::Sampled { key, news })
        }
        (EffectKey::Sample { .. }, Demand::Wind) => {
            let message = "stopped as asked";
            let news = SampleNews::Failed {
                failure: SampleFailure::new(FailureKind::Cancelled, Retry::Never, message),
                partial: String::new(),
            };
            world.take(Input::Sampled { key, news })
        }
        (EffectKey::Call { .. }, Demand::Run) => {
            let observation = Observation::new(ObservationStatus::Done, "ok");
            world.take(Input::Ran { key, observation })
        }
        (EffectKey::Call { .. }, Demand::Wind) => {
            let observation = Observation::new(ObservationStatus::Aborted, "stopped as asked");
            world.take(Input::Ran { key, observation })
        }
    }
}

/// Nothing runs: the time that the session asked to be looked at again comes.
fn tick(world: &mut World) -> Held {
    let Some(at) = (world.machine.deadline)(&world.session) else {
        let what = format!("nothing runs and no tick will come: {:?}", world.session());
        return Err(broken(2, what));
    };
    world.now = world.now.max(at);
    let before = world.session().clone();
    world.take(Input::Tick)?;
    if before == *world.session() {
        let what = format!("the tick at {at} changes nothing: {before:?}");
        return Err(broken(2, what));
    }
    Ok(())
}
