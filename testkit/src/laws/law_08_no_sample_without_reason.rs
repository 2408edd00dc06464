//! Law 8: no sample without a reason whose evidence is in the log.
//!
//! The fact that a sample names as its reason is there, and nothing has used it up: the turn's
//! input was accepted and nothing was asked since; another input was; the last answer asked for
//! calls that stand, and each has its observation; the last attempt broke off, its next one was
//! granted, and the time for it has come; the provider said that the last answer is not finished; a
//! hook answered the model, and its words are in the conversation; the provider refused the last
//! request as too large, and the conversation was compacted since; the last answer does not have
//! the shape that is asked for, and what is wrong with it is in the conversation; the last answer had neither text nor
//! calls, and that is in the conversation; the goal was set, is not met,
//! and is in the conversation. No sample begins while a call of the answer before it is out.
//!
//! A turn names the compaction that a user asked for; or else the input that is next, or, where
//! none waits, the goal.
//!
//! It kills: a sample for the sake of it, a retry that was not granted or that does not wait.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{
    CallId, CallObserved, CompactionFact, ContextFact, ContextSource, Fact, FactGroup, FailureKind,
    HookFact, InputFact, InputId, Item, ProgramFact, Reason, RecordedFact, Retained, RunFact,
    SampleCut, SampleEnded, SampleFact, Seq, StopReason, Timestamp, TurnFact, TurnOpened,
};

use super::{Held, hold, reading};

/// Checks a log.
///
/// # Errors
/// [`Broken`](super::Broken) with the first sample, or turn, whose reason has no evidence.
pub fn check(log: &[RecordedFact]) -> Held {
    let mut reader = Reader::default();
    log.iter().try_for_each(|recorded| reader.take(log, recorded))
}

/// What the log holds that may be a reason.
#[derive(Default)]
struct Reader {
    waiting: reading::Queue,
    /// The goal that is set and whose end is not recorded.
    goal: Option<Seq>,
    /// The compaction that a user asked for and that no turn was opened for.
    compaction: Option<Seq>,
    /// Why the turn was opened.
    opened: Option<Reason>,
    longest_ms: u64,
    brought: BTreeMap<Seq, Vec<CallId>>,
    observed: BTreeSet<CallId>,
    evidence: Evidence,
    /// The latest sample.
    sample: Option<Seq>,
    /// A program of it whose return was rejected, and why.
    rejected: Option<(CallId, String)>,
}

/// What speaks for the next sample.
#[derive(Debug, Default)]
struct Evidence {
    accepted: Vec<InputId>,
    /// The calls of the last answer that stand.
    calls: Option<Vec<CallId>>,
    unfinished: bool,
    /// The next attempt may be made from then on.
    retry: Option<Timestamp>,
    /// Hooks that answered the model, and whether their words are in the conversation.
    hooks: BTreeMap<Seq, bool>,
    /// The request was refused as too large, and whether the conversation was compacted since.
    overflow: Option<bool>,
    goal: Option<Seq>,
    /// What is wrong with the last answer, and whether it is in the conversation.
    fault: Option<(Seq, String, bool)>,
    /// True if the answer has text or a call.
    says: bool,
    /// The last answer if it has neither, and whether that is in the conversation.
    empty: Option<(Seq, bool)>,
}

