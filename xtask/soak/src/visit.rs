//! The life of one session: opened, used at random, brought to rest, and held to its promises.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::http::Ask;
use crate::judge::{Judged, Sent};
use crate::random::Random;
use crate::tally::add;
use crate::tools;
use crate::watcher::{Watched, watch};
use crate::world::World;

/// Longest time in which a session comes to rest.
const SETTLE: Duration = Duration::from_secs(180);
/// Time between two looks at a session.
const LOOK: Duration = Duration::from_millis(150);
/// Facts of one page of a log.
const PAGE: u64 = 200;

/// A session in the hands of its client.
pub(crate) struct Visit {
    pub(crate) world: Arc<World>,
    pub(crate) random: Random,
    pub(crate) id: String,
    /// Name of the visit among all.
    pub(crate) mark: String,
    /// Position up to which it is a copy of another session.
    from: u64,
    pub(crate) sent: Vec<Sent>,
    /// Number of requests with a key.
    pub(crate) keys: u64,
    watchers: JoinSet<anyhow::Result<Watched>>,
    end: watch::Sender<Option<u64>>,
}

/// A person who has session after session until all is over.
pub(crate) async fn person(world: Arc<World>, which: u64) {
    let mut visits = 0;
    while !world.is_over() {
        visits += 1;
        let mark = format!("p{which}-{visits}");
        if let Err(error) = visited(&world, &mark).await {
            world.tally.wrong(format!("{mark}: {error:#}"));
        }
    }
}

async fn visited(world: &Arc<World>, mark: &str) -> anyhow::Result<()> {
    let mut random = Random::of(world.seed, mark);
    let settings = match random.percent(30) {
        true => json!({"permissions": "ask"}),
        false => json!({}),
    };
    let ask = Ask::post("/v1/sessions", &settings).key(format!("open-{mark}"));
    let answer = world.insist(&ask).await?;
    ensure!(answer.status == 201, "a session is not opened: {answer:?}");
    let id = answer.body["id"].as_str().context("a session without an id")?;
    let mut visit = Visit::new(world.clone(), random, id, mark.to_owned(), 0);
    let actions = 3 + visit.random.below(10);
    visit.acts(actions).await
}

impl Visit {
    pub(crate) fn new(
        world: Arc<World>,
        random: Random,
        id: &str,
        mark: String,
        from: u64,
    ) -> Self {
        Self {
            world,
            random,
            id: id.to_owned(),
            mark,
            from,
            sent: Vec::new(),
            keys: 0,
            watchers: JoinSet::new(),
            end: watch::Sender::new(None),
        }
    }

    /// Does so much at random, and holds the session to its promises.
    pub(crate) async fn acts(&mut self, actions: u64) -> anyhow::Result<()> {
        for which in 0..1 + self.random.below(2) {
            let end = self.end.subscribe();
            self.watchers.spawn(watch(self.world.clone(), self.id.clone(), which, end));
        }
        self.send("turn").await?;
        for _ in 0..actions {
            if self.world.is_over() {
                break;
            }
            self.world.clone().think(&mut self.random).await;
            self.act().await?;
        }
        self.rest().await?;
        let log = self.history().await?;
        self.end.send_replace(Some(log.len() as u64));
        let mut watched = Vec::new();
        while let Some(one) = self.watchers.join_next().await {
            match one? {
                Ok(one) => watched.push(one),
                Err(error) => self.world.tally.wrong(format!("{error:#}")),
            }
        }
        let judged = Judged {
            session: &self.id,
            from: self.from,
            log: &log,
            sent: &self.sent,
            watched: &watched,
            counted: tools::counted(&self.world.work, &self.id),
        };
        judged.judge(&self.world.tally);
        tools::forget(&self.world.work, &self.id);
        self.world.leave(self.id.clone());
        Ok(())
    }

    /// A path of this session.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v1/sessions/{}{rest}", self.id)
    }

    /// A request to this session with a key of its own.
    pub(crate) fn keyed(&mut self, method: &'static str, rest: &str, body: &Value) -> Ask {
        self.keys += 1;
        let ask = Ask::post(self.path(rest), body).key(format!("{}-{}", self.mark, self.keys));
        Ask { method, ..ask }
    }

    /// The session as the server shows it.
    pub(crate) async fn view(&self) -> anyhow::Result<Value> {
        self.world.get(&self.path("")).await
    }

    /// Answers what is asked and continues what is held, until nothing is left to do.
    async fn rest(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + SETTLE;
        loop {
            let view = self.view().await?;
            if view["state"] == "idle" && view["waiting"] == 0 {
                return Ok(());
            }
            ensure!(view["state"] != "damaged", "damaged: {view}");
            ensure!(Instant::now() < until, "stuck: {view}");
            if view["asking"].as_u64() > Some(0) {
                self.answer_approvals(0).await?;
            }
            if view["held"] == true {
                let ask = self.keyed("POST", "/continue", &json!({}));
                let answer = self.world.insist(&ask).await?;
                ensure!(matches!(answer.status, 202 | 409), "not continued: {answer:?}");
            }
            sleep(LOOK).await;
        }
    }

    /// The log as the server shows it.
    async fn history(&self) -> anyhow::Result<Vec<Value>> {
        let (mut facts, mut after) = (Vec::new(), Some(0));
        while let Some(from) = after {
            let path = self.path(&format!("/history?after={from}&limit={PAGE}"));
            let mut page = self.world.get(&path).await?;
            let Value::Array(more) = page["facts"].take() else {
                anyhow::bail!("{path} has no facts: {page}");
            };
            facts.extend(more);
            after = page["next"].as_u64();
        }
        Ok(facts)
    }

    /// Sends an input.
    pub(crate) async fn send(&mut self, delivery: &str) -> anyhow::Result<()> {
        let text = self.words();
        let ask = match delivery {
            "turn" => self.keyed("POST", "/turns", &json!({"text": text})),
            _ => self.keyed("POST", "/inputs", &json!({"text": text, "delivery": delivery})),
        };
        let answer = self.world.insist(&ask).await?;
        ensure!(matches!(answer.status, 202 | 409), "{delivery}: {answer:?}");
        let input = answer.body["input"].as_u64();
        self.sends(text, answer.status == 202, input);
        Ok(())
    }

    /// Words of an input of its own.
    pub(crate) fn words(&mut self) -> String {
        let mark = format!("{}/{}", self.mark, self.sent.len());
        crate::model::words(&mark, self.random.below(4))
    }

    /// Records an input.
    pub(crate) fn sends(&mut self, text: String, accepted: bool, input: Option<u64>) {
        add(&self.world.tally.accepted, usize::from(accepted));
        self.sent.push(Sent { text, accepted, input });
    }
}
