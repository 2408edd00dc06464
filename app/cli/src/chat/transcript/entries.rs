//! Entries: what the facts of turns, answers, calls and sessions add to a conversation.

use std::collections::VecDeque;
use std::time::Duration;

use windlass_engine::core::{
    ASK_USER_TOOL, CallEntry, CallId, CallSource, CallStarted, CallView, CompactionEntry,
    ContentPart, Observation, RecordedFact, SampleCut, SampleEntry, SessionEntry, TurnEntry,
    TurnOutcome, TurnSettled,
};
use windlass_interaction::{Plan, Question, UPDATE_PLAN_TOOL};
use windlass_terminal::{Line, Style};

use super::lines::plan_lines;
use super::{NOTICE_CHARS, RunningCall, RunningTurn, Signal, Transcript};
use crate::chat::calls;
use crate::present::{
    compacted_words, first_words, goal_words, outcome_words, search_words, story, trigger_words,
    visible,
};

impl Transcript {
    pub(super) fn on_turn(
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
            let interrupted = matches!(settled.outcome, TurnOutcome::Interrupted { .. });
            lines.push(if interrupted { self.warning(&words) } else { self.error(&words) });
        }
        let spent = settled.spent;
        let mut words = Vec::new();
        words.extend(took.map(calls::time));
        words.push(format!(
            "{} tokens",
            calls::grouped(spent.usage.tokens().saturating_add(spent.estimated_tokens))
        ));
        let line = Line::styled(format!("  {}", words.join(" · ")), self.theme.dim);
        lines.push(line.wrapped(2));
        lines.push(Line::default());
        lines
    }

    pub(super) fn sample(
        &mut self,
        recorded: &RecordedFact,
        entry: SampleEntry<'_>,
        lines: &mut Vec<Line>,
    ) {
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

    pub(super) fn call(
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
            CallEntry::Proposed(CallSource::User(input), _) => self.accepted(input, lines),
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
        observation: &Observation,
        took: Option<Duration>,
    ) -> Vec<Line> {
        let Some(call) = self.find(id) else {
            return Vec::new();
        };
        let (source, tool, arguments) =
            (call.source, call.item.name.clone(), call.arguments().to_owned());
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
        calls::ended(source, (&tool, &arguments), observation, took, &self.theme)
    }

    pub(super) fn session(
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

    pub(super) fn compaction(&mut self, entry: CompactionEntry<'_>, lines: &mut Vec<Line>) {
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
}
