//! Transcript: folds a session's events into the lines of a conversation, and into what is going on.
//! Pure.

mod entries;
mod lines;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use windlass_engine::core::{
    CallId, Delivery, Delta, HookEntry, InputEntry, InputId, RecordedFact, Seq, Settings,
    TimelineEntry, Timestamp, TurnId, TurnOutcome, View,
};
use windlass_engine::{Event, LiveKind};
use windlass_terminal::{Line, MarkdownStream, Theme};

use lines::user_lines;

use super::calls;
use crate::present::{Sources, StreamedText, first_words, hook_words, story, visible};

/// Most lines of a running call's output that are shown.
const TAIL: usize = 3;
/// Most messages that can be gone back to.
const MESSAGES: usize = 200;
/// Most characters of a notice.
const NOTICE_CHARS: usize = 600;

/// Conversation of a session, as far as its events were read.
pub(super) struct Transcript {
    theme: Theme,
    view: View,
    answer: MarkdownStream,
    /// True if a part of the answer was shown already.
    answering: bool,
    parts: StreamedText,
    sources: Sources,
    running: BTreeMap<CallId, RunningCall>,
    queue: Vec<QueuedInput>,
    turn: Option<RunningTurn>,
    /// Equal failures of attempts, one after the other.
    retries: u32,
    /// Position at which nothing was under way the last time.
    rest: Seq,
    /// Messages of the person, with the position before their turns.
    messages: VecDeque<SaidMessage>,
    last_turn: Option<TurnId>,
    settings: Option<Arc<Settings>>,
    last_answer: Option<String>,
    /// True to show calls as they begin.
    announces: bool,
}

/// Message that a turn has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SaidMessage {
    pub(super) text: String,
    /// Position before its turn, at which the session can be forked.
    pub(super) before: Seq,
}

/// Call that runs.
struct RunningCall {
    label: String,
    since: Timestamp,
    tail: VecDeque<String>,
}

/// Input that no turn has accepted yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueuedInput {
    pub(super) id: InputId,
    pub(super) text: String,
    pub(super) delivery: Delivery,
    pub(super) has_images: bool,
}

/// Turn that is open.
struct RunningTurn {
    since: Timestamp,
    /// Current activity.
    activity: &'static str,
}

/// Change that somebody else must act upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Signal {
    /// An approval or a question may be open.
    Asked,
    /// The question of this call is no longer open.
    Closed(CallId),
    /// A turn ended.
    Settled(TurnOutcome),
    /// A message will open no turn: a hook has blocked it, or a person has withdrawn it.
    Dropped { blocked: bool },
    /// The settings or the permissions changed.
    Settings,
    /// First input of the session.
    Titled(String),
}

impl Transcript {
    /// Creates an empty transcript for a terminal of this width.
    pub(super) fn new(theme: Theme, columns: u16) -> Self {
        Self {
            answer: MarkdownStream::new(&theme, columns),
            theme,
            view: View::default(),
            answering: false,
            parts: StreamedText::default(),
            sources: Sources::default(),
            running: BTreeMap::new(),
            queue: Vec::new(),
            turn: None,
            retries: 0,
            rest: Seq::ZERO,
            messages: VecDeque::new(),
            last_turn: None,
            settings: None,
            last_answer: None,
            announces: false,
        }
    }

    /// Shows calls as they begin.
    pub(super) fn announce_calls(&mut self) {
        self.announces = true;
    }

    /// Sets the colors of later lines.
    pub(super) fn set_theme(&mut self, theme: Theme, columns: u16) {
        self.answer = MarkdownStream::new(&theme, columns);
        self.theme = theme;
    }

    /// Returns the messages of the person that can be gone back to, oldest first.
    pub(super) fn messages(&self) -> impl DoubleEndedIterator<Item = &SaidMessage> {
        self.messages.iter().filter(|said| said.before > Seq::ZERO)
    }

    /// Returns the latest position at which nothing was under way, if one was seen.
    pub(super) fn rest(&self) -> Option<Seq> {
        (self.rest > Seq::ZERO).then_some(self.rest)
    }

