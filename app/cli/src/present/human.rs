//! For people: the answer on standard output, what happens on the way on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use windlass_engine::core::{
    CallEntry, CallId, CallStarted, CompactionEntry, Delta, Entry, HookEntry, Observation,
    ObservationStatus, Outcome, Recorded, SampleCut, SampleEntry, Seq, SessionEntry, SessionId,
    Stands, Timestamp, View,
};
use windlass_engine::{Event, LiveKind, TurnReport, unfenced};

use super::story::{hook, program};
use super::words::{first_words, goal_words, outcome_words, trigger_words, visible, waiting_words};
use super::{Present, line, tell};
use crate::exit::Failure;

/// Most characters of a call's arguments that are shown.
const ARGUMENTS: usize = 120;

/// Shows a turn to a person.
pub(crate) struct Human {
    /// True if the answer streams to a terminal as it comes.
    streams: bool,
    /// True if an answer is printed as the value that was checked.
    shaped: bool,
    /// Streamed part of the current answer.
    streamed: String,
    /// Text of samples whose `SampleStarted` has not been seen: a delta comes at once, a fact once
    /// it is durable, and each is shown in the log's order.
    held: Vec<(Seq, String)>,
    /// The last fact that was seen.
    seen: Seq,
    view: View,
}

impl Human {
    pub(crate) fn new() -> Self {
        Self {
            streams: io::stdout().is_terminal(),
            shaped: false,
            streamed: String::new(),
            held: Vec::new(),
            seen: Seq::ZERO,
            view: View::default(),
        }
    }

    fn fact(&mut self, recorded: &Recorded) {
        match self.view.apply(recorded) {
            Entry::Program(run) => self.aside(&program(run)),
            Entry::Sample(SampleEntry::Started(started)) if started.attempt > 1 => {
                tell(&format!("  asking again (attempt {})", started.attempt));
            }
            Entry::Sample(SampleEntry::Ended(ended)) => {
                if let Some(fault) = &ended.fault {
                    self.end_line();
                    let why = first_words(fault, 600);
                    tell(&format!("! the answer cannot be used: {why}"));
                }
            }
            Entry::Sample(SampleEntry::Cut(cut)) => self.broken_off(cut, recorded.ts),
            Entry::Hook(HookEntry::Decided(decided)) => {
                if let Some(words) = hook(decided) {
                    self.aside(&words);
                }
            }
            Entry::Compaction(CompactionEntry::Started(started)) => {
                self.end_line();
                let why = trigger_words(started.trigger);
                tell(&format!("  compacting the conversation: {why}"));
            }
            Entry::Compaction(CompactionEntry::Failed(failed)) => {
                let why = first_words(&failed.reason, 600);
                tell(&format!("! the compaction failed: {why}"));
            }
            Entry::Call(id, CallEntry::Started(started)) => self.started(id, started),
            Entry::Call(id, CallEntry::Reconciling) => {
                let call = self.call(id);
                tell(&format!("  asking the tool what became of {call}"));
            }
            Entry::Call(id, CallEntry::Observed(fact)) => self.observed(id, &fact.observation),
            Entry::Session(SessionEntry::GoalEnded(ended)) => {
                self.end_line();
                tell(&format!("  {}", goal_words(&ended.end)));
            }
            Entry::Session(_)
            | Entry::Input(_)
            | Entry::Turn(_)
            | Entry::Hook(_)
            | Entry::Context(_)
            | Entry::Compaction(_)
            | Entry::Sample(_)
            | Entry::Call(..) => {}
        }
    }

    fn aside(&mut self, words: &str) {
        self.end_line();
        tell(&format!("  {}", first_words(words, 600)));
    }

    fn started(&mut self, id: CallId, started: &CallStarted) {
        self.end_line();
        let plan = if started.plan { " (only its plan)" } else { "" };
        tell(&format!("> {}{plan}", self.call(id)));
    }

    fn observed(&self, call: CallId, seen: &Observation) {
        let words = match seen.status {
            ObservationStatus::Done => format!("< {} bytes", seen.output_bytes),
            ObservationStatus::Failed
            | ObservationStatus::Denied
            | ObservationStatus::Aborted
            | ObservationStatus::Unknown
            | ObservationStatus::NotStarted => {
                format!("< {}: {}", self.call(call), first_words(&seen.output, 300))
            }
        };
        tell(&words);
    }

    /// Without another attempt it is the end of the turn, which says it once.
    fn broken_off(&mut self, cut: &SampleCut, at: Timestamp) {
        self.end_line();
        let due = match cut.stands {
            Stands::Nothing | Stands::Through { .. } => cut.retry_at,
            Stands::Said => None,
        };
        if let Some(due) = due {
            tell(&format!("! {}", first_words(&cut.failure.message, 600)));
            let wait_s = due.0.saturating_sub(at.0).div_ceil(1_000);
            if wait_s > 1 {
                tell(&format!("  asking again in {wait_s} s"));
            }
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

    /// The call in words, with the arguments that it runs with.
    fn call(&self, id: CallId) -> String {
        let call = self.view.turn().and_then(|turn| turn.sample.find(id));
        call.map_or_else(
            || "a call".to_owned(),
            |call| {
                let arguments = first_words(call.arguments(), ARGUMENTS);
                format!("{} {arguments}", call.item.name)
            },
        )
    }

    fn end_line(&mut self) {
        if !self.streamed.is_empty() {
            self.streamed.clear();
            let _ = line("");
        }
    }
}

/// Returns the answer as people read it: a text that a program returned is shown as it is, any
/// other value stays JSON.
fn said(report: &TurnReport) -> Cow<'_, str> {
    let text = report
        .returned
        .then(|| serde_json::from_str(&report.answer));
    match text {
        Some(Ok(text)) => Cow::Owned(text),
        Some(Err(_)) | None => Cow::Borrowed(&report.answer),
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

    fn shaped(&mut self) {
        self.shaped = true;
    }

    /// The answer is that of the last turn; what was said before it is told besides.
    fn goes_on(&mut self, report: &TurnReport) -> io::Result<()> {
        let shown = self.streams && self.streamed == report.answer;
        self.end_line();
        if !shown && !report.answer.is_empty() {
            tell(&said(report));
        }
        tell("  the goal is not met yet: another turn begins");
        Ok(())
    }

    fn settled(&mut self, report: &TurnReport) -> io::Result<()> {
        let answer = match self.shaped {
            true => Cow::Borrowed(unfenced(&report.answer)),
            false => said(report),
        };
        let answer = &*answer;
        if self.streams && self.streamed == report.answer {
            self.end_line();
        } else if let Outcome::Misshapen { .. } = report.outcome {
            // Whoever reads standard output reads what fits, or nothing.
            self.end_line();
            tell(answer);
        } else if !answer.is_empty() {
            self.end_line();
            match self.streams {
                true => line(&visible(answer))?,
                false => line(answer)?,
            }
        }
        if report.outcome != Outcome::Completed {
            tell(&format!("windlass: {}", outcome_words(&report.outcome)));
            let session = &report.settled.session;
            // What waits is remarked on where the turn is watched.
            if waiting_words(report).is_none() {
                tell(&format!("  to go on: windlass resume {session} PROMPT"));
            }
        }
        io::stdout().flush()
    }

    fn after(&mut self, fact: &Recorded) -> io::Result<()> {
        self.fact(fact);
        Ok(())
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
