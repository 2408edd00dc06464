//! The users: they send, interrupt, watch, go away, come back and close.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use windlass_engine::core::{
    Delivery, InterruptSource, Lineage, OpenSession, Scope, Seq, SessionId, StopTiming,
};
use windlass_engine::{DriverEnd, Engine, Event, NewInput, SendError, SessionHandle, Start};

use crate::life::settings;
use crate::world::{Sent, Watched, World, pause};

pub(crate) fn me() -> Scope {
    Scope::local("tester")
}

fn opening(world: &World) -> Start {
    Start::Either(Box::new(OpenSession {
        owner: me(),
        workspace: None,
        settings: settings(world),
        lineage: Lineage::Root,
    }))
}

/// A user of one session, until the world ends or they have had enough.
pub(crate) async fn live(world: World, engine: Engine, id: SessionId) {
    let luck = world.luck.clone();
    let mut held: Option<SessionHandle> = None;
    for _ in 0..luck.below(40) {
        pause(world.time, luck.below(120)).await;
        let conversation = match held.take() {
            Some(conversation) => conversation,
            None => match engine.open(&id, &me(), opening(&world)).await {
                Ok(conversation) => conversation,
                Err(_) => continue,
            },
        };
        if act(&world, &conversation).await {
            held = Some(conversation);
        }
    }
}

/// Does something. Answers whether the user stays.
async fn act(world: &World, conversation: &SessionHandle) -> bool {
    let luck = &world.luck;
    match luck.below(100) {
        0..45 => send(world, conversation).await,
        45..60 => {
            let by = InterruptSource::Person;
            let when = if luck.percent(30) { StopTiming::AfterStep } else { StopTiming::Now };
            let asked = conversation.interrupt(by, me(), "enough", when).await;
            !matches!(asked, Err(SendError::Ended(_)))
        }
        60..65 => !matches!(conversation.resume().await, Err(SendError::Ended(_))),
        65..80 => {
            let after = match luck.below(3) {
                0 => None,
                1 => Some(Seq::ZERO),
                _ => Some(Seq(luck.below(60))),
            };
            watch(world, conversation, after);
            true
        }
        80..90 => false,
        90..93 => {
            conversation.close().await;
            false
        }
        93..95 => conversation.flush().await.is_ok(),
        95..97 => conversation.pending_approvals().await.is_ok(),
        _ => conversation.state().await.is_ok(),
    }
}

async fn send(world: &World, conversation: &SessionHandle) -> bool {
    let luck = &world.luck;
    let key = luck.percent(40).then(|| format!("k{}", luck.below(30)));
    let text = match &key {
        Some(key) => format!("keyed {key}"),
        None => format!("say {}", luck.draw()),
    };
    // Before it is sent: what a crash leaves in the log was sent too.
    let at = {
        let mut sent = world.seen.sent.lock().unwrap();
        sent.push(Sent {
            session: conversation.id().clone(),
            text: text.clone(),
            acknowledged: None,
        });
        sent.len() - 1
    };
    let delivery = match luck.below(10) {
        0..3 => Delivery::Steer,
        3..5 => Delivery::FollowUp,
        _ => Delivery::Turn,
    };
    let sending = conversation.send(NewInput::new(me(), text).with(|it| {
        it.delivery = delivery;
        it.key = key;
        it.dry_run = luck.percent(10);
    }));
    let impatient = luck.percent(15);
    let answer = tokio::select! {
        answer = sending => answer,
        () = pause(world.time, luck.below(40)), if impatient => return true,
    };
    match answer {
        Ok(id) => {
            // At once: it must be in the log by now, and this process may die at any moment.
            let log = world.store.log(conversation.id());
            if log.get(usize::try_from(id.0).unwrap() - 1).is_none() {
                world.broke(format!("input {id} is acknowledged and not in the log"));
            }
            let mut sent = world.seen.sent.lock().unwrap();
            sent.get_mut(at).unwrap().acknowledged = Some(id);
            true
        }
        Err(SendError::Ended(ended)) => {
            if matches!(&*ended, DriverEnd::Superseded(_)) {
                world.seen.supersessions.fetch_add(1, Ordering::SeqCst);
            }
            if matches!(&*ended, DriverEnd::Defect(_)) {
                world.broke(format!("the driver ended with a defect: {ended}"));
            }
            false
        }
        Err(_) => true,
    }
}

/// Watches a session whoever drives it, sometimes too slowly, for as long as the process lives.
pub(crate) fn look_on(world: &World, engine: &Engine, id: &SessionId) {
    // A position that the log has.
    let log = world.store.log(id).len() as u64;
    let after = match world.luck.below(2) {
        0 => Seq::ZERO,
        _ => Seq(world.luck.below(log + 1)),
    };
    let mut watch = engine.subscribe(id, &me(), Some(after));
    let watched = Arc::new(Watched {
        session: id.clone(),
        after,
        facts: Mutex::default(),
        lags: AtomicU64::new(0),
        ended: AtomicBool::new(false),
    });
    world.seen.watched.lock().unwrap().push(watched.clone());
    let (world, luck) = (world.clone(), world.luck.clone());
    let lazy = luck.percent(30);
    tokio::spawn(async move {
        loop {
            if lazy && luck.percent(5) {
                pause(world.time, luck.below(3_000)).await;
            }
            match watch.next().await {
                Ok(Event::Fact(fact)) => watched.facts.lock().unwrap().push(fact.into()),
                Ok(Event::Lagged { .. }) => {
                    watched.lags.fetch_add(1, Ordering::SeqCst);
                }
                Ok(Event::Live(_)) => {}
                Ok(Event::Store(_)) => {}
                Ok(Event::Ended(ended)) => world.broke(format!("a watch has ended: {ended}")),
                // The log could not be read, or there is none yet; the cursor stands.
                Err(_) => pause(world.time, 1).await,
            }
        }
    });
}

/// Watches from a cursor on, sometimes too slowly, until the end.
fn watch(world: &World, conversation: &SessionHandle, after: Option<Seq>) {
    let mut events = conversation.subscribe(after);
    let watched = Arc::new(Watched {
        session: conversation.id().clone(),
        after: events.cursor().unwrap(),
        facts: Mutex::default(),
        lags: AtomicU64::new(0),
        ended: AtomicBool::new(false),
    });
    world.seen.watched.lock().unwrap().push(watched.clone());
    let (world, luck) = (world.clone(), world.luck.clone());
    let lazy = luck.percent(30);
    tokio::spawn(async move {
        loop {
            if lazy && luck.percent(5) {
                pause(world.time, luck.below(3_000)).await;
            }
            match events.next().await {
                Ok(Event::Fact(fact)) => watched.facts.lock().unwrap().push(fact.into()),
                Ok(Event::Lagged { .. }) => {
                    watched.lags.fetch_add(1, Ordering::SeqCst);
                }
                Ok(Event::Live(_)) => {}
                Ok(Event::Store(_)) => {}
                Ok(Event::Ended(_)) => return watched.ended.store(true, Ordering::SeqCst),
                // The log could not be read; the cursor stands.
                Err(_) => pause(world.time, 1).await,
            }
        }
    });
}
