//! Reach: says things to a session, whoever drives it: this engine, another node, or nobody yet.

pub(crate) mod letter;
mod post;
pub(crate) mod said;
mod word;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::{
    Answer, CallId, Delivery, Digest, Goal, InputId, Interrupter, Scope, Seq, Session, SessionId,
    Settings, StopWhen, TurnId, Widening,
};
use windlass_ports::OutputKeeper;
use windlass_ports::sync::Mutex;

use crate::conversation::Conversation;
use crate::engine::{Engine, Start};
use crate::error::{Ended, SendError, StartError};
use crate::images;
use crate::load::load;
use crate::send::Send;
use post::Posting;
use said::{Said, Sent};
use word::{Word, WordKey};

pub(crate) use word::keyed;

/// How long it waits before it asks once more for what has just failed, at first and at most.
const PAUSE: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// For how long an engine that was shut down waits for another node's word.
const SHUT: Duration = Duration::from_secs(5);

/// A session that things are said to, whoever drives it. What it says is done once.
///
/// Where the session is driven here, or can be, it is as with a [`Conversation`]. Where another node
/// drives it, or this one drives as many as it may, a word is left as a letter beside the log, and
/// whoever drives the session, or takes it up, acts on it and replies. Each word waits for its
/// answer for at most [`Config::reach_ms`](crate::Config::reach_ms); after that it is
/// [`SendError::Waits`]: it stands, and will be done, and saying it again with the same key tells
/// what became of it.
///
/// A caller who goes away while a word waits changes nothing of that. Dropping this stops nothing.
///
/// A word with the caller's key is done once, however often and at whichever nodes it is asked for,
/// as long as the session remembers the key: for 64 such words. One that was refused is decided
/// anew when it is asked for again.
pub struct Reached {
    engine: Engine,
    id: SessionId,
    scope: Scope,
    /// The driver here, once there is one: it stays as long as this.
    here: Mutex<Option<Conversation>>,
}

