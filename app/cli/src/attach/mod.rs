//! Attaching: shows a session of a server in a terminal as if it ran here.
//!
//! It only watches and answers approvals. When it ends, the session continues.

mod client;
mod frames;
mod names;
mod questions;
mod queue;
mod stream;

use windlass_engine::core::{InputEntry, Seq, TimelineEntry, View};
use windlass_engine::{Event, TurnReport};

use crate::exit::{ExitKind, Failure};
use crate::present::{HumanPresenter, JsonPresenter, Presenter, first_words, print_notice};

pub(crate) use client::{
    QuestionAnswer, RemoteServer, RemoteSession, RequestFailure, ServerQuestion,
};
use questions::Questions;
pub(crate) use stream::{SessionStream, StreamItem};

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
    let shown = AttachOutput {
        present: match watching.json {
            true => Box::new(JsonPresenter::default()),
            false => Box::new(HumanPresenter::new()),
        },
        json: watching.json,
        once: watching.once,
        view: View::default(),
        questions: match watching.json {
            true => None,
            false => Some(Questions::new(far.clone(), state.posture(), Seq(state.last))),
        },
    };
    follow(SessionStream::new(far, after), shown).await
}

/// Shows the events of the stream, until a turn has ended if requested.
async fn follow(mut stream: SessionStream, mut shown: AttachOutput) -> Result<ExitKind, Failure> {
    if let Some(questions) = &mut shown.questions {
        questions.ask_open().await.map_err(RequestFailure::into_failure)?;
    }
    loop {
        match stream.next().await.map_err(RequestFailure::into_failure)? {
            StreamItem::Event(event) => {
                if let Some(exit) = shown.event(event).map_err(crate::command::closed)? {
                    return Ok(exit);
                }
            }
            StreamItem::Reconnecting(why) if !shown.json => {
                print_notice(&format!("! {why}; reconnecting"));
            }
            StreamItem::Reconnecting(_) => {}
        }
    }
}

/// State of the output.
struct AttachOutput {
    present: Box<dyn Presenter + Send>,
    json: bool,
    once: bool,
    view: View,
    /// Approvals of the session; `None` when envelopes are printed.
    questions: Option<Questions>,
}

impl AttachOutput {
    /// Shows an event. Returns the exit code if the command ends with it.
    fn event(&mut self, event: Event) -> std::io::Result<Option<ExitKind>> {
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
