//! For people: the answer on standard output, what happens on the way on standard error.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};

use windlass::core::{
    CallId, Delta, Fact, Item, LimitKind, Mode, ObservationStatus, Outcome, Recorded, Seq,
    SessionId, Timestamp,
};
use windlass::{Event, LiveKind, TurnReport};

use super::{Present, line, tell, visible};
use crate::exit::Failure;

/// How much of a call's arguments is shown, in characters.
const ARGUMENTS: usize = 120;

/// Shows a turn to a person.
pub(crate) struct Human {
    /// Whether the answer streams to a terminal as it comes.
    streams: bool,
    /// What of the present answer has been streamed.
    streamed: String,
    /// Text of samples whose `SampleStarted` has not been seen: a delta comes at once, a fact once
    /// it is durable, and each is shown in the log's order.
    held: Vec<(Seq, String)>,
    /// The last fact that was seen.
    seen: Seq,
    calls: BTreeMap<CallId, String>,
}

impl Human {
    pub(crate) fn new() -> Self {
        Self {
            streams: io::stdout().is_terminal(),
            streamed: String::new(),
            held: Vec::new(),
            seen: Seq::ZERO,
            calls: BTreeMap::new(),
        }
    }

    fn fact(&mut self, recorded: &Recorded) {
        match &recorded.fact {
            Fact::ItemAdded(added) => {
                if let Item::Call(call) = &added.item {
                    let words =
                        format!("{} {}", call.name, first_words(&call.arguments, ARGUMENTS));
                    self.calls.insert(CallId(recorded.seq.0), words);
                }
            }
            Fact::SampleStarted(started) if started.attempt > 1 => {
                tell(&format!("  asking again (attempt {})", started.attempt));
            }
            Fact::CallStarted(started) => {
                self.end_line();
                tell(&format!("> {}", self.call(started.call)));
            }
            Fact::CallObserved(observed) => {
                let seen = &observed.observation;
                let words = match seen.status {
                    ObservationStatus::Done => format!("< {} bytes", seen.output_bytes),
                    ObservationStatus::Failed
                    | ObservationStatus::Denied
                    | ObservationStatus::Aborted
                    | ObservationStatus::Unknown
                    | ObservationStatus::NotStarted => {
                        let call = self.call(observed.call);
                        format!("< {call}: {}", first_words(&seen.output, 300))
                    }
                };
                tell(&words);
            }
            // Without another attempt it is the end of the turn, which says it once.
            Fact::SampleCut(cut) => {
                self.end_line();
                if let Some(due) = cut.retry_at {
                    tell(&format!("! {}", first_words(&cut.failure.message, 600)));
                    let wait_s = due.0.saturating_sub(recorded.ts.0).div_ceil(1_000);
                    if wait_s > 1 {
                        tell(&format!("  asking again in {wait_s} s"));
                    }
                }
            }
            Fact::SessionOpened(_)
            | Fact::SettingsChanged(_)
            | Fact::InputQueued(_)
            | Fact::TurnOpened(_)
            | Fact::InputAccepted(_)
            | Fact::SampleStarted(_)
            | Fact::SampleEnded(_)
            | Fact::CallDecided(_)
            | Fact::InterruptRequested(_)
            | Fact::TurnSettled(_) => {}
        }
    }

    /// Streams what was held and may be shown now.
    fn stream(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let seen = self.seen;
        let mut out = io::stdout().lock();
        for (_, text) in self.held.extract_if(.., |(started, _)| *started <= seen) {
            out.write_all(visible(&text).as_bytes())?;
            self.streamed.push_str(&text);
        }
        out.flush()
    }

    fn call(&self, id: CallId) -> &str {
        self.calls.get(&id).map_or("a call", String::as_str)
    }

    fn end_line(&mut self) {
        if !self.streamed.is_empty() {
            self.streamed.clear();
            let _ = line("");
        }
    }
}

impl Present for Human {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Fact(recorded) => {
                self.fact(recorded);
                self.seen = recorded.seq;
                self.stream()?;
            }
            Event::Live(all) if self.streams => {
                for live in all.iter() {
                    if let LiveKind::Delta {
                        started,
                        delta: Delta::Text { text, .. } | Delta::Refusal { text, .. },
                    } = &live.kind
                    {
                        self.held.push((*started, text.clone()));
                    }
                }
                self.stream()?;
            }
            Event::Live(_) | Event::Lagged { .. } | Event::Ended(_) => {}
        }
        Ok(())
    }

    fn settled(&mut self, report: &TurnReport) -> io::Result<()> {
        if self.streams && self.streamed == report.answer {
            self.end_line();
        } else if !report.answer.is_empty() {
            self.end_line();
            let answer = if self.streams {
                visible(&report.answer)
            } else {
                report.answer.clone()
            };
            line(&answer)?;
        }
        if report.outcome != Outcome::Completed {
            tell(&format!("windlass: {}", outcome_words(&report.outcome)));
            let session = &report.settled.session;
            tell(&format!("  to go on: windlass resume {session} PROMPT"));
        }
        io::stdout().flush()
    }

    fn failed(
        &mut self,
        _failure: &Failure,
        _session: Option<&SessionId>,
        _at: Timestamp,
    ) -> io::Result<()> {
        self.end_line();
        Ok(())
    }
}

