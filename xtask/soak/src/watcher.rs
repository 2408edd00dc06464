//! A client that follows one session by its cursor, drops its connection now and then, and resumes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::events::Events;
use crate::http::Ask;
use crate::random::Random;
use crate::tally::add;
use crate::world::World;

/// A stream that says nothing for so long, not even a heartbeat, is given up.
const SILENCE: Duration = Duration::from_secs(10);
/// Wait before the next connection.
const AGAIN: Duration = Duration::from_millis(50);
/// Longest time to receive the rest, once a log's end is known.
const REST: Duration = Duration::from_secs(90);
/// Most facts that it takes from one connection before it drops it.
const MOST: u64 = 80;

/// Facts that a client received, in order.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) session: String,
    pub(crate) facts: Vec<String>,
}

/// Follows a session to its log's end, which is told once nothing more is to come.
///
/// # Errors
/// When a fact is missing, repeated or out of order, or the rest does not come in time.
pub(crate) async fn watch(
    world: Arc<World>,
    session: String,
    which: u64,
    mut end: watch::Receiver<Option<u64>>,
) -> anyhow::Result<Watched> {
    let mut random = Random::of(world.seed, &format!("{session} {which}"));
    let mut watched = Watched { session, ..Watched::default() };
    tokio::select! {
        followed = follow(&world, &mut watched, &mut random, None) => followed?,
        _ = end.wait_for(Option::is_some) => {}
    }
    let last = *end.borrow();
    let rest = timeout(REST, follow(&world, &mut watched, &mut random, last)).await;
    let (session, count) = (&watched.session, watched.facts.len());
    ensure!(rest.is_ok(), "a watcher of {session} hangs: {count} of {last:?} facts came");
    rest??;
    Ok(watched)
}

/// Follows a session over connection after connection, up to a position if there is one.
async fn follow(
    world: &World,
    watched: &mut Watched,
    random: &mut Random,
    last: Option<u64>,
) -> anyhow::Result<()> {
    while last.is_none_or(|last| (watched.facts.len() as u64) < last) {
        connection(world, watched, random, last).await?;
        sleep(AGAIN).await;
    }
    Ok(())
}

async fn connection(
    world: &World,
    watched: &mut Watched,
    random: &mut Random,
    last: Option<u64>,
) -> anyhow::Result<()> {
    let live = if random.percent(30) { "?live=false" } else { "" };
    let mut ask = Ask::get(format!("/v1/sessions/{}/events{live}", watched.session));
    ask.after = Some(watched.facts.len() as u64);
    let Ok((status, _, mut stream)) = ask.begin(world.server().await?).await else {
        return Ok(());
    };
    if matches!(status, 429 | 503 | 504 | 507) {
        return Ok(());
    }
    ensure!(status == 200, "the events of {} after {:?}: {status}", watched.session, ask.after);
    add(&world.tally.connections, 1);
    let enough = 1 + random.below(MOST);
    // Some read so slowly that the server may cut them off.
    let slow = random.percent(5);
    let (mut taken, mut events) = (0, Events::default());
    while let Some(bytes) = stream.next(SILENCE).await {
        for event in events.add(&bytes) {
            if event.kind == "fact" {
                let next = watched.facts.len() as u64 + 1;
                let session = &watched.session;
                ensure!(event.id == Some(next), "{session}: {:?} came before {next}", event.id);
                watched.facts.push(event.data);
                taken += 1;
            }
        }
        if taken >= enough || last.is_some_and(|last| watched.facts.len() as u64 >= last) {
            return Ok(());
        }
        if slow {
            sleep(AGAIN * 4).await;
        }
    }
    Ok(())
}
