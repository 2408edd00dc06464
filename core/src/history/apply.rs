//! Apply: how each fact changes the history.

use alloc::string::String;
use alloc::sync::Arc;

use super::{
    ConversationUnit, ConversationUnitKind, EMPTY_ANSWER, GOAL, History, INTERRUPT, INVALID_OUTPUT,
    LAST_SAMPLE, MAX_PENDING_CONTEXTS, PERMISSIONS, PendingHookContext, UNDO, WORKSPACE,
    WaitingInput, hook_name, invalid_fact, presenter_name,
};
use crate::compact;
use crate::context;
use crate::error::InvalidFact;
use crate::fact::{
    CallObserved, CallStarted, CompactionFact, ContextFact, ContextInjected, ContextLifetime,
    ContextSource, FactGroup, HookDecided, HookFact, InputFact, PermissionFact, ProgramFact,
    RunFact, SampleFact, SessionFact, TurnFact,
};
use crate::hook::{Edit, Editable};
use crate::id::{CallId, InputId};
use crate::record::RecordedFact;
use crate::render::{PromptItem, command_text};
use crate::request_record::FailedAttempt;
use crate::undo;

impl History {
    /// Applies a fact.
    ///
    /// # Errors
    /// [`InvalidFact`] when the fact names a missing input, call or text, or when a compaction's
    /// result differs from the fact.
    pub fn apply(&mut self, recorded: &RecordedFact) -> Result<(), InvalidFact> {
        crate::evolve::require_readable(recorded)?;
        match recorded.fact.group() {
            FactGroup::Input(fact) => self.input(recorded, fact)?,
            FactGroup::Hook(HookFact::HooksAsked(fact)) => {
                self.asked.insert(recorded.seq, fact.at);
            }
            FactGroup::Hook(HookFact::HookDecided(fact)) => self.on_hook_decided(recorded, fact)?,
            FactGroup::Context(ContextFact::ContextInjected(fact)) => {
                self.inject(recorded, fact)?;
            }
            FactGroup::Compaction(CompactionFact::Compacted(fact)) => {
                let (items, units) =
                    compact::apply(&self.items, &self.units, recorded.turn, &fact.cut);
                if context::visible_part(items.iter()) != fact.visible {
                    let why = "the compaction does not come out as it says";
                    return Err(invalid_fact(recorded, why));
                }
                (self.items, self.units) = (items, units);
                self.collect_ids();
                self.memories.forget_earlier();
            }
            FactGroup::Session(SessionFact::SessionRewound(fact)) => {
                self.rewind(recorded, fact)?;
            }
            FactGroup::Session(SessionFact::FilesRestored(fact)) => {
                let (name, lifetime) = (None, ContextLifetime::Turn);
                self.begin(recorded, ConversationUnitKind::Context { name, lifetime });
                self.items.push(framed(UNDO, &undo::shown(fact)));
            }
            FactGroup::Sample(fact) => self.sample(recorded, fact),
            FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => {
                if let Some(edit) = &fact.edit {
                    self.edit(recorded, fact.call, edit)?;
                }
            }
            FactGroup::Program(ProgramFact::ProgramCalled(fact)) => {
                self.on_program_called(recorded.seq, fact.program, &fact.item);
            }
            FactGroup::Program(ProgramFact::ProgramRun(fact)) => {
                self.on_program_run(recorded, fact)?
            }
            FactGroup::Run(RunFact::CallStarted(fact)) => self.started(recorded, fact)?,
            FactGroup::Run(RunFact::CallObserved(fact)) => self.observe(recorded, fact)?,
            FactGroup::Turn(TurnFact::TurnSettled(fact)) => {
                self.discard_sample();
                self.program_failure = None;
                if let Some(notice) = &fact.notice {
                    let kind = ConversationUnitKind::Context {
                        name: None,
                        lifetime: ContextLifetime::Turn,
                    };
                    self.begin(recorded, kind);
                    self.items.push(framed(INTERRUPT, notice));
                }
                // Lasting context may still be injected in a later turn.
                self.pending_contexts.retain(|_, given| given.outlives_turn);
                while self.pending_contexts.len() > MAX_PENDING_CONTEXTS {
                    self.pending_contexts.pop_first();
                }
                self.asked.clear();
            }
            FactGroup::Turn(TurnFact::TurnOpened(_) | TurnFact::InterruptRequested(_))
            | FactGroup::Compaction(
                CompactionFact::CompactionRequested(_)
                | CompactionFact::CompactionStarted(_)
                | CompactionFact::CompactionFailed(_),
            )
            | FactGroup::Permission(
                PermissionFact::CallDecided(_) | PermissionFact::ApprovalAsked(_),
            )
            | FactGroup::Run(RunFact::CallSuspended(_) | RunFact::CallResumed(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Goal(_) => {}
        }
        Ok(())
    }

    fn input(&mut self, recorded: &RecordedFact, fact: InputFact<'_>) -> Result<(), InvalidFact> {
        match fact {
            InputFact::InputQueued(fact) => {
                let waiting = WaitingInput {
                    text: fact.text.clone(),
                    context: fact.context.clone(),
                    images: fact.images.clone(),
                    command: fact.command.is_some(),
                };
                self.waiting.insert(InputId(recorded.seq.0), waiting);
            }
            InputFact::InputAccepted(fact) => {
                let waiting = self.waiting.remove(&fact.input);
                let waiting =
                    waiting.ok_or_else(|| invalid_fact(recorded, "no such input waits"))?;
                self.begin(recorded, ConversationUnitKind::Request);
                let text = match waiting.command {
                    true => command_text(&waiting.text).into(),
                    false => waiting.text,
                };
                self.items.push(PromptItem::User { text });
                for image in waiting.images {
                    self.items.push(PromptItem::Image { image: Arc::new(image) });
                }
                if let Some(call) = &fact.call {
                    self.begin_command(recorded, call);
                }
            }
            InputFact::InputBlocked(fact) => {
                self.waiting.remove(&fact.input);
            }
            InputFact::InputEdited(fact) => {
                let waiting = self.waiting.get_mut(&fact.input);
                let waiting =
                    waiting.ok_or_else(|| invalid_fact(recorded, "no such input waits"))?;
                waiting.text = fact.text.clone();
            }
            InputFact::InputMoved(_) => {}
            InputFact::InputWithdrawn(fact) => {
                self.waiting.remove(&fact.input);
            }
        }
        Ok(())
    }

    fn sample(&mut self, recorded: &RecordedFact, fact: SampleFact<'_>) {
        match fact {
            SampleFact::SampleStarted(fact) => {
                self.returned = None;
                if fact.attempt == 1 {
                    self.failed.clear();
                }
                self.discard_sample();
            }
            SampleFact::ItemAdded(fact) => self.add(recorded.seq, &fact.item),
            SampleFact::SampleEnded(fact) => {
                self.complete(fact.started, recorded);
            }
            SampleFact::SampleCut(fact) => {
                self.failed.push(FailedAttempt {
                    kind: fact.failure.kind,
                    provider: fact.request.as_ref().map(|asked| asked.provider.clone()),
                    model: fact.request.as_ref().map(|asked| asked.model.clone()),
                });
                self.commit_retained(recorded, fact);
            }
        }
    }

    /// Begins a part of the conversation.
    pub(super) fn begin(&mut self, recorded: &RecordedFact, kind: ConversationUnitKind) {
        self.units.push(ConversationUnit { first: self.items.len(), turn: recorded.turn, kind });
    }

    fn on_hook_decided(
        &mut self,
        recorded: &RecordedFact,
        fact: &HookDecided,
    ) -> Result<(), InvalidFact> {
        if let Some(context) = &fact.context {
            let at = self.asked.get(&fact.asked);
            let given = PendingHookContext {
                name: fact.name.clone(),
                text: context.clone(),
                outlives_turn: at
                    .is_some_and(|at| at.point().properties().lifetime == ContextLifetime::Session),
            };
            self.pending_contexts.insert(recorded.seq, given);
        }
        let Some(edit) = &fact.edit else {
            return Ok(());
        };
        let at = self.asked.get(&fact.asked).copied();
        let at = at.ok_or_else(|| invalid_fact(recorded, "no such hook was asked"))?;
        let nothing = || invalid_fact(recorded, "there is nothing to change here");
        match at.point().properties().edits {
            Editable::Nothing => Err(nothing()),
            Editable::Prompt => {
                let waiting = at.input().and_then(|input| self.waiting.get_mut(&input));
                let waiting =
                    waiting.ok_or_else(|| invalid_fact(recorded, "no such input waits"))?;
                waiting.text = edit.text.clone();
                Ok(())
            }
            Editable::Arguments => {
                let call = at.call().ok_or_else(nothing)?;
                self.edit(recorded, call, edit)
            }
        }
    }

    fn edit(
        &mut self,
        recorded: &RecordedFact,
        id: CallId,
        edit: &Edit,
    ) -> Result<(), InvalidFact> {
        let call = self.calls.iter_mut().rfind(|call| call.id == id);
        let call = call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))?;
        call.edited = Some(edit.text.clone());
        Ok(())
    }

