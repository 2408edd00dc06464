//! Moments: the laws, checked while the driver runs.
//!
//! In virtual time, whoever yields often enough finds everybody else waiting. If then all that
//! was decided is durable, the live state, the log and what runs must agree, as the laws say.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use windlass_engine::core::{Demand, EffectKey, Seq, Session, SessionId, desired_effects};
use windlass_engine::{Engine, SessionHandle, Start};
use windlass_testkit::laws::{self, Begun, Evidence, LawMoment, Tally, law_01_live_equals_fold};
use windlass_testkit::world::{Transitions, is_program};

use crate::runs::{What, what};
use crate::user::me;
use crate::world::{Time, World, limits, pause};

/// How often it is looked whether state and runs agree, at one moment of virtual time.
const LOOKS: usize = 100;

/// How often others are let go first between two looks.
const YIELDS: usize = 64;

/// Looks at a session again and again, until its process dies.
pub(crate) async fn watch(world: World, engine: Engine, id: SessionId) {
    loop {
        pause(Time::Virtual, 1 + world.luck.below(300)).await;
        // Whoever looks does not open what nobody has opened.
        if !world.store.claimed(&id) {
            continue;
        }
        let Ok(conversation) = engine.open(&id, &me(), Start::Existing).await else {
            continue;
        };
        look(&world, &conversation).await;
    }
}

/// Looks at a session once.
async fn look(world: &World, conversation: &SessionHandle) {
    let mut differs = None;
    for _ in 0..LOOKS {
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
        let Ok(state) = conversation.state().await else {
            return;
        };
        match agree(world, conversation.id(), &state) {
            // Something is being written: this is no moment.
            None => return,
            Some(Ok(())) => {
                world.seen.moments.fetch_add(1, Ordering::SeqCst);
                return;
            }
            Some(Err(what)) => differs = Some(what),
        }
    }
    let what = differs.unwrap_or_default();
    world.broke(format!("{}: {what}", conversation.id()));
}

/// Whether the live state, the log and what runs agree; `None` when the log lags behind.
fn agree(world: &World, id: &SessionId, state: &Session) -> Option<Result<(), String>> {
    let log = world.store.log(id);
    let last = Seq(log.len() as u64);
    if state.next != last.next() || world.store.appending(id) {
        return None;
    }
    Some((|| {
        let owed = desired_effects(state);
        let mut owing: BTreeMap<What, (EffectKey, Demand)> = BTreeMap::new();
        for one in owed {
            if let EffectKey::Compact { .. } = one.key {
                continue;
            }
            let what = what(one.key, state, &log);
            let what = what.ok_or_else(|| format!("{:?} has no fact", one.key))?;
            owing.insert(what, (one.key, one.demand));
        }
        // A program computes on a thread, or is about to: that is not seen from here.
        let mut running: BTreeMap<EffectKey, Demand> =
            owing.values().filter(|(key, _)| is_program(state, *key)).copied().collect();
        for (what, told) in world.seen.runs.of(id) {
            let Some((key, demand)) = owing.get(&what) else {
                return Err(format!("{what:?} runs and is not owed"));
            };
            // A tool that is out of time is told to stop as well, and is to run until it has.
            if told == Some(false) && *demand == Demand::Cancel {
                return Err(format!("{what:?} is to stop and is not told so"));
            }
            if running.insert(*key, *demand).is_some() {
                return Err(format!("{what:?} runs twice at the same time"));
            }
        }
        let (folded, history) =
            law_01_live_equals_fold::fold(&log).map_err(|broken| broken.to_string())?;
        drop(folded);
        let begun = world.seen.begun.lock().unwrap();
        let begun: Vec<Begun> =
            begun.iter().filter(|(session, _)| session == id).map(|(_, begun)| *begun).collect();
        let evidence = Evidence {
            ceilings: &[],
            transitions: &Transitions::CORE,
            ceiling: &limits(world.time),
            log: &log,
            durable: last,
            session: state,
            history: &history,
            running: &running,
            begun: &begun,
            losses: &[],
            checked: 0,
        };
        let mut applied = Tally::default();
        let held = evidence.check(laws::ALL, LawMoment::Step, &mut applied);
        held.map_err(|broken| broken.to_string())
    })())
}