    /// Returns the settings of the session, if a fact that has them was seen.
    pub(super) fn settings(&self) -> Option<&Settings> {
        self.settings.as_deref()
    }

    /// Returns the latest turn.
    pub(super) fn last_turn(&self) -> Option<TurnId> {
        self.last_turn
    }

    /// Returns the text of the last answer, as the model wrote it.
    pub(super) fn last_answer(&self) -> Option<String> {
        self.last_answer.clone()
    }

    /// Sets the width of later lines, in columns.
    pub(super) fn resize(&mut self, columns: u16) {
        self.answer.resize(columns);
    }

    /// Returns true while a turn is open.
    pub(super) fn is_busy(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns the inputs that wait, in order.
    pub(super) fn queue(&self) -> &[QueuedInput] {
        &self.queue
    }

    /// Applies an event. Returns the finished lines and the signals.
    pub(super) fn apply(&mut self, event: &Event) -> (Vec<Line>, Vec<Signal>) {
        let (mut lines, mut signals) = (Vec::new(), Vec::new());
        match event {
            Event::Fact(recorded) => self.fact(recorded, &mut lines, &mut signals),
            Event::Live(all) => {
                for live in all.iter() {
                    lines.extend(self.live(&live.kind));
                }
            }
            Event::Lagged { .. } => self.parts.on_lagged(),
            Event::Store(status) => lines.push(match status.failure() {
                None => self.dim("the store works again"),
                Some(reason) => self.warning(&format!(
                    "the store failed ({reason}): turns continue once it works again"
                )),
            }),
            Event::Ended(_) => {}
        }
        (lines, signals)
    }

    /// Returns the end of the answer that is not finished, which is left.
    pub(super) fn take_answer(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        self.end_answer(&mut lines);
        lines
    }

    /// Returns the last lines of the answer that is not finished.
    pub(super) fn preview(&self, rows: usize) -> Vec<Line> {
        self.answer.preview(rows)
    }

    /// Returns a line for each running call, with the end of its output.
    pub(super) fn running(&self, now: Timestamp) -> Vec<Line> {
        let mut lines = Vec::new();
        for call in self.running.values() {
            let took = Duration::from_millis(now.0.saturating_sub(call.since.0));
            lines.push(
                Line::styled("● ", self.theme.accent)
                    .with(call.label.clone(), self.theme.tool)
                    .with(format!("  {}", calls::time(took)), self.theme.dim),
            );
            for line in &call.tail {
                lines.push(Line::styled(format!("  │ {line}"), self.theme.dim));
            }
        }
        lines
    }

    /// Returns the activity of the open turn with its time; `None` without one.
    pub(super) fn activity(&self, now: Timestamp) -> Option<(&'static str, Duration)> {
        let turn = self.turn.as_ref()?;
        let activity = match self.running.is_empty() {
            true => turn.activity,
            false => "Running tools",
        };
        Some((activity, Duration::from_millis(now.0.saturating_sub(turn.since.0))))
    }

    fn fact(
        &mut self,
        recorded: &Arc<RecordedFact>,
        lines: &mut Vec<Line>,
        signals: &mut Vec<Signal>,
    ) {
        let mut view = std::mem::take(&mut self.view);
        let entry = view.apply(recorded);
        self.view = view;
        match entry {
            TimelineEntry::Input(entry) => self.input(recorded, entry, lines, signals),
            TimelineEntry::Turn(entry) => self.on_turn(recorded, entry, lines, signals),
            TimelineEntry::Sample(entry) => self.sample(recorded, entry, lines),
            TimelineEntry::Call(id, entry) => self.call(recorded, (id, entry), lines, signals),
            TimelineEntry::Session(entry) => self.session(recorded, entry, lines, signals),
            TimelineEntry::Hook(HookEntry::Decided(decided)) => {
                if let Some(words) = hook_words(decided) {
                    self.end_answer(lines);
                    lines.push(self.dim(&words));
                }
            }
            TimelineEntry::Compaction(entry) => self.compaction(entry, lines),
            TimelineEntry::Program(_) => {
                self.end_answer(lines);
                lines.extend(story(recorded).map(|words| self.dim(&words)));
            }
            TimelineEntry::Hook(HookEntry::Asked(_)) | TimelineEntry::Context(_) => {}
        }
    }

    fn input(
        &mut self,
        recorded: &RecordedFact,
        entry: InputEntry<'_>,
        lines: &mut Vec<Line>,
        signals: &mut Vec<Signal>,
    ) {
        match entry {
            InputEntry::Queued(queued) => {
                let text = match queued.command {
                    Some(_) => format!("!{}", queued.text),
                    None => {
                        signals.push(Signal::Titled(first_words(&queued.text, 80)));
                        queued.text.to_string()
                    }
                };
                let (id, delivery) = (InputId(recorded.seq.0), queued.delivery);
                let has_images = !queued.images.is_empty();
                self.queue.push(QueuedInput { id, text, delivery, has_images });
            }
            InputEntry::Accepted(id) => self.accepted(id, lines),
            InputEntry::Blocked(blocked) => {
                let text = self.dequeue(blocked.input).map(|input| input.text).unwrap_or_default();
                let words = format!("blocked: {} ({})", first_words(&text, 80), blocked.reason);
                lines.push(self.warning(&words));
                signals.push(Signal::Dropped { blocked: true });
            }
            InputEntry::Edited(edited) => {
                if let Some(input) = self.queue.iter_mut().find(|input| input.id == edited.input) {
                    input.text = edited.text.to_string();
                }
            }
            InputEntry::Moved(moved) => {
                if let Some(input) = self.dequeue(moved.input) {
                    let before = moved.before.and_then(|before| {
                        self.queue.iter().position(|queued| queued.id == before)
                    });
                    self.queue.insert(before.unwrap_or(self.queue.len()), input);
                }
            }
            InputEntry::Withdrawn(withdrawn) => {
                if let Some(input) = self.dequeue(withdrawn.input) {
                    let words = format!("withdrawn: {}", first_words(&input.text, 80));
                    lines.push(self.dim(&words));
                }
                signals.push(Signal::Dropped { blocked: false });
            }
        }
    }

    /// Shows an input that a turn has accepted.
    fn accepted(&mut self, id: InputId, lines: &mut Vec<Line>) {
        let Some(input) = self.dequeue(id) else { return };
        self.end_answer(lines);
        lines.extend(user_lines(&input.text, &self.theme));
        if self.messages.len() >= MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(SaidMessage { text: input.text, before: self.rest });
    }

    fn dequeue(&mut self, id: InputId) -> Option<QueuedInput> {
        let at = self.queue.iter().position(|input| input.id == id)?;
        Some(self.queue.remove(at))
    }

    fn live(&mut self, live: &LiveKind) -> Vec<Line> {
        match live {
            LiveKind::Delta {
                started,
                delta: Delta::Text { slot, text } | Delta::Refusal { slot, text },
            } => {
                self.set_activity("Answering");
                let new = self.parts.on_delta(*started, *slot, text).to_owned();
                self.answer(&new)
            }
            LiveKind::Delta { delta: Delta::Reasoning { .. }, .. } => {
                self.set_activity("Thinking");
                Vec::new()
            }
            LiveKind::Delta { .. } => {
                self.set_activity("Preparing a call");
                Vec::new()
            }
            LiveKind::Progress { call, text } => {
                if let Some(call) = self.running.get_mut(call) {
                    for line in text.lines().filter(|line| !line.trim().is_empty()) {
                        if call.tail.len() >= TAIL {
                            call.tail.pop_front();
                        }
                        call.tail.push_back(first_words(&visible(line), 200));
                    }
                }
                Vec::new()
            }
        }
    }

    fn set_activity(&mut self, activity: &'static str) {
        if let Some(turn) = &mut self.turn {
            turn.activity = activity;
        }
    }

    fn answer(&mut self, text: &str) -> Vec<Line> {
        if text.is_empty() {
            return Vec::new();
        }
        self.answering = true;
        self.answer.push(text)
    }

    fn end_answer(&mut self, lines: &mut Vec<Line>) {
        if std::mem::take(&mut self.answering) {
            lines.extend(self.answer.finish());
            lines.push(Line::default());
        }
    }
}

#[cfg(test)]
mod tests;