    fn inject(
        &mut self,
        recorded: &RecordedFact,
        fact: &ContextInjected,
    ) -> Result<(), InvalidFact> {
        let lasting = fact.lifetime;
        let named = |name: &str| ConversationUnitKind::Context {
            name: Some(String::from(name)),
            lifetime: lasting,
        };
        let (kind, from, text) = match &fact.from {
            ContextSource::Workspace { text } => (named(WORKSPACE), WORKSPACE, text.clone()),
            ContextSource::Permissions { text } => (named(PERMISSIONS), PERMISSIONS, text.clone()),
            ContextSource::Goal { text } => (ConversationUnitKind::Request, GOAL, text.clone()),
            ContextSource::LastSample { text } => {
                let name = None;
                (
                    ConversationUnitKind::Context { name, lifetime: lasting },
                    LAST_SAMPLE,
                    text.clone(),
                )
            }
            ContextSource::InvalidOutput { text, .. } => {
                let name = None;
                (
                    ConversationUnitKind::Context { name, lifetime: lasting },
                    INVALID_OUTPUT,
                    text.clone(),
                )
            }
            ContextSource::EmptyAnswer { text, .. } => {
                let name = None;
                (
                    ConversationUnitKind::Context { name, lifetime: lasting },
                    EMPTY_ANSWER,
                    text.clone(),
                )
            }
            ContextSource::Presenter { input, part } => {
                let waiting = self.waiting.get(input);
                let part = usize::try_from(*part).unwrap_or(usize::MAX);
                let part = waiting.and_then(|waiting| waiting.context.get(part));
                let part = part.ok_or_else(|| invalid_fact(recorded, "no such context waits"))?;
                let (kind, text) = (named(&presenter_name(&part.from)), part.text.clone());
                let item = framed(&part.from, &text);
                self.begin(recorded, kind);
                self.items.push(item);
                return Ok(());
            }
            ContextSource::Hook { decided } => {
                let given = self.pending_contexts.remove(decided);
                let given =
                    given.ok_or_else(|| invalid_fact(recorded, "no hook has given this"))?;
                let (name, text) = (given.name, given.text);
                self.begin(
                    recorded,
                    ConversationUnitKind::Context { name: None, lifetime: lasting },
                );
                self.items.push(framed(&hook_name(&name), &text));
                return Ok(());
            }
        };
        self.begin(recorded, kind);
        self.items.push(framed(from, &text));
        Ok(())
    }

    /// Marks a call as started, unless the run is a dry run, which changes nothing.
    fn started(&mut self, recorded: &RecordedFact, fact: &CallStarted) -> Result<(), InvalidFact> {
        let call = self.calls.iter_mut().rfind(|call| call.id == fact.call);
        let call = call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))?;
        call.started |= !fact.plan;
        Ok(())
    }

    fn observe(&mut self, recorded: &RecordedFact, fact: &CallObserved) -> Result<(), InvalidFact> {
        let call = self.calls.iter_mut().rfind(|call| call.id == fact.call);
        let call = call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))?;
        if call.observation.is_some() {
            return Err(invalid_fact(recorded, "the call has its observation already"));
        }
        call.observation = Some(fact.observation.clone());
        call.form = fact.form;
        call.report = fact.report.clone();
        self.commit_if_complete(recorded);
        Ok(())
    }
}

pub(super) fn framed(from: &str, text: &str) -> PromptItem {
    PromptItem::Context { text: context::frame(from, text).into() }
}
