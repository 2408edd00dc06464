//! Falling behind: a client that does not read is told so, comes back by its cursor, and slows nobody.

use windlass_engine::core::{StopReason, StreamEvent};
use windlass_server::windlass_engine;
use windlass_testkit::provider::Step;

use crate::client::{Answer, Seen, facts, follow, text};
use crate::world::{Running, World, hello, soon};

/// Together more than the sockets between a server and a client hold.
const TURNS: usize = 24;
const PIECES: usize = 8;
const PIECE: usize = 64 * 1024;

/// Answers that are long while they stream, and short once they are in the log.
fn flood() -> Vec<Step> {
    let text = StreamEvent::Text { slot: 0, text: "x".repeat(PIECE) };
    let done = StreamEvent::Done { slot: 0, text: Some("flooded".to_owned()), opaque: None };
    let reason = StopReason::Stop;
    let pieces = (0..PIECES).fold(Step::default(), |step, _| step.batch([text.clone()]));
    let step = pieces.batch([done, StreamEvent::Finished { reason }]);
    vec![step; TURNS]
}

/// A world in which a client falls behind soon.
pub(crate) fn flooding() -> World {
    let mut world = World::new(flood());
    world.config.event_buffer = 16;
    world
}

/// Has all of it said, whoever listens.
pub(crate) async fn flooded(server: &Running) {
    let conversation = server.open("s").await;
    for _ in 0..TURNS {
        let input = conversation.send(hello()).await.unwrap();
        let report = soon(conversation.outcome(input)).await.unwrap();
        assert_eq!(report.answer, "flooded", "{:?}", report.outcome);
    }
}

/// What is told up to and with the end of the last turn.
async fn to_the_end(stream: &mut Answer) -> Vec<Seen> {
    let mut told = Vec::new();
    let settled = |seen: &Seen| seen.event == "fact" && seen.json()["kind"] == "TurnSettled";
    while told.iter().filter(|seen| settled(seen)).count() < TURNS {
        told.extend(stream.up_to_settled().await);
    }
    told
}

#[tokio::test]
async fn a_client_that_does_not_read_is_told_and_comes_back_by_its_cursor() {
    let world = flooding();
    let server = world.serve().await;
    let conversation = server.open("s").await;
    conversation.flush().await.unwrap();
    let mut idle = follow(server.address, "s", "").await;
    let mut told: Vec<Seen> = vec![idle.next().await.unwrap()];
    flooded(&server).await;
    // Only now does it read on.
    let lagged = loop {
        let seen = idle.next().await.expect("it is told before the end");
        if seen.event == "lagged" {
            break seen;
        }
        told.push(seen);
    };
    assert_eq!(idle.next().await, None, "nothing follows");
    assert!(text(&told).len() < TURNS * PIECES * PIECE);
    let word = lagged.json();
    assert!(word["missed"].as_u64().unwrap() > 0, "{word}");
    let last = told.iter().filter_map(|seen| seen.id).max().unwrap();
    assert_eq!((lagged.id, &word["after"]), (None, &last.into()));
    let missing = world.log("s").len() - facts(&told).len();
    assert!(missing > 0);
    let mut back = follow(server.address, "s", &format!("?after={last}")).await;
    while facts(&told).len() < world.log("s").len() {
        told.extend(back.up_to_settled().await);
    }
    assert_eq!(facts(&told), world.exported("s"));
}

#[tokio::test]
async fn facts_alone_are_never_missed_however_slow_a_client_is() {
    let world = flooding();
    let server = world.serve().await;
    server.open("s").await.flush().await.unwrap();
    let mut silent = follow(server.address, "s", "?live=false").await;
    flooded(&server).await;
    let told = to_the_end(&mut silent).await;
    assert_eq!(facts(&told), world.exported("s"));
    assert_eq!(told.len(), facts(&told).len());
}