impl Reader {
    fn take(&mut self, log: &[RecordedFact], recorded: &RecordedFact) -> Held {
        self.waiting.apply(log, recorded);
        match recorded.fact.group() {
            FactGroup::Goal(fact) => self.goal = fact.goal().map(|_| recorded.seq),
            FactGroup::Turn(TurnFact::TurnOpened(fact)) => self.open(recorded, fact)?,
            FactGroup::Hook(HookFact::HookDecided(_)) => {
                if reading::answers_the_model(log, recorded.seq) {
                    self.evidence.hooks.insert(recorded.seq, false);
                }
            }
            FactGroup::Input(InputFact::InputAccepted(fact)) => {
                self.evidence.accepted.push(fact.input);
            }
            FactGroup::Input(
                InputFact::InputQueued(_)
                | InputFact::InputBlocked(_)
                | InputFact::InputEdited(_)
                | InputFact::InputMoved(_)
                | InputFact::InputWithdrawn(_),
            ) => {}
            FactGroup::Context(ContextFact::ContextInjected(fact)) => match &fact.from {
                ContextSource::Hook { decided } => {
                    let hook = self.evidence.hooks.get_mut(decided);
                    hook.into_iter().for_each(|told| *told = true);
                }
                ContextSource::Goal { .. } => self.evidence.goal = self.goal,
                ContextSource::InvalidOutput { started, text } => {
                    if let Some((of, fault, told)) = &mut self.evidence.fault {
                        *told |= of == started && text.contains(fault.as_str());
                    }
                }
                ContextSource::EmptyAnswer { started, .. } => {
                    if let Some((of, told)) = &mut self.evidence.empty {
                        *told |= of == started;
                    }
                }
                ContextSource::LastSample { .. }
                | ContextSource::Workspace { .. }
                | ContextSource::Permissions { .. }
                | ContextSource::Presenter { .. } => {}
            },
            FactGroup::Compaction(CompactionFact::CompactionRequested(_)) => {
                self.compaction = Some(recorded.seq);
            }
            FactGroup::Compaction(CompactionFact::Compacted(_)) => {
                self.evidence.overflow = self.evidence.overflow.map(|_| true);
            }
            FactGroup::Sample(SampleFact::SampleStarted(fact)) => {
                let bears = self.bears(&fact.reason, recorded.ts);
                hold(8, bears, || {
                    format!(
                        "{} asks because of {:?}, and there is {:?}",
                        recorded.seq, fact.reason, self.evidence
                    )
                })?;
                self.evidence = Evidence::default();
                self.sample = Some(recorded.seq);
            }
            FactGroup::Sample(SampleFact::ItemAdded(fact)) => {
                self.evidence.says |= !matches!(fact.item, Item::Reasoning(_));
                if let Item::Call(_) = &fact.item {
                    let calls = self.brought.entry(fact.started).or_default();
                    calls.push(CallId(recorded.seq.0));
                }
            }
            FactGroup::Sample(SampleFact::SampleEnded(fact)) => self.end(log, fact),
            FactGroup::Sample(SampleFact::SampleCut(fact)) => self.cut(fact),
            FactGroup::Run(RunFact::CallObserved(fact)) => {
                self.observed.insert(fact.call);
                self.told(fact);
            }
            FactGroup::Program(ProgramFact::ProgramCalled(_)) => {
                let calls = self.evidence.calls.get_or_insert_default();
                calls.push(CallId(recorded.seq.0));
            }
            FactGroup::Program(ProgramFact::ProgramRun(fact)) => {
                let fault = fact.fault.clone();
                self.rejected = fault.map(|fault| (fact.program, fault));
            }
            FactGroup::Turn(TurnFact::TurnSettled(_)) => self.evidence = Evidence::default(),
            FactGroup::Hook(HookFact::HooksAsked(_))
            | FactGroup::Compaction(
                CompactionFact::CompactionStarted(_) | CompactionFact::CompactionFailed(_),
            )
            | FactGroup::Run(_)
            | FactGroup::Turn(TurnFact::InterruptRequested(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Permission(_) => {}
        }
        Ok(())
    }

    /// What is wrong with what a program returned is told with its observation, and so is why no
    /// program of an answer ran.
    fn told(&mut self, fact: &CallObserved) {
        if let (Some(_), Some((_, fault, told))) = (&self.evidence.calls, &mut self.evidence.fault)
        {
            *told |= fact.observation.output.contains(fault.as_str());
        }
        if let Some((program, fault)) = self.rejected.take()
            && program == fact.call
        {
            self.evidence.fault = self.sample.map(|started| (started, fault, true));
            self.evidence.calls = None;
        }
    }

    fn open(&mut self, recorded: &RecordedFact, fact: &TurnOpened) -> Held {
        // A user who asks to continue has also what is only to wait go on.
        let next = self.waiting.next();
        let continued = self.waiting.ids().next().filter(|_| next.is_none());
        let continued = continued.map(|input| Reason::Input { input });
        let named = match next {
            Some(input) => Some(Reason::Input { input }),
            None => self.goal.map(|set| Reason::Goal { set }),
        };
        let compaction = self.compaction.take();
        let named = compaction.map(|request| Reason::CompactionRequested { request }).or(named);
        let so = named == Some(fact.reason) || continued == Some(fact.reason);
        hold(8, so, || {
            format!("turn {} is opened by {:?}, and {named:?} is next", recorded.seq, fact.reason)
        })?;
        self.opened = Some(fact.reason);
        self.evidence = Evidence::default();
        self.longest_ms = fact.limits.max_wait_ms();
        Ok(())
    }

    fn end(&mut self, log: &[RecordedFact], fact: &SampleEnded) {
        let calls = self.brought.remove(&fact.started);
        let whole = matches!(fact.stop, StopReason::Stop | StopReason::Other(_));
        self.evidence.empty = (whole && !self.evidence.says).then_some((fact.started, false));
        self.evidence.unfinished = calls.is_none() && fact.stop == StopReason::Unfinished;
        let told = |fault: &String| {
            let seen = |recorded: &RecordedFact| {
                matches!(&recorded.fact, Fact::CallObserved(seen)
                    if calls.iter().flatten().any(|call| *call == seen.call)
                        && seen.observation.output.contains(fault.as_str()))
            };
            log.iter().any(seen)
        };
        let fault = fact.fault.as_ref();
        self.evidence.fault = fault.map(|fault| (fact.started, fault.clone(), told(fault)));
        self.evidence.calls = calls;
    }

    fn cut(&mut self, fact: &SampleCut) {
        let calls = self.brought.remove(&fact.started);
        self.evidence.retry = fact.retry_at;
        match fact.retained {
            Retained::Nothing | Retained::Text => {}
            Retained::Through { item } => {
                let stands = |call: &CallId| call.0 <= item.0;
                let calls = calls.into_iter().flatten().filter(stands).collect();
                self.evidence.calls = Some(calls);
            }
        }
        if fact.failure.kind == FailureKind::ContextOverflow {
            self.evidence.overflow = Some(false);
        }
    }

    fn bears(&self, because: &Reason, at: Timestamp) -> bool {
        let evidence = &self.evidence;
        let out = evidence.calls.iter().flatten();
        if out.into_iter().any(|call| !self.observed.contains(call)) {
            return false;
        }
        // Under a clock that was set back so far that more time is left than any backoff gets, the
        // next attempt need not wait.
        let due = |until: Timestamp| at >= until || until.since_ms(at) > self.longest_ms;
        match because {
            Reason::Input { input } => {
                self.opened == Some(*because) && evidence.accepted.contains(input)
            }
            Reason::PendingInput { input } => {
                let own = Reason::Input { input: *input };
                self.opened != Some(own) && evidence.accepted.contains(input)
            }
            Reason::ToolResults => {
                let tells = evidence.calls.is_some() && evidence.fault.is_none();
                tells && evidence.retry.is_none_or(due)
            }
            Reason::Retry => evidence.calls.is_none() && evidence.retry.is_some_and(due),
            Reason::Unfinished => evidence.unfinished,
            Reason::HookContext { decided } => evidence.hooks.get(decided) == Some(&true),
            Reason::Compacted => evidence.overflow == Some(true),
            // A turn that only compacts asks for no sample.
            Reason::CompactionRequested { .. } => false,
            Reason::InvalidOutput { started } => {
                let fault = evidence.fault.as_ref();
                fault.is_some_and(|(of, _, told)| of == started && *told)
            }
            Reason::EmptyAnswer { started } => evidence.empty == Some((*started, true)),
            Reason::Goal { set } => self.opened == Some(*because) && evidence.goal == Some(*set),
        }
    }
}
