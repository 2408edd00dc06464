//! A fair world: the provider answers, tools finish, hooks have nothing to say, people allow what
//! they are asked, and ticks come when the deadline says.

use windlass_core::{
    ApprovalAnswer, CallId, Demand, EffectKey, FailureKind, GoalState, GoalStatus, Hold, HookReply,
    Input, Item, Observation, ObservationStatus, Phase, ProgramEnd, RetainedChange, Retry,
    SampleEvent, SampleFailure, Scope, StopReason, child_result,
};

use super::driver::World;
use super::happen::steered;
use super::programs::{ended, is_program};
use crate::laws::{Broken, Held, broken};

/// Runs a world until its session is at rest: no turn is open, nothing runs, and no input waits
/// but held ones. Answers with the number of steps.
///
/// # Errors
/// [`Broken`] by law 2 when it is stuck or takes more steps than it should, or another law.
pub fn settle(world: &mut World) -> Result<usize, Broken> {
    let bound = bound(world);
    for steps in 0..bound {
        world.sync()?;
        if rested(world) {
            return Ok(steps);
        }
        let next = world.machine.running().iter().next();
        match next.map(|(key, demand)| (*key, *demand)) {
            Some((key, demand)) => answer(world, key, demand)?,
            None => match world.session().detached.first().map(|child| child.call) {
                Some(call) => world.take(child_ended(call))?,
                None => tick(world)?,
            },
        }
    }
    Err(broken(2, format!("{bound} steps were not enough: {}", standing(world))))
}

/// More steps than a session needs to come to rest: for each call that is out, for each input that
/// waits, and for each turn that its goal may open.
fn bound(world: &World) -> usize {
    let session = world.session();
    let turn = session.turn();
    let calls = turn.map_or(0, |turn| turn.calls().len());
    let goal = session.goal.as_ref();
    let turns = goal.map_or(0, |goal| goal.goal.turns.saturating_sub(goal.turns));
    let turns = usize::try_from(turns).unwrap_or(0)
        + session.queue.len()
        + session.detached.len()
        + calls
        + 2;
    // Each hook is asked a few times a turn and a few times a call.
    let hooks = session.settings.hooks.len() + turn.map_or(0, |turn| turn.settings.hooks.len());
    64 + calls * (4 + hooks * 4) + turns * (16 + hooks * 8)
}

/// A detached child ends.
pub(crate) fn child_ended(call: CallId) -> Input {
    let text = child_result("agent", call, "It ended.", "");
    Input::ChildEnded { scope: Scope::local("engine"), call, text }
}

/// Returns true if nothing is left to do without a user.
#[must_use]
pub fn rested(world: &World) -> bool {
    let session = world.session();
    match &session.phase {
        Phase::Idle => {
            let due = |goal: &GoalState| goal.status != GoalStatus::Waiting;
            let waits = session.next_input().is_some() || session.goal.as_ref().is_some_and(due);
            world.machine.running().is_empty()
                && session.detached.is_empty()
                && (!waits || session.hold == Hold::Held)
        }
        Phase::InTurn(_) => false,
    }
}

fn answer(world: &mut World, key: EffectKey, demand: Demand) -> Held {
    match (key, demand) {
        // Half of the samples that are to yield have begun a call, and run to their end.
        (EffectKey::Sample { started }, Demand::Yield) if started.0 % 2 == 0 => {
            let news = steered("half");
            world.take(Input::SampleEvent { key, event: news })
        }
        (EffectKey::Sample { .. }, Demand::Run | Demand::Yield) => {
            let item = Item::text("ok");
            let news = SampleEvent::Item(item);
            world.take(Input::SampleEvent { key, event: news })?;
            let news = SampleEvent::Ended {
                stop: StopReason::Stop,
                usage: None,
                response_id: None,
                request: None,
                fault: None,
            };
            world.take(Input::SampleEvent { key, event: news })
        }
        (EffectKey::Sample { .. }, Demand::Cancel) => {
            let message = "stopped as asked";
            let news = SampleEvent::Failed {
                failure: SampleFailure::new(FailureKind::Cancelled, Retry::Never, message),
                partial: String::new(),
                usage: None,
                asked: None,
            };
            world.take(Input::SampleEvent { key, event: news })
        }
        (EffectKey::Call { started, .. }, Demand::Run | Demand::Yield)
            if is_program(world.session(), key) =>
        {
            let value = "1".into();
            let end = match started.0 % 2 {
                0 => ProgramEnd::Return { value },
                _ => ProgramEnd::Value { value },
            };
            let news = ended(end, None, None, vec![RetainedChange::set("m", "1")]);
            world.take(Input::ProgramEvent { key, event: news })
        }
        (EffectKey::Call { .. }, Demand::Run | Demand::Yield) => {
            let observation = Observation::new(ObservationStatus::Done, "ok");
            world.take(Input::CallEnded { key, observation })
        }
        (EffectKey::Call { .. }, Demand::Cancel) => {
            let observation = Observation::new(ObservationStatus::Aborted, "stopped as asked");
            world.take(Input::CallEnded { key, observation })
        }
        (EffectKey::Hook { .. }, _) => {
            let reply = HookReply::pass();
            world.take(Input::HookReplied { key, reply })
        }
        (EffectKey::Approval { .. }, _) => world.take(Input::ApproverAnswered {
            key,
            scope: Scope::local("approver"),
            answer: ApprovalAnswer::Allow { edit: None },
        }),
        (EffectKey::Reconcile { .. }, _) => {
            world.take(Input::CallReconciled { key, observation: None })
        }
        (EffectKey::Compact { .. }, _) => {
            let compaction = world.compaction(key, "");
            world.take(Input::CompactionEnded { key, compaction })
        }
    }
}

/// Nothing runs: the time that the session asked to be looked at again comes.
fn tick(world: &mut World) -> Held {
    let Some(at) = world.machine.deadline() else {
        let what = format!("nothing runs and no tick will come: {}", standing(world));
        return Err(broken(2, what));
    };
    world.now = world.now.max(at);
    let before = world.session().clone();
    world.take(Input::Tick)?;
    if before == *world.session() {
        let what = format!("the tick at {at} changes nothing: {}", standing(world));
        return Err(broken(2, what));
    }
    Ok(())
}

/// Position of a session, without its settings.
fn standing(world: &World) -> String {
    let session = world.session();
    let stage = session.turn().map(|turn| (&turn.stage, &turn.hook_rounds));
    let (queue, goal, gates) = (&session.queue, &session.goal, &session.hook_rounds);
    let told = world.lines();
    let told = told.get(told.len().saturating_sub(12)..).unwrap_or(told);
    let told = told.join("\n");
    format!("{stage:?} {queue:?} {:?} {goal:?} {gates:?}\n{told}", session.hold)
}
