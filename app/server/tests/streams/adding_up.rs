//! Streams add up: whoever reads slowly or pauses hears each character once and in order, or is told
//! that it lagged, and hears the whole on the next connection.

use serde_json::{Value, json};
use windlass_engine::core::{StopReason, StreamEvent};
use windlass_server::windlass_engine;
use windlass_testkit::HeardSum;
use windlass_testkit::provider::Step;

use crate::client::follow;
use crate::sockets::Socket;
use crate::world::{Running, World, hello, soon};

/// Together more than the sockets between a server and a client hold.
const TURNS: usize = 24;
const PIECES: usize = 8;

/// Answers that are as long in the log as they were while they streamed.
fn long() -> World {
    let pieces = (0..PIECES).map(|number| number.to_string().repeat(64 * 1024));
    let texts: Vec<String> = pieces.collect();
    let step = texts.iter().fold(Step::default(), |step, text| {
        step.batch([StreamEvent::Text { slot: 0, text: text.clone() }])
    });
    let done = StreamEvent::Done { slot: 0, text: None, opaque: None };
    let step = step.batch([done, StreamEvent::Finished { reason: StopReason::Stop }]);
    let mut world = World::new(vec![step; TURNS]);
    world.config.event_buffer = 4;
    world
}

async fn answered(server: &Running) {
    let conversation = server.open("s").await;
    for _ in 0..TURNS {
        let input = conversation.send(hello()).await.unwrap();
        soon(conversation.outcome(input)).await.unwrap();
    }
}

fn take(sum: &mut HeardSum, envelope: &Value) {
    sum.take(envelope).unwrap_or_else(|why| panic!("{why}"));
}

fn is_over(sum: &HeardSum) -> bool {
    sum.whole + sum.missed == TURNS
}

#[tokio::test]
async fn server_sent_events_add_up_over_all_connections() {
    let world = long();
    let server = world.serve().await;
    server.open("s").await.flush().await.unwrap();
    let (mut sum, mut last) = (HeardSum::default(), 0);
    let mut stream = follow(server.address, "s", "").await;
    // It is not read until all is said.
    answered(&server).await;
    while !is_over(&sum) {
        let Some(seen) = stream.next().await else {
            stream = follow(server.address, "s", &format!("?after={last}")).await;
            continue;
        };
        last = seen.id.unwrap_or(last);
        match seen.event.as_str() {
            "lagged" => sum.lagged(),
            _ => take(&mut sum, &seen.json()),
        }
    }
    assert!(sum.lags > 0, "{sum:?}");
}

#[tokio::test]
async fn sockets_add_up_over_all_connections() {
    let world = long();
    let server = world.serve().await;
    server.open("s").await.flush().await.unwrap();
    let (mut sum, mut last) = (HeardSum::default(), 0);
    let mut socket = Socket::open(server.address, "s", "").await;
    answered(&server).await;
    while !is_over(&sum) {
        let Some(text) = socket.text().await else {
            socket = Socket::open(server.address, "s", &format!("?after={last}")).await;
            continue;
        };
        let envelope: Value = serde_json::from_str(&text).unwrap();
        last = envelope["seq"].as_u64().unwrap_or(last);
        match envelope["control"] == json!("lagged") {
            true => sum.lagged(),
            false => take(&mut sum, &envelope),
        }
    }
    assert!(sum.lags > 0, "{sum:?}");
}
