//! Attaching: shows a session of a server in a terminal as if it ran here.
//!
//! It only watches and answers approvals. When it ends, the session continues.

mod client;
mod frames;
mod questions;
mod queue;

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_engine::core::{InputEntry, Seq, TimelineEntry, View};
use windlass_engine::{Event, LiveCheck, TurnReport};

use crate::exit::{ExitKind, Failure};
use crate::present::{HumanPresenter, JsonPresenter, Presenter, first_words, print_notice};

pub(crate) use client::{RemoteSession, RequestFailure};
use frames::{FrameParser, StreamFrame};
use questions::Questions;

/// Longest unavailability of a server before attaching ends.
const MAX_ABSENCE: Duration = Duration::from_secs(300);
/// First delay between two attempts; it doubles each time.
const BACKOFF: Duration = Duration::from_millis(250);
/// Longest delay between two attempts.
const BACKOFF_MOST: Duration = Duration::from_secs(10);
/// Longest silence of a stream: its heartbeats arrive three times as often.
const MAX_SILENCE: Duration = Duration::from_secs(45);
/// Most characters of an input that are shown.
const INPUT: usize = 400;

/// Extent of the output.
pub(crate) struct AttachOptions {
    /// Position after which output starts; `None` for the running turn, or the next events.
    pub(crate) after: Option<Seq>,
    /// True to end with the running turn, or with the next one.
    pub(crate) once: bool,
    /// True to print envelopes.
    pub(crate) json: bool,
}

/// Shows a session of a server, until a turn has ended if requested, else until a signal.
///
/// # Errors
/// When the server rejects the request, is unavailable for too long, or standard output fails.
pub(crate) async fn attach(
    far: RemoteSession,
    watching: AttachOptions,
) -> Result<ExitKind, Failure> {
    let state = far.session().await.map_err(RequestFailure::into_failure)?;
    let after = match (watching.after, state.turn) {
        (Some(after), _) => after,
        (None, Some(turn)) => Seq(turn.saturating_sub(1)),
        (None, None) => Seq(state.last),
    };
    if !watching.json {
        print_notice(&format!("session {} on {} is {}", far.id(), far.server(), state.state));
    }
    let far = Arc::new(far);
    let shown = AttachOutput {
        present: match watching.json {
            true => Box::new(JsonPresenter::default()),
            false => Box::new(HumanPresenter::new()),
        },
        json: watching.json,
        once: watching.once,
        view: View::default(),
        check: LiveCheck::default(),
        cursor: after,
        questions: match watching.json {
            true => None,
            false => Some(Questions::new(far.clone(), state.posture(), Seq(state.last))),
        },
    };
    follow(&far, shown).await
}

/// Follows the stream over as many connections as necessary.
async fn follow(far: &RemoteSession, mut shown: AttachOutput) -> Result<ExitKind, Failure> {
    let (mut wait, mut away) = (BACKOFF, None::<Instant>);
    if let Some(questions) = &mut shown.questions {
        questions.ask_open().await.map_err(RequestFailure::into_failure)?;
    }
    loop {
        let before = shown.cursor;
        let trouble = match connection(far, &mut shown).await? {
            ConnectionEnd::Settled(exit) => return Ok(exit),
            ConnectionEnd::Failed(trouble) => trouble,
        };
        if !trouble.transient {
            return Err(trouble.into_failure());
        }
        if shown.cursor > before || trouble.after_events {
            (wait, away) = (BACKOFF, None);
        }
        let since = *away.get_or_insert_with(Instant::now);
        if since.elapsed() > MAX_ABSENCE {
            return Err(trouble.into_failure());
        }
        if !shown.json {
            print_notice(&format!("! {}; reconnecting", trouble.message));
        }
        tokio::time::sleep(trouble.wait.unwrap_or(wait).min(BACKOFF_MOST)).await;
        wait = wait.saturating_mul(2).min(BACKOFF_MOST);
    }
}

/// End of a connection.
enum ConnectionEnd {
    /// The awaited turn has settled.
    Settled(ExitKind),
    /// The connection failed or was ended.
    Failed(RequestFailure),
}

async fn connection(
    far: &RemoteSession,
    shown: &mut AttachOutput,
) -> Result<ConnectionEnd, Failure> {
    let mut body = match far.events(shown.cursor).await {
        Ok(body) => body,
        Err(trouble) => return Ok(ConnectionEnd::Failed(trouble)),
    };
    shown.check.restart();
    let mut frames = FrameParser::default();
    let mut heard = false;
    loop {
        let chunk = match tokio::time::timeout(MAX_SILENCE, body.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => {
                return Ok(ConnectionEnd::Failed(RequestFailure::broken(
                    "the stream ended",
                    heard,
                )));
            }
            Ok(Err(error)) => {
                return Ok(ConnectionEnd::Failed(RequestFailure::broken(
                    &error.to_string(),
                    heard,
                )));
            }
            Err(_) => {
                return Ok(ConnectionEnd::Failed(RequestFailure::broken(
                    "the stream is silent",
                    heard,
                )));
            }
        };
        heard = true;
        let came = match frames.push(&chunk) {
            Ok(came) => came,
            Err(why) => return Ok(ConnectionEnd::Failed(RequestFailure::broken(&why, false))),
        };
        for frame in came {
            match frame {
                StreamFrame::Event(event) => {
                    if let Some(exit) = shown.event(event).map_err(crate::command::closed)? {
                        return Ok(ConnectionEnd::Settled(exit));
                    }
                }
                StreamFrame::Lagged { missed } => {
                    let lagged = Event::Lagged { missed };
                    shown.event(lagged).map_err(crate::command::closed)?;
                    let words = "the server sent too much at once";
                    return Ok(ConnectionEnd::Failed(RequestFailure::broken(words, true)));
                }
                StreamFrame::End(reason) => {
                    return Ok(ConnectionEnd::Failed(RequestFailure::ended(&reason)));
                }
            }
        }
    }
}

/// State of the output.
struct AttachOutput {
    present: Box<dyn Presenter + Send>,
    json: bool,
    once: bool,
    view: View,
    /// Check of the events over all connections.
    check: LiveCheck,
    /// Last fact that was shown.
    cursor: Seq,
    /// Approvals of the session; `None` when envelopes are printed.
    questions: Option<Questions>,
}

impl AttachOutput {
    /// Shows an event. Returns the exit code if the command ends with it.
    fn event(&mut self, event: Event) -> std::io::Result<Option<ExitKind>> {
        if matches!(&event, Event::Fact(fact) if fact.seq <= self.cursor) {
            return Ok(None);
        }
        if self.check.apply(&event) {
            self.present.event(&Event::Lagged { missed: 1 })?;
        }
        let Event::Fact(fact) = &event else {
            self.present.event(&event)?;
            return Ok(None);
        };
        if let (false, TimelineEntry::Input(InputEntry::Queued(queued))) =
            (self.json, TimelineEntry::of(fact))
        {
            // Users' inputs are shown too, since they were typed elsewhere.
            print_notice(&format!("$ {}", first_words(&queued.text, INPUT)));
        }
        self.present.event(&event)?;
        self.cursor = fact.seq;
        if let Some(questions) = &mut self.questions {
            questions.on_fact(fact);
        }
        let report = TurnReport::apply(&mut self.view, fact);
        let began = self.view.turn().is_some_and(|turn| turn.opened.is_some());
        let Some(report) = report.filter(|_| began) else {
            return Ok(None);
        };
        self.present.settled(&report)?;
        Ok(self.once.then(|| ExitKind::of(&report.outcome)))
    }
}
