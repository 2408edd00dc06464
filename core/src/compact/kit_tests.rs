//! Histories for the tests of compaction, built from facts.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::{CompactionPlan, plan_compaction};
use crate::call::{Observation, ObservationStatus};
use crate::compaction::{CompactionStrategy, VisiblePart};
use crate::digest::Digest;
use crate::fact::{
    CallObserved, Compacted, ContextInjected, ContextLifetime, ContextPart, ContextSource, Fact,
    HookDecided, InputAccepted, InputQueued, ItemAdded, SampleEnded,
};
use crate::format::FactFormat;
use crate::history::{ConversationUnitKind, History};
use crate::hook::HookVerdict;
use crate::id::{CallId, InputId, Seq, SessionId, TurnId};
use crate::input::CompactionResult;
use crate::item::{CallItem, Item, ReasoningItem, StopReason};
use crate::record::RecordedFact;
use crate::render::{PromptItem, program_report_text};
use crate::scope::Scope;
use crate::session::Delivery;
use crate::settings::{Permissions, Settings};
use crate::time::Timestamp;

/// A valid summary.
pub(super) const SUMMARY_TEXT: &str =
    "## Goal\nwin\n## Done\nmuch\n## Open\nNone.\n## Facts\nNone.";

/// A growing conversation.
pub(super) struct TestConversation {
    pub(super) history: History,
    pub(super) turn: TurnId,
    seq: u64,
}

impl TestConversation {
    pub(super) fn new() -> Self {
        Self { history: History::default(), turn: TurnId(1), seq: 1 }
    }

    pub(super) fn fact(&mut self, fact: Fact) -> Seq {
        self.seq += 1;
        let recorded = RecordedFact {
            format: FactFormat::CURRENT,
            session: SessionId::new("s").unwrap(),
            seq: Seq(self.seq),
            turn: Some(self.turn),
            ts: Timestamp(0),
            cause: None,
            fact,
        };
        self.history.apply(&recorded).unwrap();
        recorded.seq
    }

    /// Begins another turn.
    pub(super) fn turn(&mut self) {
        self.seq += 1;
        self.turn = TurnId(self.seq);
    }

    /// Adds an input of the user, with context of the presenter.
    pub(super) fn input(&mut self, text: &str, context: Option<(&str, &str, ContextLifetime)>) {
        let parts = context.iter().map(|(from, text, _)| ContextPart {
            from: String::from(*from),
            text: Arc::from(*text),
        });
        let queued = self.fact(Fact::InputQueued(InputQueued {
            scope: Arc::new(Scope::local("ada")),
            text: text.into(),
            delivery: Delivery::Turn,
            context: parts.collect(),
            images: Vec::new(),
            key: None,
            dry_run: false,
            command_key: None,
            result_of: None,
            command: None,
        }));
        let input = InputId(queued.0);
        if let Some((_, _, lasting)) = context {
            let from = ContextSource::Presenter { input, part: 0 };
            self.fact(Fact::ContextInjected(ContextInjected { from, lifetime: lasting }));
        }
        self.fact(Fact::InputAccepted(InputAccepted { input, call: None }));
    }

    pub(super) fn text_input(&mut self, text: &str) {
        self.input(text, None);
    }

    /// Adds context of a hook.
    pub(super) fn hook(&mut self, text: &str, lasting: ContextLifetime) {
        let decided = self.fact(Fact::HookDecided(HookDecided {
            asked: Seq(self.seq),
            hook: 0,
            name: String::from("lint"),
            verdict: HookVerdict::Pass,
            reason: String::new(),
            subject: Digest::EMPTY,
            edit: None,
            context: Some(text.into()),
        }));
        let from = ContextSource::Hook { decided };
        self.fact(Fact::ContextInjected(ContextInjected { from, lifetime: lasting }));
    }

    /// Makes the goal the turn's subject.
    pub(super) fn goal(&mut self, text: &str) {
        let from = ContextSource::Goal { text: text.into() };
        let lasting = ContextLifetime::Turn;
        self.fact(Fact::ContextInjected(ContextInjected { from, lifetime: lasting }));
    }

    /// Adds an answer of the model, with calls of this tool and their outputs.
    pub(super) fn answer(&mut self, text: &str, tool: &str, outputs: &[&str]) {
        let started = Seq(self.seq);
        let thought =
            ReasoningItem { text: String::from("so it is"), opaque: None, ..Default::default() };
        self.added(started, Item::Reasoning(Arc::new(thought)));
        self.added(started, Item::text(text));
        let observed = |output: &&str| Observation::new(ObservationStatus::Done, *output);
        let observed = outputs.iter().map(observed).collect();
        self.calls(started, tool, "{\"path\":\"a\"}", observed);
    }

    /// Adds an answer of the model with a call whose result lasts under a name.
    pub(super) fn lasting(&mut self, name: &str, output: &str) {
        let started = Seq(self.seq);
        let observation = Observation {
            lasting: Some(String::from(name)),
            ..Observation::new(ObservationStatus::Done, output)
        };
        self.calls(started, "activate", "{}", alloc::vec![observation]);
    }

    /// Adds an answer of the model that is one call.
    pub(super) fn call(
        &mut self,
        tool: &str,
        arguments: &str,
        status: ObservationStatus,
        output: &str,
    ) {
        let started = Seq(self.seq);
        let observation = Observation::new(status, output);
        let failed = tool == "shell" && status == ObservationStatus::Failed;
        let exit_code = failed.then_some(101);
        self.calls(started, tool, arguments, vec![Observation { exit_code, ..observation }]);
    }

