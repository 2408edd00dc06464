//! Transcript: folds a session's events into the lines of a conversation, and into what is going on.
//! Pure.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use windlass_engine::core::{
    ASK_USER_TOOL, CallEntry, CallId, CallStarted, CallView, CompactionEntry, ContentPart,
    Delivery, Delta, HookEntry, InputEntry, InputId, RecordedFact, SampleCut, SampleEntry, Seq,
    SessionEntry, Settings, TimelineEntry, Timestamp, TurnEntry, TurnId, TurnOutcome, TurnSettled,
    View,
};
use windlass_engine::{Event, LiveKind};
use windlass_interaction::{Plan, Question, StepStatus, UPDATE_PLAN_TOOL};
use windlass_terminal::{Line, MarkdownStream, Style, Theme};

use super::calls;
use crate::present::{
    Sources, StreamedText, compacted_words, first_words, goal_words, hook_words, outcome_words,
    search_words, story, trigger_words, visible,
};

/// Most lines of a running call's output that are shown.
const TAIL: usize = 3;
/// Most messages that can be gone back to.
const MESSAGES: usize = 200;
/// Most lines of a message that are shown.
const MESSAGE_LINES: usize = 12;
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

    /// Returns the messages of the person that were accepted, oldest first.
    pub(super) fn messages(&self) -> impl DoubleEndedIterator<Item = &SaidMessage> {
        self.messages.iter()
    }

    /// Returns the latest position at which nothing was under way.
    pub(super) fn rest(&self) -> Seq {
        self.rest
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
                signals.push(Signal::Titled(first_words(&queued.text, 80)));
                self.queue.push(QueuedInput {
                    id: InputId(recorded.seq.0),
                    text: queued.text.to_string(),
                    delivery: queued.delivery,
                });
            }
            InputEntry::Accepted(id) => {
                if let Some(input) = self.dequeue(id) {
                    self.end_answer(lines);
                    lines.extend(user_lines(&input.text, &self.theme));
                    if self.messages.len() >= MESSAGES {
                        self.messages.pop_front();
                    }
                    let said = SaidMessage { text: input.text, before: self.rest };
                    self.messages.push_back(said);
                }
            }
            InputEntry::Blocked(blocked) => {
                let text = self.dequeue(blocked.input).map(|input| input.text).unwrap_or_default();
                let words = format!("blocked: {} ({})", first_words(&text, 80), blocked.reason);
                lines.push(self.warning(&words));
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
            }
        }
    }

    fn dequeue(&mut self, id: InputId) -> Option<QueuedInput> {
        let at = self.queue.iter().position(|input| input.id == id)?;
        Some(self.queue.remove(at))
    }

    fn on_turn(
        &mut self,
        recorded: &RecordedFact,
        entry: TurnEntry<'_>,
        lines: &mut Vec<Line>,
        signals: &mut Vec<Signal>,
    ) {
        match entry {
            TurnEntry::Opened(_) => {
                self.last_turn = recorded.turn;
                self.turn = Some(RunningTurn { since: recorded.ts, activity: "Working" });
            }
            TurnEntry::Interrupted(_) => {
                if let Some(turn) = &mut self.turn {
                    turn.activity = "Stopping";
                }
            }
            TurnEntry::Settled(settled) => {
                self.end_answer(lines);
                lines.extend(self.sources());
                let since = self.turn.take().map(|turn| turn.since);
                let took = since.map(|since| recorded.ts.0.saturating_sub(since.0));
                lines.extend(self.end_of_turn(settled, took.map(Duration::from_millis)));
                self.running.clear();
                self.rest = recorded.seq;
                let answer = self.view.turn().map(|turn| turn.sample.answer());
                self.last_answer = answer.filter(|answer| !answer.is_empty());
                signals.push(Signal::Settled(settled.outcome.clone()));
            }
        }
    }

    fn sources(&mut self) -> Vec<Line> {
        let all = std::mem::take(&mut self.sources).lines();
        all.into_iter().map(|line| self.dim(&line)).collect()
    }

    fn end_of_turn(&self, settled: &TurnSettled, took: Option<Duration>) -> Vec<Line> {
        let mut lines = Vec::new();
        if settled.outcome != TurnOutcome::Completed {
            let words = outcome_words(&settled.outcome);
            lines.push(match settled.outcome {
                TurnOutcome::Interrupted { .. } => self.warning(&words),
                _ => self.error(&words),
            });
        }
        let spent = settled.spent;
        let mut words = Vec::new();
        words.extend(took.map(calls::time));
        words.push(format!(
            "{} tokens",
            grouped(spent.usage.tokens().saturating_add(spent.estimated_tokens))
        ));
        let line = Line::styled(format!("— {}", words.join(" · ")), self.theme.dim);
        lines.push(line.wrapped(2));
        lines.push(Line::default());
        lines
    }

    fn sample(&mut self, recorded: &RecordedFact, entry: SampleEntry<'_>, lines: &mut Vec<Line>) {
        match entry {
            SampleEntry::Started(started) => {
                if started.attempt <= 1 {
                    self.retries = 0;
                }
                self.set_activity("Waiting for the model");
            }
            SampleEntry::Content { started, part } => match part {
                ContentPart::Text { text, citations } => {
                    self.sources.add(citations);
                    let rest = self.parts.on_item(started, text).to_owned();
                    lines.extend(self.answer(&rest));
                    self.end_answer(lines);
                }
                ContentPart::Refusal(text) => {
                    let rest = self.parts.on_item(started, text).to_owned();
                    lines.extend(self.answer(&rest));
                    self.end_answer(lines);
                }
                ContentPart::Reasoning(step) if !step.searches.is_empty() => {
                    self.end_answer(lines);
                    lines.push(self.dim(&search_words(&step.searches)));
                }
                ContentPart::Reasoning(_) => {}
            },
            SampleEntry::Ended(ended) => {
                self.end_answer(lines);
                if let Some(fault) = &ended.fault {
                    let words = format!("the answer cannot be used: {fault}");
                    lines.push(self.warning(&words));
                }
            }
            SampleEntry::Cut(cut) => self.cut(recorded, cut, lines),
        }
    }

    fn cut(&mut self, recorded: &RecordedFact, cut: &SampleCut, lines: &mut Vec<Line>) {
        if cut.retains_text() {
            let rest = self.parts.on_item(cut.started, &cut.partial).to_owned();
            lines.extend(self.answer(&rest));
        }
        self.end_answer(lines);
        let Some(due) = cut.retry_at else {
            return;
        };
        self.retries = self.retries.saturating_add(1);
        let wait = Duration::from_millis(due.0.saturating_sub(recorded.ts.0));
        let words = format!(
            "{} (retry {} in {})",
            first_words(&cut.failure.message, NOTICE_CHARS),
            self.retries,
            calls::time(wait)
        );
        lines.push(self.warning(&words));
        self.set_activity("Waiting to retry");
    }

    fn call(
        &mut self,
        recorded: &RecordedFact,
        (id, entry): (CallId, CallEntry<'_>),
        lines: &mut Vec<Line>,
        signals: &mut Vec<Signal>,
    ) {
        match entry {
            CallEntry::Asked(_) => signals.push(Signal::Asked),
            CallEntry::Answered(_) | CallEntry::Resumed(_) => signals.push(Signal::Closed(id)),
            CallEntry::Started(started) => {
                self.end_answer(lines);
                lines.extend(self.started(recorded, id, started));
                if started.client {
                    signals.push(Signal::Asked);
                }
            }
            CallEntry::Suspended(suspended) => {
                if suspended.suspension.question.is_some() {
                    signals.push(Signal::Asked);
                }
            }
            CallEntry::Observed(observed) => {
                signals.push(Signal::Closed(id));
                self.end_answer(lines);
                let since = self.running.remove(&id).map(|call| call.since);
                let took = since.map(|since| recorded.ts.0.saturating_sub(since.0));
                let took = took.map(Duration::from_millis);
                lines.extend(self.observed(id, &observed.observation, took));
            }
            CallEntry::Proposed(..) | CallEntry::Decided(_) | CallEntry::Reconciling => {}
        }
    }

    fn find(&self, id: CallId) -> Option<&CallView> {
        self.view.turn().and_then(|turn| turn.sample.find(id))
    }

    fn started(
        &mut self,
        recorded: &RecordedFact,
        id: CallId,
        started: &CallStarted,
    ) -> Option<Line> {
        let call = self.find(id)?;
        if [UPDATE_PLAN_TOOL, ASK_USER_TOOL].contains(&call.item.name.as_str()) {
            return None;
        }
        let mut label = calls::label(&call.item.name, call.arguments());
        if started.plan {
            label.push_str(" (only its plan)");
        }
        let line = self.announces.then(|| Line::styled(format!("● {label}"), self.theme.tool));
        let running = RunningCall { label, since: recorded.ts, tail: VecDeque::new() };
        self.running.insert(id, running);
        line
    }

    fn observed(
        &mut self,
        id: CallId,
        observation: &windlass_engine::core::Observation,
        took: Option<Duration>,
    ) -> Vec<Line> {
        let Some((tool, arguments)) =
            self.find(id).map(|call| (call.item.name.clone(), call.arguments().to_owned()))
        else {
            return Vec::new();
        };
        if tool == UPDATE_PLAN_TOOL
            && let Ok(plan) = Plan::parse(&arguments)
        {
            return plan_lines(&plan, &self.theme);
        }
        if tool == ASK_USER_TOOL
            && let Ok(question) = Question::parse(&arguments)
        {
            let line = |mark: &str, text: &str, style: Style| {
                Line::styled(format!("{mark} {}", visible(text).replace('\n', " ")), style)
                    .wrapped(2)
            };
            return vec![
                line("?", &question.question, self.theme.accent),
                line(">", &observation.output, self.theme.user),
            ];
        }
        calls::ended((&tool, &arguments), observation, took, &self.theme)
    }

    fn session(
        &mut self,
        recorded: &RecordedFact,
        entry: SessionEntry<'_>,
        lines: &mut Vec<Line>,
        signals: &mut Vec<Signal>,
    ) {
        match entry {
            SessionEntry::GoalEnded(ended) => {
                self.end_answer(lines);
                lines.push(self.dim(&goal_words(&ended.end)));
                return;
            }
            SessionEntry::Settings(changed) => {
                self.settings = Some(changed.settings.clone());
                signals.push(Signal::Settings);
            }
            SessionEntry::Narrowed(_) => signals.push(Signal::Settings),
            SessionEntry::Opened(opened) => {
                self.rest = recorded.seq;
                self.settings = Some(opened.settings.clone());
            }
            SessionEntry::Resumed
            | SessionEntry::Renamed(_)
            | SessionEntry::Rewound(_)
            | SessionEntry::FilesRestored(_)
            | SessionEntry::Goal(_) => {}
        }
        if let SessionEntry::Opened(_) | SessionEntry::Resumed = entry {
            return;
        }
        self.end_answer(lines);
        lines.extend(story(recorded).map(|words| self.dim(&words)));
    }

    fn compaction(&mut self, entry: CompactionEntry<'_>, lines: &mut Vec<Line>) {
        self.end_answer(lines);
        match entry {
            CompactionEntry::Requested(_) => {}
            CompactionEntry::Started(started) => {
                let words = trigger_words(started.trigger);
                lines.push(self.dim(&format!("compacting the conversation: {words}")));
                self.set_activity("Compacting");
            }
            CompactionEntry::Done(done) => lines.push(self.dim(&compacted_words(done))),
            CompactionEntry::Failed(failed) => {
                let words = format!("the compaction failed: {}", failed.reason);
                lines.push(self.warning(&words));
            }
        }
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

    fn dim(&self, words: &str) -> Line {
        Line::styled(first_words(&visible(words), NOTICE_CHARS), self.theme.dim).wrapped(2)
    }

    fn warning(&self, words: &str) -> Line {
        Line::styled(
            format!("! {}", first_words(&visible(words), NOTICE_CHARS)),
            self.theme.warning,
        )
        .wrapped(2)
    }

    fn error(&self, words: &str) -> Line {
        Line::styled(format!("! {}", first_words(&visible(words), NOTICE_CHARS)), self.theme.error)
            .wrapped(2)
    }
}

/// Returns the lines of a user's message.
pub(super) fn user_lines(text: &str, theme: &Theme) -> Vec<Line> {
    let text = visible(text);
    let mut parts = text.lines();
    let mut lines = Vec::new();
    for (number, part) in parts.by_ref().take(MESSAGE_LINES).enumerate() {
        let mark = if number == 0 { "› " } else { "  " };
        lines.push(Line::styled(format!("{mark}{part}"), theme.user).wrapped(2));
    }
    match parts.count() {
        0 => {}
        more => lines.push(Line::styled(format!("  … {}", calls::more_lines(more)), theme.dim)),
    }
    lines.push(Line::default());
    lines
}

fn plan_lines(plan: &Plan, theme: &Theme) -> Vec<Line> {
    let head = format!("Plan: {} of {} steps completed", plan.completed(), plan.steps.len());
    let mut lines = vec![Line::styled(head, theme.heading)];
    for step in &plan.steps {
        let (sign, style) = match step.status {
            StepStatus::Pending => ("☐", theme.text),
            StepStatus::InProgress => ("▸", theme.accent),
            StepStatus::Completed => ("☑", theme.dim),
        };
        let words = visible(&step.step).replace('\n', " ");
        lines.push(Line::styled(format!("  {sign} {words}"), style).wrapped(4));
    }
    lines
}

/// Returns a number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
