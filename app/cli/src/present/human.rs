//! Output for people: the answer on standard output, progress on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use windlass_engine::core::{
    CallEntry, CallId, CallStarted, CompactionEntry, ContentPart, Delta, HookEntry, Observation,
    ObservationStatus, RecordedFact, RequestRecord, SampleCut, SampleEntry, SessionEntry,
    SessionId, TimelineEntry, Timestamp, TurnEntry, TurnOutcome, View, result_text,
};
use windlass_engine::{Event, LiveKind, TurnReport, strip_fence};

use windlass_interaction::{ASK_USER_TOOL, UPDATE_PLAN_TOOL};

use super::plan::plan_lines;
use super::retries::Retries;
use super::sources::{Sources, search_words};
use super::story::{hook, program};
use super::streamed_text::StreamedText;
use super::words::{
    compacted_words, first_words, goal_words, other_model_words, outcome_words, trigger_words,
    visible, waiting_words,
};
use super::{Presenter, end_status, print_line, print_notice};
use crate::exit::Failure;

/// Most characters of a call's arguments that are shown.
const ARGUMENTS: usize = 120;

/// Shows a turn to a person.
pub(crate) struct HumanPresenter {
    /// True if the answer is streamed to a terminal.
    streams: bool,
    /// True if the output of running calls is shown: standard error is a terminal.
    shows_output: bool,
    /// Last shown output, and its call.
    output: Option<(CallId, String)>,
    /// True if an answer is printed as the validated value.
    shaped: bool,
    /// Shown text of the current answer.
    streamed: String,
    /// The same by part, while its item was not received.
    parts: StreamedText,
    retries: Retries,
    /// Other model that the user was told of.
    other_model: Option<String>,
    /// Sources of the turn's answer.
    sources: Sources,
    view: View,
}

impl HumanPresenter {
    pub(crate) fn new() -> Self {
        Self {
            streams: io::stdout().is_terminal(),
            shows_output: io::stderr().is_terminal(),
            output: None,
            shaped: false,
            streamed: String::new(),
            parts: StreamedText::default(),
            retries: Retries::new(io::stderr().is_terminal()),
            other_model: None,
            sources: Sources::default(),
            view: View::default(),
        }
    }

