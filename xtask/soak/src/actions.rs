//! Actions that a client takes at random.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use std::time::Duration;

use crate::events::Events;
use crate::http::Ask;
use crate::visit::Visit;
use crate::world::is_transient;

/// A stream of AG-UI that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(10);

/// Something that a client does.
#[derive(Debug, Clone, Copy)]
enum Action {
    Turn,
    FollowUp,
    Steer,
    Interrupt,
    Approve,
    Change,
    Look,
    Wrong,
    Fork,
    Agui,
    Compact,
    Rewind,
}

const ACTIONS: [(u64, Action); 12] = [
    (24, Action::Turn),
    (12, Action::FollowUp),
    (14, Action::Steer),
    (9, Action::Interrupt),
    (8, Action::Approve),
    (5, Action::Change),
    (10, Action::Look),
    (5, Action::Wrong),
    (3, Action::Fork),
    (6, Action::Agui),
    (2, Action::Compact),
    (2, Action::Rewind),
];

/// Paths below a session that can be read at any time.
const READABLE: [&str; 8] = [
    "",
    "/turns?limit=5",
    "/turns?snapshots=true&limit=3",
    "/inputs",
    "/approvals",
    "/history?limit=20",
    "/history?after=3&limit=2",
    "/turns?after=2&limit=1",
];

/// Wrong requests: the method, the path behind the session's, the body and the status.
const WRONG: [(&str, &str, &str, u16); 7] = [
    ("POST", "/turns", "{\"text\": ", 400),
    ("POST", "/turns", "{\"text\": \"x\", \"unknown\": 1}", 400),
    ("POST", "/turns", "{\"text\": \"\"}", 422),
    ("GET", "/events?after=999999999", "", 400),
    ("GET", "/turns/999999999", "", 404),
    ("POST", "/approvals/999999999", "{\"decision\": \"allow\", \"digest\": \"sha256:0\"}", 0),
    ("PUT", "/turns", "{}", 405),
];

impl Visit {
    /// Does something at random.
    pub(crate) async fn act(&mut self) -> anyhow::Result<()> {
        let Some(action) = self.random.weighted(&ACTIONS) else {
            return Ok(());
        };
        self.world.tally.action(match action {
            Action::Turn => "turn",
            Action::FollowUp => "follow-up",
            Action::Steer => "steer",
            Action::Interrupt => "interrupt",
            Action::Approve => "approve",
            Action::Change => "change",
            Action::Look => "look",
            Action::Wrong => "wrong request",
            Action::Fork => "fork",
            Action::Agui => "AG-UI",
            Action::Compact => "compact",
            Action::Rewind => "rewind",
        });
        match action {
            Action::Turn => self.send("turn").await,
            Action::FollowUp => self.send("follow_up").await,
            Action::Steer => self.send("steer").await,
            Action::Interrupt => self.interrupt().await,
            Action::Approve => self.answer_approvals(25).await,
            Action::Change => self.change().await,
            Action::Look => self.look().await,
            Action::Wrong => self.wrong().await,
            Action::Fork => self.fork().await,
            Action::Agui => self.agui().await,
            Action::Compact => self.command("/compact", &json!({})).await,
            Action::Rewind => self.rewind().await,
        }
    }

    /// Sends a command that the state of the session may not allow.
    async fn command(&mut self, rest: &str, body: &Value) -> anyhow::Result<()> {
        let ask = self.keyed("POST", rest, body);
        let answer = self.world.insist(&ask).await?;
        ensure!(matches!(answer.status, 202 | 409), "{rest} {body}: {answer:?}");
        Ok(())
    }

    async fn interrupt(&mut self) -> anyhow::Result<()> {
        let when = if self.random.percent(60) { "now" } else { "after_step" };
        self.command("/interrupt", &json!({"when": when})).await
    }

    /// Answers open questions, and leaves so many of a hundred open.
    pub(crate) async fn answer_approvals(&mut self, leave: u64) -> anyhow::Result<()> {
        let open = self.world.get(&self.path("/approvals")).await?;
        for question in open["approvals"].as_array().into_iter().flatten() {
            if self.random.percent(leave) {
                continue;
            }
            let decision = if self.random.percent(75) { "allow" } else { "deny" };
            let body = json!({"decision": decision, "digest": question["digest"]});
            self.command(&format!("/approvals/{}", question["call"]), &body).await?;
        }
        Ok(())
    }

