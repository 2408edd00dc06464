//! A client that says something to a session: to whichever node, and again to another one, with the
//! same key, until it is answered.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::http::{Answer, ask};
use crate::model::words;
use crate::random::Random;
use crate::world::{PATIENCE, World};

/// How long it waits before it asks again.
const AGAIN: Duration = Duration::from_millis(100);

/// What was said, and what was answered.
#[derive(Debug, Clone)]
pub(crate) struct SentInput {
    pub(crate) session: String,
    pub(crate) text: String,
    /// How many calls it is worth.
    pub(crate) calls: usize,
    path: String,
    key: String,
    body: String,
    /// The answer that was not a word to ask again.
    pub(crate) answer: Answer,
}

/// Asks until there is an answer that counts.
async fn said(world: &World, random: &mut Random, path: &str, key: &str, body: &str) -> Answer {
    let end = Instant::now() + PATIENCE;
    loop {
        let node = *random.one(&world.nodes());
        let asked = ask(node, ("POST", path), &[("Idempotency-Key", key)], body).await;
        match &asked {
            Ok(answer) if !again(answer) => return answer.clone(),
            _ => assert!(
                Instant::now() < end,
                "seed {}: {path} {body} is not answered, at last by {node}: {asked:?}",
                world.seed
            ),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Whether an answer says to ask again: any node answers for any session. A store that takes no writes is
/// told as one that takes no more.
fn again(answer: &Answer) -> bool {
    matches!(answer.status, 429 | 503 | 504 | 507)
}

/// Opens a session, and answers its id.
pub(crate) async fn open(world: &World, which: usize) -> String {
    let mut random = Random::new(world.seed, 1_000 + which as u64);
    let key = format!("open-{which}");
    let opened = said(world, &mut random, "/v1/sessions", &key, "{}").await;
    assert_eq!(opened.status, 201, "{opened:?}");
    let again = said(world, &mut random, "/v1/sessions", &key, "{}").await;
    assert_eq!(again.body["id"], opened.body["id"], "the same key");
    opened.body["id"].as_str().unwrap().to_owned()
}

/// Says something to a session; `which` is a number of its own among all that is said.
pub(crate) async fn say(
    world: &World,
    session: &str,
    delivery: &str,
    calls: usize,
    which: u64,
) -> SentInput {
    let text = words(session, calls, which);
    let mut random = Random::new(world.seed, 2_000 + which);
    let path = format!("/v1/sessions/{session}/inputs");
    let key = format!("say-{which}");
    let body = json!({"delivery": delivery, "text": text}).to_string();
    let answer = said(world, &mut random, &path, &key, &body).await;
    assert_eq!(answer.status, 202, "seed {}: {body}: {answer:?}", world.seed);
    SentInput { session: session.to_owned(), text, calls, path, key, body, answer }
}

impl SentInput {
    /// Says it once more with the same key, to a node by chance: the answer is the same.
    pub(crate) async fn same_again(&self, world: &World, random: &mut Random) {
        let again = said(world, random, &self.path, &self.key, &self.body).await;
        let answer = &self.answer;
        assert_eq!(&again, answer, "seed {}: {} {}", world.seed, self.path, self.body);
    }

    /// The position that it was told to be at.
    pub(crate) fn input(&self) -> u64 {
        let Value::Number(input) = &self.answer.body["input"] else {
            panic!("no input: {self:?}");
        };
        input.as_u64().unwrap()
    }
}