    fn calls(&mut self, started: Seq, tool: &str, arguments: &str, observed: Vec<Observation>) {
        let calls = observed.iter().map(|_| {
            let call = CallItem {
                provider_id: String::from("call_0"),
                name: String::from(tool),
                arguments: String::from(arguments),
                fault: None,
                rules: Vec::new(),
                possible_rules: Vec::new(),
                outside_sandbox: false,
                sha256: None,
                opaque: None,
                inline: false,
            };
            self.added(started, Item::Call(Arc::new(call)))
        });
        let calls: Vec<Seq> = calls.collect();
        self.fact(Fact::SampleEnded(SampleEnded {
            started,
            stop: StopReason::Stop,
            usage: None,
            estimate: None,
            response_id: None,
            request: None,
            fault: None,
        }));
        for (call, observation) in calls.into_iter().zip(observed) {
            self.fact(Fact::CallObserved(CallObserved {
                call: CallId(call.0),
                observation: Arc::new(observation),
                usage: None,
                report: None,
                form: None,
                detached: false,
                by: None,
                key: None,
            }));
        }
    }

    fn added(&mut self, started: Seq, item: Item) -> Seq {
        self.fact(Fact::ItemAdded(ItemAdded { started, item, surplus: false }))
    }

    pub(super) fn plan(&self, strategy: CompactionStrategy, target: u64) -> CompactionPlan {
        let settings = Arc::new(settings());
        plan_compaction(&self.history, &settings, self.turn, strategy, target)
    }

    /// Compacts and records it: the history rejects a result that differs from the fact.
    pub(super) fn compact(
        &mut self,
        strategy: CompactionStrategy,
        target: u64,
        words: Option<&str>,
    ) -> CompactionResult {
        let sketch = self.plan(strategy, target);
        let done = sketch.finish(&self.history, self.turn, words.map(String::from));
        self.record(&done);
        done
    }

    pub(super) fn record(&mut self, done: &CompactionResult) {
        self.fact(Fact::Compacted(Compacted {
            started: Seq(self.seq),
            cut: done.cut.clone(),
            visible: done.visible,
            usage: None,
            unmeasured: None,
            fallback: done.fallback.clone(),
        }));
    }

    pub(super) fn visible(&self) -> VisiblePart {
        crate::context::visible_part(self.history.items().iter())
    }

    pub(super) fn kinds(&self) -> Vec<ConversationUnitKind> {
        let units = self.history.units().iter();
        units.map(|unit| unit.kind.clone()).collect()
    }

    /// Returns the conversation, one short line per item.
    pub(super) fn lines(&self) -> Vec<String> {
        self.history.items().iter().map(line).collect()
    }
}

/// Builds one turn of many steps: 1,000 bytes of output each, and about thirty more.
pub(super) fn steps(n: usize) -> TestConversation {
    let mut talk = TestConversation::new();
    let context = ("AGENTS.md", "use tabs", ContextLifetime::Session);
    talk.input("do it all", Some(context));
    for step in 0..n {
        let output = format!("{step:04}").repeat(250);
        talk.answer(&format!("step {step}"), "read", &[&output]);
    }
    talk
}

/// Returns the short form of an item.
pub(super) fn line(item: &PromptItem) -> String {
    let text = match item {
        PromptItem::User { text } => format!("user: {text}"),
        PromptItem::Image { image } => format!("image: {}", image.sha256),
        PromptItem::Context { text } => format!("context: {text}"),
        PromptItem::Text { text, .. } | PromptItem::Refusal { text, .. } => {
            format!("text: {text}")
        }
        PromptItem::Reasoning { item, .. } => format!("reasoning: {}", item.text),
        PromptItem::Call { id, call, .. } => format!("call {id}: {}", call.name),
        PromptItem::Result { id, observation, .. } => {
            format!("result {id}: {}", observation.output)
        }
        PromptItem::CallReport { calls } => format!("told: {}", calls.text()),
        PromptItem::ProgramReport { observation, .. } => {
            format!("told: {}", program_report_text(observation))
        }
    };
    text.chars().take(60).collect()
}

/// Returns settings that allow everything.
pub(crate) fn settings() -> Settings {
    Settings {
        instructions: String::from("be good"),
        permissions: Permissions::Auto,
        ..Settings::new("demo", "m")
    }
}

/// Returns true if each call has its result: after the calls of its answer, one each, in order.
pub(super) fn follows_grammar<'a>(items: impl Iterator<Item = &'a PromptItem>) -> bool {
    let mut open: Vec<&Arc<str>> = Vec::new();
    let mut closing = false;
    for item in items {
        match item {
            PromptItem::Call { id, .. } => {
                if closing {
                    return false;
                }
                open.push(id);
            }
            PromptItem::Result { id, .. } => {
                if open.first() != Some(&id) {
                    return false;
                }
                open.remove(0);
                closing = !open.is_empty();
            }
            PromptItem::User { .. }
            | PromptItem::Image { .. }
            | PromptItem::Context { .. }
            | PromptItem::Text { .. }
            | PromptItem::Refusal { .. }
            | PromptItem::Reasoning { .. }
            | PromptItem::CallReport { .. }
            | PromptItem::ProgramReport { .. } => {
                if !open.is_empty() {
                    return false;
                }
            }
        }
    }
    open.is_empty()
}
