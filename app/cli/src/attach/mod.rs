//! Attaching: a session of a server, shown in a terminal as if it ran here.
//!
//! It only watches and answers questions. When it goes away the session goes on.

mod far;
mod frames;
mod joined;
mod questions;

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_engine::core::{Entry, InputEntry, Seq, View};
use windlass_engine::{Event, TurnReport};

use crate::exit::{Exit, Failure};
use crate::present::{Human, Json, Present, first_words, tell};

pub(crate) use far::{Far, Trouble};
use frames::{Frame, Frames};
use joined::Joined;
use questions::Questions;

/// Longest absence of a server before attaching is given up.
const PATIENCE: Duration = Duration::from_secs(300);
/// The first wait between two tries; it doubles with each.
const BACKOFF: Duration = Duration::from_millis(250);
/// The longest wait between two tries.
const BACKOFF_MOST: Duration = Duration::from_secs(10);
/// Longest silence of a stream: its heartbeats arrive three times as often.
const SILENCE: Duration = Duration::from_secs(45);
/// Most characters of an input that are shown.
const INPUT: usize = 400;

/// Extent of the output.
pub(crate) struct Watching {
    /// Position after which output starts; `None` for the running turn, or the next events.
    pub(crate) after: Option<Seq>,
    /// True if it ends with the turn that runs, or with the next one.
    pub(crate) once: bool,
    /// True if it prints envelopes.
    pub(crate) json: bool,
}

/// Shows a session of a server until a turn has ended, where that is asked for, or for ever.
///
/// # Errors
/// When the server refuses, is away for too long, or standard output cannot be written to.
pub(crate) async fn attach(far: Far, watching: Watching) -> Result<Exit, Failure> {
    let state = far.session().await.map_err(Trouble::into_failure)?;
    let after = match (watching.after, state.turn) {
        (Some(after), _) => after,
        (None, Some(turn)) => Seq(turn.saturating_sub(1)),
        (None, None) => Seq(state.last),
    };
    if !watching.json {
        tell(&format!(
            "session {} on {} is {}",
            far.id(),
            far.shown(),
            state.state
        ));
    }
    let far = Arc::new(far);
    let shown = Shown {
        present: match watching.json {
            true => Box::new(Json),
            false => Box::new(Human::new()),
        },
        json: watching.json,
        once: watching.once,
        view: View::default(),
        joined: Joined::default(),
        cursor: after,
        questions: match watching.json {
            true => None,
            false => Some(Questions::new(far.clone(), state.posture())),
        },
    };
    follow(&far, shown).await
}

/// Follows the stream over as many connections as it takes.
async fn follow(far: &Far, mut shown: Shown) -> Result<Exit, Failure> {
    let (mut wait, mut away) = (BACKOFF, None::<Instant>);
    if let Some(questions) = &mut shown.questions {
        questions.look().await.map_err(Trouble::into_failure)?;
    }
    loop {
        let before = shown.cursor;
        let trouble = match connection(far, &mut shown).await? {
            Ended::Settled(exit) => return Ok(exit),
            Ended::Broke(trouble) => trouble,
        };
        if !trouble.passes {
            return Err(trouble.into_failure());
        }
        if shown.cursor > before || trouble.after_events {
            (wait, away) = (BACKOFF, None);
        }
        let since = *away.get_or_insert_with(Instant::now);
        if since.elapsed() > PATIENCE {
            return Err(trouble.into_failure());
        }
        if !shown.json {
            tell(&format!("! {}; looking again", trouble.words));
        }
        tokio::time::sleep(trouble.wait.unwrap_or(wait).min(BACKOFF_MOST)).await;
        wait = wait.saturating_mul(2).min(BACKOFF_MOST);
    }
}

/// End of a connection.
enum Ended {
    /// The turn that was waited for has settled.
    Settled(Exit),
    /// It broke off, or was ended.
    Broke(Trouble),
}

async fn connection(far: &Far, shown: &mut Shown) -> Result<Ended, Failure> {
    let mut body = match far.events(shown.cursor).await {
        Ok(body) => body,
        Err(trouble) => return Ok(Ended::Broke(trouble)),
    };
    shown.joined.again();
    let mut frames = Frames::default();
    let mut heard = false;
    loop {
        let chunk = match tokio::time::timeout(SILENCE, body.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(Ended::Broke(Trouble::broken("the stream ended", heard))),
            Ok(Err(error)) => {
                return Ok(Ended::Broke(Trouble::broken(&error.to_string(), heard)));
            }
            Err(_) => return Ok(Ended::Broke(Trouble::broken("the stream is silent", heard))),
        };
        heard = true;
        let came = match frames.take(&chunk) {
            Ok(came) => came,
            Err(why) => return Ok(Ended::Broke(Trouble::broken(&why, false))),
        };
        for frame in came {
            match frame {
                Frame::Event(event) => {
                    if let Some(exit) = shown.event(event).map_err(crate::command::closed)? {
                        return Ok(Ended::Settled(exit));
                    }
                }
                Frame::Lagged => {
                    let words = "what came was too much at once";
                    return Ok(Ended::Broke(Trouble::broken(words, true)));
                }
                Frame::End(reason) => return Ok(Ended::Broke(Trouble::ended(&reason))),
            }
        }
    }
}

/// State of the output.
struct Shown {
    present: Box<dyn Present + Send>,
    json: bool,
    once: bool,
    view: View,
    /// Shown part of the live text.
    joined: Joined,
    /// The last fact that was shown.
    cursor: Seq,
    /// Asks the session's questions; `None` when envelopes are printed.
    questions: Option<Questions>,
}

impl Shown {
    /// Shows an event. Answers how the command ends, if it does.
    fn event(&mut self, event: Event) -> std::io::Result<Option<Exit>> {
        let event = match event {
            Event::Live(all) => match self.joined.live(&all) {
                Some(rest) => Event::Live(rest.into()),
                None => return Ok(None),
            },
            Event::Fact(fact) => {
                if fact.seq <= self.cursor {
                    return Ok(None);
                }
                self.joined.fact(&fact);
                Event::Fact(fact)
            }
            other @ (Event::Lagged { .. } | Event::Ended(_)) => other,
        };
        let Event::Fact(fact) = &event else {
            self.present.event(&event)?;
            return Ok(None);
        };
        if let (false, Entry::Input(InputEntry::Queued(queued))) = (self.json, Entry::of(fact)) {
            // Input of people is shown too: they typed it elsewhere.
            tell(&format!("$ {}", first_words(&queued.text, INPUT)));
        }
        self.present.event(&event)?;
        self.cursor = fact.seq;
        if let Some(questions) = &mut self.questions {
            questions.fact(fact);
        }
        let report = TurnReport::apply(&mut self.view, fact);
        let began = self.view.turn().is_some_and(|turn| turn.opened.is_some());
        let Some(report) = report.filter(|_| began) else {
            return Ok(None);
        };
        self.present.settled(&report)?;
        Ok(self.once.then(|| Exit::of(&report.outcome)))
    }
}