    fn fact(&mut self, recorded: &RecordedFact) -> io::Result<()> {
        let entry = self.view.apply(recorded);
        if let TimelineEntry::Sample(SampleEntry::Content { part, .. }) = entry
            && let ContentPart::Text { citations, .. } = part
        {
            self.sources.add(citations);
        }
        match entry {
            TimelineEntry::Program(run) => self.aside(&program(run)),
            TimelineEntry::Sample(SampleEntry::Started(started)) => {
                self.end_line();
                self.retries.on_started(started.attempt);
            }
            TimelineEntry::Sample(SampleEntry::Content {
                part: ContentPart::Reasoning(step),
                ..
            }) => {
                if !step.searches.is_empty() {
                    self.interject(&search_words(&step.searches));
                }
            }
            TimelineEntry::Sample(SampleEntry::Content {
                started,
                part: ContentPart::Text { text, .. } | ContentPart::Refusal(text),
            }) if self.streams => {
                let rest = self.parts.on_item(started, text);
                self.show(rest)?;
            }
            TimelineEntry::Sample(SampleEntry::Ended(ended)) => {
                self.retries.end();
                self.warn_of_model(ended.request.as_deref());
                if let Some(fault) = &ended.fault {
                    self.end_line();
                    let why = first_words(fault, 600);
                    print_notice(&format!("! the answer cannot be used: {why}"));
                }
            }
            TimelineEntry::Sample(SampleEntry::Cut(cut)) => self.on_cut(cut, recorded.ts)?,
            TimelineEntry::Hook(HookEntry::Decided(decided)) => {
                if let Some(words) = hook(decided) {
                    self.aside(&words);
                }
            }
            TimelineEntry::Compaction(CompactionEntry::Started(started)) => {
                self.end_line();
                let why = trigger_words(started.trigger);
                print_notice(&format!("  compacting the conversation: {why}"));
            }
            TimelineEntry::Compaction(CompactionEntry::Done(compacted)) => {
                print_notice(&format!("  {}", first_words(&compacted_words(compacted), 600)));
            }
            TimelineEntry::Compaction(CompactionEntry::Failed(failed)) => {
                let why = first_words(&failed.reason, 600);
                print_notice(&format!("! the compaction failed: {why}"));
            }
            TimelineEntry::Call(id, CallEntry::Started(started)) => self.started(id, started),
            TimelineEntry::Call(id, CallEntry::Reconciling) => {
                let call = self.call(id);
                print_notice(&format!("  asking the tool for the outcome of {call}"));
            }
            TimelineEntry::Call(id, CallEntry::Observed(fact)) => {
                self.observed(id, &fact.observation)
            }
            TimelineEntry::Session(SessionEntry::GoalEnded(ended)) => {
                self.end_line();
                print_notice(&format!("  {}", goal_words(&ended.end)));
            }
            TimelineEntry::Turn(TurnEntry::Opened(opened)) => {
                self.retries.on_turn(opened.limits.attempts);
            }
            TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Turn(_)
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_)
            | TimelineEntry::Sample(_)
            | TimelineEntry::Call(..) => {}
        }
        Ok(())
    }

    /// Warns once of a model that the user did not ask for.
    fn warn_of_model(&mut self, request: Option<&RequestRecord>) {
        let Some((request, other)) = request.and_then(|one| Some((one, one.other_model()?))) else {
            return;
        };
        if self.other_model.as_deref() != Some(other) {
            self.end_line();
            print_notice(&format!("! {}", other_model_words(request, other)));
            self.other_model = Some(other.to_owned());
        }
    }

    /// Prints a line in the middle of an answer, which goes on after it.
    fn interject(&mut self, words: &str) {
        if !self.streamed.is_empty() {
            let _ = print_line("");
        }
        print_notice(&format!("  {}", first_words(words, 600)));
    }

    /// Lists the sources of the answer, on standard error: standard output has the answer alone.
    fn list_sources(&mut self) {
        for line in std::mem::take(&mut self.sources).lines() {
            print_notice(&line);
        }
    }

    fn aside(&mut self, words: &str) {
        self.end_line();
        print_notice(&format!("  {}", first_words(words, 600)));
    }

    fn started(&mut self, id: CallId, started: &CallStarted) {
        self.end_line();
        let how = match (started.plan, started.client) {
            (true, _) => " (only its plan)",
            (false, true) => " (by a client)",
            (false, false) => "",
        };
        // The plan itself is shown once it counts, and a question where it is asked.
        let call = match self.view.turn().and_then(|turn| turn.sample.find(id)) {
            // Shown when it began.
            Some(call) if call.is_suspended() => return,
            Some(call) if is_shown_apart(&call.item.name) => call.item.name.clone(),
            Some(_) | None => self.call(id),
        };
        print_notice(&format!("> {call}{how}"));
    }

    fn observed(&self, call: CallId, seen: &Observation) {
        let plan = self.view.turn().and_then(|turn| plan_lines(turn.sample.find(call)?));
        let words = match seen.status {
            ObservationStatus::Done if plan.is_some() => {
                format!("  {}", plan.unwrap_or_default())
            }
            ObservationStatus::Done => format!("< {} bytes", seen.output_bytes),
            ObservationStatus::Failed
            | ObservationStatus::Denied
            | ObservationStatus::Aborted
            | ObservationStatus::Unknown
            | ObservationStatus::NotStarted => {
                format!("< {}: {}", self.call(call), first_words(&result_text(seen, None), 300))
            }
        };
        print_notice(&words);
    }

    /// Without another attempt the turn ends and reports it.
    fn on_cut(&mut self, cut: &SampleCut, at: Timestamp) -> io::Result<()> {
        let due = match cut.retains_text() {
            false => {
                self.end_line();
                cut.retry_at
            }
            true => {
                if self.streams {
                    let rest = self.parts.on_item(cut.started, &cut.partial);
                    self.show(rest)?;
                }
                None
            }
        };
        match due {
            Some(due) => self.retries.on_cut(cut, due, at),
            None => self.retries.end(),
        }
        Ok(())
    }

    fn live(&mut self, live: &LiveKind) -> io::Result<()> {
        match live {
            LiveKind::Delta {
                started,
                delta: Delta::Text { slot, text } | Delta::Refusal { slot, text },
            } if self.streams => {
                let new = self.parts.on_delta(*started, *slot, text);
                self.show(new)
            }
            LiveKind::Progress { call, text } if self.shows_output => {
                self.show_output(*call, text);
                Ok(())
            }
            LiveKind::Delta { .. } | LiveKind::Progress { .. } => Ok(()),
        }
    }

    /// Shows output of a running call. A report that is repeated, as after a lag, is shown once.
    fn show_output(&mut self, call: CallId, text: &str) {
        let is_repeated =
            self.output.as_ref().is_some_and(|(of, last)| (*of, &**last) == (call, text));
        if is_repeated {
            return;
        }
        self.end_line();
        for line in text.lines() {
            print_notice(&format!("  | {line}"));
        }
        self.output = Some((call, text.to_owned()));
    }

    /// Shows more text of the current answer.
    fn show(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.streamed.push_str(text);
        end_status();
        let mut out = io::stdout().lock();
        out.write_all(visible(text).as_bytes())?;
        out.flush()
    }

    /// Describes the call, with the arguments that it runs with.
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
            let _ = print_line("");
        }
    }
}