/// The first characters of a text, on one line.
pub(crate) fn first_words(text: &str, most: usize) -> String {
    let mut words: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        words.push_str("...");
    }
    words.replace('\n', " ")
}

/// An outcome in words.
pub(crate) fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed => "completed".to_owned(),
        Outcome::NoAnswer => "the model ended without an answer".to_owned(),
        Outcome::Refused => "the model refused".to_owned(),
        Outcome::Interrupted { reason, .. } => format!("interrupted: {reason}"),
        Outcome::Blocked { reason } => format!("blocked: {reason}"),
        Outcome::Exhausted { limit } => {
            format!("a limit of the turn is exhausted: {}", limit_words(*limit))
        }
        Outcome::Failed { message, .. } => format!("failed: {message}"),
    }
}

/// A limit in words, with the flag that sets it.
fn limit_words(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Samples => "it has asked the model as often as it may (--max-samples)",
        LimitKind::CallsPerSample => "the model asked for too many tool calls at once",
        LimitKind::Calls => "it has run as many tool calls as it may",
        LimitKind::Tokens => "it has used as many tokens as it may",
        LimitKind::OutputTokens => "the answer was cut off at the limit of output tokens",
        LimitKind::WallClock => "its time is over (--deadline)",
    }
}

/// What became of a call, in words.
fn status_words(status: ObservationStatus) -> &'static str {
    match status {
        ObservationStatus::Done => "returned",
        ObservationStatus::Failed => "failed",
        ObservationStatus::Denied => "was denied",
        ObservationStatus::Aborted => "was stopped",
        ObservationStatus::Unknown => "has an unknown outcome",
        ObservationStatus::NotStarted => "was not started",
    }
}

/// One line of a session's story, for facts that are part of it.
pub(crate) fn story(recorded: &Recorded) -> Option<String> {
    let words = match &recorded.fact {
        Fact::SessionOpened(opened) => {
            let settings = &opened.settings;
            format!(
                "session {} on {} {}",
                recorded.session, settings.provider, settings.model
            )
        }
        Fact::SettingsChanged(changed) => {
            let settings = &changed.settings;
            format!(
                "settings: {} {}, {} mode",
                settings.provider,
                settings.model,
                match settings.mode {
                    Mode::Build => "build",
                    Mode::Plan => "plan",
                }
            )
        }
        Fact::InputQueued(queued) => format!("user: {}", queued.text),
        Fact::ItemAdded(added) => match &added.item {
            Item::Text { text } => format!("model: {text}"),
            Item::Refusal { text } => format!("model refuses: {text}"),
            Item::Reasoning(item) if item.text.is_empty() => return None,
            Item::Reasoning(item) => format!("model thinks: {}", item.text),
            Item::Call(call) => {
                format!("call {}: {} {}", recorded.seq, call.name, call.arguments)
            }
        },
        Fact::SampleCut(cut) => format!("the model was cut off: {}", cut.failure.message),
        Fact::CallStarted(started) if started.attempt > 1 => {
            format!(
                "call {} started again (run {})",
                started.call, started.attempt
            )
        }
        Fact::CallObserved(observed) => format!(
            "call {} {}: {}",
            observed.call,
            status_words(observed.observation.status),
            observed.observation.output
        ),
        Fact::InterruptRequested(interrupt) => format!("asked to stop: {}", interrupt.reason),
        Fact::TurnSettled(settled) => {
            let spent = &settled.spent;
            format!(
                "turn {}: {} ({} samples, {} calls, {} tokens)",
                recorded.turn.map_or(0, |turn| turn.0),
                outcome_words(&settled.outcome),
                spent.samples,
                spent.calls,
                spent.usage.tokens()
            )
        }
        Fact::TurnOpened(_)
        | Fact::InputAccepted(_)
        | Fact::SampleStarted(_)
        | Fact::SampleEnded(_)
        | Fact::CallDecided(_)
        | Fact::CallStarted(_) => return None,
    };
    Some(visible(&words))
}