impl Engine {
    /// Reaches for a session, to say things to it: opens it here, or attaches to it, where that may
    /// be; and where another node drives it, or this one drives as many as it may, finds out that
    /// `scope` may see it.
    ///
    /// An engine that is alone on its store reaches only what it can open.
    ///
    /// # Errors
    /// As [`Engine::open`]. An engine [`among`](Engine::among) others has no
    /// [`StartError::Locked`] and no [`StartError::Busy`] here.
    pub async fn reach(&self, id: &SessionId, scope: &Scope) -> Result<Reached, StartError> {
        let reached = Reached {
            engine: self.clone(),
            id: id.clone(),
            scope: scope.clone(),
            here: Mutex::default(),
        };
        match reached.open().await {
            Ok(_) => {}
            Err(error) if self.others_may(&error) => {
                self.look(id, scope).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(reached)
    }

    /// Whether what cannot be opened here for this cause may be driven by another node.
    fn others_may(&self, error: &StartError) -> bool {
        let may = match error {
            StartError::Locked(_) | StartError::Busy { .. } | StartError::Shut(_) => true,
            StartError::Unknown(_)
            | StartError::Exists(_)
            | StartError::Unfinished { .. }
            | StartError::Corrupt(_)
            | StartError::Misfit { .. }
            | StartError::Settings(_)
            | StartError::Child(_)
            | StartError::Lacking { .. }
            | StartError::Store(_) => false,
        };
        may && self.inner.peers.is_some()
    }
}

impl Reached {
    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Whether the driver that it has reached is here, and has not ended.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.held().is_some_and(|here| !here.is_over())
    }

    /// Says something, see [`Conversation::send`]. The key of the word is the input's own.
    ///
    /// # Errors
    /// [`SendError`] when it is refused, waits, or cannot be said.
    pub async fn send(&self, send: Send) -> Result<InputId, SendError> {
        let blobs = self.engine.inner.ports.blobs.clone();
        let keeper = OutputKeeper::new(blobs, self.id.clone());
        let images = images::kept(&keeper, &send.images).await?;
        let key = send.key.clone();
        let sent = Sent {
            text: send.text,
            delivery: send.delivery,
            context: send.context,
            images,
            key: send.key,
            dry_run: send.dry_run,
        };
        let said = Said::Send(Box::new(sent));
        let first = self.say(send.scope, said, key.as_deref()).await?;
        Ok(InputId(first.0))
    }

    /// Says something to the turn that runs, see [`Conversation::steer`].
    ///
    /// # Errors
    /// As [`Reached::send`].
    pub async fn steer(&self, send: Send) -> Result<InputId, SendError> {
        let delivery = Delivery::Steer;
        self.send(Send { delivery, ..send }).await
    }

    /// Replaces the settings, see [`Conversation::configure`].
    ///
    /// # Errors
    /// [`SendError`] when it is refused, waits, or cannot be said.
    pub async fn configure(
        &self,
        settings: Settings,
        scope: Scope,
        widening: Widening,
        key: Option<&str>,
    ) -> Result<(), SendError> {
        let said = Said::Configure {
            settings: Box::new(settings),
            widening: widening.into(),
        };
        self.say(scope, said, key).await.map(drop)
    }

    /// Gives the session a goal, or takes it away, see [`Conversation::set_goal`].
    ///
    /// # Errors
    /// [`SendError`] when it is refused, waits, or cannot be said.
    pub async fn set_goal(
        &self,
        goal: Option<Goal>,
        scope: Scope,
        key: Option<&str>,
    ) -> Result<(), SendError> {
        let said = Said::SetGoal { goal };
        self.say(scope, said, key).await.map(drop)
    }

    /// Asks a turn to stop, see [`Conversation::interrupt`]: the one that is named, and no other; or
    /// whichever runs when it is acted upon. Answers the position of the request.
    ///
    /// # Errors
    /// [`SendError`] when it is refused, waits, or cannot be said.
    pub async fn interrupt(
        &self,
        stop: Stop<'_>,
        scope: Scope,
        key: Option<&str>,
    ) -> Result<Seq, SendError> {
        let said = Said::Interrupt {
            by: stop.by,
            reason: stop.reason.to_owned(),
            when: stop.when,
            turn: stop.turn,
        };
        self.say(scope, said, key).await
    }

    /// Answers an open question about a call, see [`Conversation::answer`].
    ///
    /// # Errors
    /// [`SendError`] when it is refused, waits, or cannot be said.
    pub async fn answer(
        &self,
        call: CallId,
        scope: Scope,
        arguments: Digest,
        answer: Answer,
        key: Option<&str>,
    ) -> Result<(), SendError> {
        let said = Said::Answer {
            call,
            arguments,
            answer: answer.into(),
        };
        self.say(scope, said, key).await.map(drop)
    }

    /// Goes on with what waits, see [`Conversation::go_on`]. Answers where the turn that it opened
    /// begins; where one ran already, the next position.
    ///
    /// # Errors
    /// [`SendError`] when it is refused, waits, or cannot be said.
    pub async fn go_on(&self, key: Option<&str>) -> Result<Seq, SendError> {
        self.say(self.scope.clone(), Said::GoOn {}, key).await
    }

    /// The state of the session: as decided so far where it is driven here, else as its log says.
    ///
    /// # Errors
    /// [`StartError`] when the log cannot be read.
    pub async fn state(&self) -> Result<Session, StartError> {
        if let Some(here) = self.held() {
            match here.state().await {
                Ok(state) => return Ok(state),
                Err(_) => self.forget(),
            }
        }
        let inner = &self.engine.inner;
        let loaded = load(inner.ports.store.as_ref(), &self.id, inner.config.page).await?;
        Ok(loaded.session)
    }

    /// Says a word, and answers the position of its first fact.
    async fn say(&self, scope: Scope, said: Said, key: Option<&str>) -> Result<Seq, SendError> {
        let inner = &self.engine.inner;
        if inner.peers.is_none() && key.is_none() {
            // Nobody else can have taken it, and nobody can ask for it again.
            let here = self.open().await.map_err(start)?;
            return here.take(said.input(scope)).await;
        }
        let key = match key {
            Some(key) => WordKey::of(&self.id, &scope, &said, key),
            None => WordKey::fresh(&self.id, inner.ports.clock.as_ref()),
        };
        self.say_once(&Word { scope, said, key }).await
    }

    /// Has a word done by whoever can: again and again, as the key makes it one.
    async fn say_once(&self, word: &Word) -> Result<Seq, SendError> {
        let mut until = after(Duration::from_millis(self.engine.inner.config.reach_ms));
        let (mut pause, mut posting) = (PAUSE, None);
        loop {
            let error = match self.try_once(word, &mut posting, &mut until).await? {
                Told::Taken(first) => return Ok(first),
                Told::NotYet(error) => error,
            };
            if Instant::now() >= until {
                return Err(error);
            }
            if !matches!(error, SendError::Waits { .. }) {
                sleep(pause).await;
                pause = pause.saturating_mul(2).min(PAUSE_MAX);
            }
        }
    }

    /// Hands a word to the driver here, if there may be one, or leaves it as a letter.
    ///
    /// Once it was left only the letter counts, also where the session is driven here by then: else
    /// it might be refused as the one and done as the other.
    async fn try_once<'a>(
        &'a self,
        word: &'a Word,
        posting: &mut Option<Posting<'a>>,
        until: &mut Instant,
    ) -> Result<Told, SendError> {
        let opened = self.open().await;
        let peers = self.engine.inner.peers.as_ref();
        match (opened, posting, peers) {
            (Ok(here), None, _) => match here.take(word.input()).await {
                Ok(first) => Ok(Told::Taken(first)),
                Err(error) if passes(&error) => {
                    self.forget();
                    Ok(Told::NotYet(error))
                }
                Err(error) => Err(error),
            },
            (Ok(_), Some(posting), _) => posting.ask(*until).await,
            (Err(error), posting, Some(peers)) if self.engine.others_may(&error) => {
                if let StartError::Shut(_) = error {
                    *until = (*until).min(after(SHUT));
                }
                let posting = posting.get_or_insert_with(|| Posting::new(self, peers, word));
                posting.ask(*until).await
            }
            (Err(error), _, _) => Err(start(error)),
        }
    }