    /// Changes or withdraws an input that waits.
    async fn change(&mut self) -> anyhow::Result<()> {
        let waiting = self.world.get(&self.path("/inputs")).await?;
        let Some(input) = waiting["inputs"][0]["input"].as_u64() else {
            return Ok(());
        };
        let rest = format!("/inputs/{input}");
        let ask = match self.random.below(3) {
            0 => self.keyed("DELETE", &rest, &json!({})),
            1 => self.keyed("PATCH", &rest, &json!({"last": true})),
            _ => self.keyed("PATCH", &rest, &json!({"text": "other words"})),
        };
        let answer = self.world.insist(&ask).await?;
        ensure!(matches!(answer.status, 202 | 409), "{} {rest}: {answer:?}", ask.method);
        Ok(())
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        let path = match self.random.percent(25) {
            true => "/v1/sessions?limit=20".to_owned(),
            false => {
                let which = self.random.below(READABLE.len() as u64);
                let rest = usize::try_from(which).ok().and_then(|which| READABLE.get(which));
                self.path(rest.copied().unwrap_or_default())
            }
        };
        self.world.get(&path).await.map(drop)
    }

    /// Sends a wrong request. It is refused, and changes nothing.
    async fn wrong(&mut self) -> anyhow::Result<()> {
        let which = usize::try_from(self.random.below(WRONG.len() as u64))?;
        let (method, rest, body, status) = WRONG.get(which).context("no request")?;
        let path = self.path(rest);
        let anonymous = self.random.percent(20);
        let ask = Ask { method, path, body: (*body).to_owned(), anonymous, ..Ask::default() };
        let answer = self.world.insist(&ask).await?;
        let status = match (anonymous, *status) {
            (true, _) => 401,
            (false, 0) => answer.status,
            (false, status) => status,
        };
        let refused = answer.status == status && (400..500).contains(&status);
        ensure!(refused, "{method} {rest} {body}: {answer:?}, and not {status}");
        Ok(())
    }

    /// Forks the session where it is at rest, and uses the fork.
    async fn fork(&mut self) -> anyhow::Result<()> {
        let view = self.view().await?;
        let Some(at) = view["last"].as_u64().filter(|_| view["state"] == "idle") else {
            return Ok(());
        };
        let ask = self.keyed("POST", "/forks", &json!({"at": at}));
        let answer = self.world.insist(&ask).await?;
        if answer.status != 201 {
            ensure!(matches!(answer.status, 409 | 413), "a fork at {at}: {answer:?}");
            return Ok(());
        }
        let id = answer.body["id"].as_str().context("a fork without an id")?;
        // The keys of the fork begin with its mark, so no other fork of this session has it.
        let mark = format!("{}-fork{}", self.mark, self.keys);
        let random = crate::random::Random::of(self.world.seed, &mark);
        let mut fork = Self::new(self.world.clone(), random, id, mark, at);
        Box::pin(fork.acts(2)).await
    }

    /// Sends an input as a client of AG-UI, and follows its run, or drops the connection.
    async fn agui(&mut self) -> anyhow::Result<()> {
        let text = self.words();
        let run = format!("{}-{}", self.mark, self.sent.len());
        let body = json!({"threadId": self.id, "runId": run, "state": {}, "tools": [], "context": [],
            "messages": [{"id": "1", "role": "user", "content": text}]});
        let ask = Ask::post(self.path("/agui"), &body);
        let until = tokio::time::Instant::now() + crate::world::PATIENCE;
        loop {
            let begun = ask.begin(self.world.server().await?).await;
            match begun {
                Ok((200, _, mut stream)) => {
                    self.sends(text, true, None);
                    let mut events = Events::default();
                    let mut left = self.random.below(40);
                    while let Some(bytes) = stream.next(SILENCE).await {
                        let ends = |data: &str| {
                            data.contains("RUN_FINISHED") || data.contains("RUN_ERROR")
                        };
                        let ended = events.add(&bytes).iter().any(|event| ends(&event.data));
                        if ended || left == 0 {
                            break;
                        }
                        left -= 1;
                    }
                    return Ok(());
                }
                Ok((409, ..)) => {
                    self.sends(text, false, None);
                    return Ok(());
                }
                Ok((status, retry_after, _)) => {
                    let answer = crate::http::Answer { status, retry_after, body: Value::Null };
                    ensure!(is_transient(&answer), "AG-UI: {status}");
                }
                Err(_) => {}
            }
            ensure!(tokio::time::Instant::now() < until, "AG-UI: no answer counts");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Goes back to the end of one of the turns.
    async fn rewind(&mut self) -> anyhow::Result<()> {
        let page = self.world.get(&self.path("/history?limit=200")).await?;
        let facts = page["facts"].as_array().into_iter().flatten();
        let settled = facts.filter(|fact| fact["kind"] == "TurnSettled");
        let settled: Vec<u64> = settled.filter_map(|fact| fact["seq"].as_u64()).collect();
        let which = usize::try_from(self.random.below(settled.len() as u64))?;
        match settled.get(which) {
            Some(to) => self.command("/rewind", &json!({"to": to})).await,
            None => Ok(()),
        }
    }
}