/// Returns true if the arguments of a tool's calls are shown in a form of their own.
fn is_shown_apart(tool: &str) -> bool {
    matches!(tool, ASK_USER_TOOL | UPDATE_PLAN_TOOL)
}

/// Returns the answer for people: a text that a program returned is shown as it is; any other value
/// stays JSON.
fn readable_answer(report: &TurnReport) -> Cow<'_, str> {
    let text = report.returned.then(|| serde_json::from_str(&report.answer));
    match text {
        Some(Ok(text)) => Cow::Owned(text),
        Some(Err(_)) | None => Cow::Borrowed(&report.answer),
    }
}

impl Presenter for HumanPresenter {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Fact(recorded) => self.fact(recorded)?,
            Event::Live(all) => {
                for live in all.iter() {
                    self.live(&live.kind)?;
                }
            }
            Event::Lagged { .. } => self.parts.on_lagged(),
            Event::Store(status) => match status.failure() {
                None => print_notice("  the store works again"),
                Some(reason) => print_notice(&format!(
                    "  the store failed ({reason}): turns continue once it works again"
                )),
            },
            Event::Ended(_) => {}
        }
        Ok(())
    }

    fn expect_schema(&mut self) {
        self.shaped = true;
    }

    /// Prints the answer of an earlier turn on standard error: the result is that of the last turn.
    fn continued(&mut self, report: &TurnReport) -> io::Result<()> {
        let shown = self.streams && self.streamed == report.answer;
        self.end_line();
        if !shown && !report.answer.is_empty() {
            print_notice(&readable_answer(report));
        }
        self.list_sources();
        print_notice("  the goal is not met yet: another turn begins");
        Ok(())
    }

    fn settled(&mut self, report: &TurnReport) -> io::Result<()> {
        let answer = match self.shaped {
            true => Cow::Borrowed(strip_fence(&report.answer)),
            false => readable_answer(report),
        };
        let answer = &*answer;
        if self.streams && self.streamed == report.answer {
            self.end_line();
        } else if let TurnOutcome::InvalidOutput { .. } = report.outcome {
            // Readers of standard output receive a valid answer or nothing.
            self.end_line();
            print_notice(answer);
        } else if !answer.is_empty() {
            self.end_line();
            print_line(answer)?;
        }
        self.list_sources();
        if report.outcome != TurnOutcome::Completed {
            print_notice(&format!("windlass: {}", outcome_words(&report.outcome)));
            let session = &report.settled.session;
            // The watch reports waiting inputs.
            if waiting_words(report).is_none() {
                if let TurnOutcome::Failed { .. } = report.outcome {
                    print_notice(&format!("  to try again: windlass resume {session} --retry"));
                }
                print_notice(&format!("  to continue: windlass resume {session} PROMPT"));
            }
        }
        io::stdout().flush()
    }

    fn after(&mut self, fact: &RecordedFact) -> io::Result<()> {
        self.fact(fact)
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