    /// The way to the driver here, which is opened or attached to where that may be.
    async fn open(&self) -> Result<Conversation, StartError> {
        if let Some(here) = self.held() {
            match here.is_over() {
                true => self.forget(),
                false => return Ok(here),
            }
        }
        let opened = self.engine.open(&self.id, &self.scope, Start::Existing);
        let here = opened.await?;
        *self.here.lock() = Some(here.clone());
        Ok(here)
    }

    fn held(&self) -> Option<Conversation> {
        self.here.lock().clone()
    }

    fn forget(&self) {
        *self.here.lock() = None;
    }
}

/// How a turn is asked to stop.
#[derive(Debug, Clone, Copy)]
pub struct Stop<'a> {
    /// Who asks.
    pub by: Interrupter,
    /// In which words; what is longer than 1,024 bytes is cut.
    pub reason: &'a str,
    /// When it is to stop.
    pub when: StopWhen,
    /// Which turn; `None` for whichever runs.
    pub turn: Option<TurnId>,
}

/// What saying a word once came to.
enum Told {
    /// It is durable, with its first fact at this position.
    Taken(Seq),
    /// It may be another time.
    NotYet(SendError),
}

/// Whether a driver has ended, or is about to, for a cause that is none of the next one.
fn passes(error: &SendError) -> bool {
    let SendError::Ended(ended) = error else {
        return false;
    };
    match &**ended {
        Ended::Closed | Ended::Superseded(_) | Ended::Parted { .. } | Ended::Abandoned => true,
        Ended::Store(_) | Ended::Defect(_) => false,
    }
}

fn start(error: StartError) -> SendError {
    SendError::Start(Arc::new(error))
}

fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now)
}
