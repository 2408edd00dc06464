//! Law 3: the running effects equal the desired effects.
//!
//! By the log, a sample is out from its `SampleStarted` to its `SampleEnded` or `SampleCut`, and a call
//! from its latest `CallStarted`, or the question what became of it, to its `CallObserved`; both are to
//! run, or to wind down once the turn was asked to stop. A sample that has brought no call is to yield
//! while the user has a word for this turn that its hooks have let in and the model may be asked again.
//! A program that waits for calls of its own is not out; it is again from the fact that ends the last
//! of them, and never once the turn was asked to stop. A call that a client runs is not out. A hook is out from its `HooksAsked` to its
//! `HookDecided`, a question to a person to its answer, a compaction to its end; after a stop nobody
//! waits for these. `desired_effects` returns exactly these. A driver runs all of it but what still
//! waits for the log to be durable, and nothing else; and no sample runs ahead of a log in which the
//! sample before it is not durable.
//!
//! It kills: `desired_effects` that forgets a call, a hook or a question, that never cancels or yields,
//! that yields to a word before its hooks have let it in, that has a program go on while its calls are
//! out, or that asks for too little durability.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{
    CallId, CompactionFact, CompactionTrigger, Demand, DesiredEffect, EffectKey, EffectStart,
    FactGroup, HookDecided, HookFact, HookOccurrence, HookPoint, HookVerdict, InputFact, InputId,
    Item, PermissionFact, ProgramFact, Reason, RecordedFact, Retained, RunFact, SampleCut,
    SampleFact, SampleKind, Seq, SessionFact, Settings, StopTiming, TurnFact,
};

use super::law_23_hooks_see_what_enters::on_prompts;
use super::{Held, hold, reading};

/// Compares the running effects with the desired ones, after a driver has reconciled them.
///
/// # Errors
/// [`Broken`](super::Broken) when an effect is desired, or runs, that should not, or is not and should.
pub fn check(
    log: &[RecordedFact],
    durable: Seq,
    owed: &[DesiredEffect],
    running: &BTreeMap<EffectKey, Demand>,
) -> Held {
    let (expected, before) = expected(log);
    let said: BTreeMap<EffectKey, Demand> = owed.iter().map(|o| (o.key, o.demand)).collect();
    hold(3, said == expected && said.len() == owed.len(), || {
        format!("by the log {expected:?} is owed, and owed says {owed:?}")
    })?;
    for (key, demand) in running {
        hold(3, said.get(key) == Some(demand), || {
            format!("{key:?} runs as {demand:?} and is owed as {:?}", said.get(key))
        })?;
    }
    for one in owed {
        let waits = one.demand != Demand::Cancel && one.requires_durable > durable;
        hold(3, waits || running.contains_key(&one.key), || {
            format!("{one:?} does not run, though the log is durable up to {durable}")
        })?;
        let ahead = matches!(one.key, EffectKey::Sample { .. }) && one.requires_durable < before;
        hold(3, !ahead, || format!("{one:?} may start before the sample at {before} is durable"))?;
    }
    Ok(())
}

/// Desired effects by the log alone, and the sample before the latest one, in whichever turn.
fn expected(log: &[RecordedFact]) -> (BTreeMap<EffectKey, Demand>, Seq) {
    let mut out = Out::default();
    for recorded in log {
        out.take(log, recorded);
    }
    (out.owed(), out.before.unwrap_or(Seq::ZERO))
}

/// What is out.
#[derive(Default)]
struct Out {
    sample: Option<Seq>,
    /// True if the sample has brought a call.
    calls: bool,
    latest: Option<Seq>,
    before: Option<Seq>,
    /// What runs for each call: itself, or the question what became of it.
    runs: BTreeMap<CallId, EffectKey>,
    hooks: BTreeMap<EffectKey, HookOccurrence>,
    questions: BTreeMap<CallId, Seq>,
    compaction: Option<Seq>,
    /// Inputs that wait.
    queue: reading::Queue,
    /// What the turn was opened for, until it is let in.
    opening: Option<InputId>,
    /// Hooks of the turn on prompts.
    screens: BTreeSet<u32>,
    /// Those of them that have let an input in.
    passed: BTreeMap<InputId, BTreeSet<u32>>,
    stopped: bool,
    paused: bool,
    /// Samples that the turn has had, and may have.
    samples: (u32, u32),
    /// Samples of its agents, which count as its own.
    agents: u32,
    /// The same of those for work, in a turn of programs. Those for corrections are set aside.
    work: Option<(u32, u32)>,
    /// Programs that have made calls.
    programs: BTreeMap<CallId, Made>,
}

/// The calls that a program has made.
#[derive(Default)]
struct Made {
    /// True if each has its observation.
    calls: BTreeMap<CallId, bool>,
    /// Its run, while it waits for them.
    suspended: Option<EffectKey>,
    /// It is not to go on any more.
    over: bool,
}

/// How many samples a turn of programs has for work, none of them had.
fn work_samples(settings: &Settings, samples: u32) -> Option<(u32, u32)> {
    let program = settings.options.program.as_ref()?;
    let schema = settings.options.output_schema.as_ref();
    let few = program.corrections.min(samples / 4);
    let aside = schema.map_or(few, |schema| schema.max_re_asks);
    Some((0, samples.saturating_sub(aside).max(1)))
}

impl Out {
    fn take(&mut self, log: &[RecordedFact], recorded: &RecordedFact) {
        self.take_one(log, recorded);
        self.programs(recorded.seq);
    }

    /// A program runs while none of its calls is out, nor a hook that is asked about one; each time
    /// that it goes on is a run of its own. Once the turn is to stop, it does not.
    fn programs(&mut self, at: Seq) {
        for (program, made) in &mut self.programs {
            let out = made.calls.values().any(|over| !over);
            let mut asked = self.hooks.values().filter_map(HookOccurrence::call);
            let asked = asked.any(|call| made.calls.contains_key(&call));
            let waits = out || asked;
            if waits {
                if let Some(key) = self.runs.remove(program) {
                    made.suspended = Some(key);
                }
            } else if made.suspended.take().is_some() && !made.over {
                let (call, started) = (*program, at);
                self.runs.insert(*program, EffectKey::Call { call, started });
            }
            if self.stopped && self.runs.remove(program).is_some() {
                made.over = true;
            }
        }
    }

    fn take_one(&mut self, log: &[RecordedFact], recorded: &RecordedFact) {
        let next = self.queue.steer();
        self.queue.apply(log, recorded);
        // Replies about a steer that is not next any more are discarded.
        if let Some(next) = next.filter(|next| self.queue.steer() != Some(*next)) {
            self.passed.remove(&next);
        }
        match recorded.fact.group() {
            FactGroup::Program(ProgramFact::ProgramCalled(fact)) => {
                let made = self.programs.entry(fact.program).or_default();
                made.calls.insert(CallId(recorded.seq.0), false);
            }
            FactGroup::Input(fact) => self.input(fact),
            FactGroup::Turn(TurnFact::TurnOpened(fact)) => {
                self.clear();
                (self.samples, self.agents) = ((0, fact.limits.samples), 0);
                let settings = reading::settings(log, fact.settings);
                self.work = settings.and_then(|it| work_samples(it, fact.limits.samples));
                self.screens = on_prompts(&reading::hooks(log, recorded));
                self.opening = match fact.reason {
                    Reason::Input { input } => Some(input),
                    Reason::Goal { .. }
                    | Reason::CompactionRequested { .. }
                    | Reason::ToolResults
                    | Reason::Retry
                    | Reason::Unfinished
                    | Reason::PendingInput { .. }
                    | Reason::HookContext { .. }
                    | Reason::InvalidOutput { .. }
                    | Reason::EmptyAnswer { .. }
                    | Reason::Compacted => None,
                };
            }
            FactGroup::Turn(TurnFact::TurnSettled(_)) => self.clear(),
            FactGroup::Hook(HookFact::HooksAsked(fact)) => {
                let again = |key: &EffectKey| match key {
                    EffectKey::Hook { hook, .. } => fact.hooks.contains(hook),
                    EffectKey::Sample { .. }
                    | EffectKey::Call { .. }
                    | EffectKey::Approval { .. }
                    | EffectKey::Reconcile { .. }
                    | EffectKey::Compact { .. } => false,
                };
                self.hooks.retain(|key, at| *at != fact.at || !again(key));
                if let (HookOccurrence::BeforeTool { call }, 1) = (fact.at, fact.attempt) {
                    // The call is decided again: nothing else is asked about it.
                    self.hooks.retain(|_, at| at.call() != Some(call));
                    self.questions.remove(&call);
                }
                let asked = recorded.seq;
                let keys = fact.hooks.iter().map(|hook| EffectKey::Hook { hook: *hook, asked });
                self.hooks.extend(keys.map(|key| (key, fact.at)));
            }
            FactGroup::Hook(HookFact::HookDecided(fact)) => self.hear(log, recorded, fact),
            FactGroup::Compaction(CompactionFact::CompactionStarted(_)) => {
                self.compaction = Some(recorded.seq)
            }
            FactGroup::Compaction(
                CompactionFact::Compacted(_) | CompactionFact::CompactionFailed(_),
            ) => self.compaction = None,
            FactGroup::Sample(SampleFact::SampleStarted(fact)) => {
                self.samples.0 = fact.sample;
                if let Some((had, _)) = &mut self.work
                    && fact.kind != SampleKind::ReAsk
                    && fact.attempt == 1
                {
                    *had += 1;
                }
                (self.sample, self.calls) = (Some(recorded.seq), false);
                (self.before, self.latest) = (self.latest, Some(recorded.seq));
            }
            FactGroup::Sample(SampleFact::ItemAdded(fact)) => {
                self.calls |= matches!(fact.item, Item::Call(_))
            }
            FactGroup::Sample(SampleFact::SampleEnded(_)) => self.sample = None,
            FactGroup::Sample(SampleFact::SampleCut(fact)) => self.cut(fact),
            // A call that is decided again is not asked about until then.
            FactGroup::Permission(PermissionFact::CallDecided(fact)) => {
                self.questions.remove(&fact.call);
            }
            FactGroup::Permission(PermissionFact::ApprovalAsked(fact)) => {
                self.questions.insert(fact.call, recorded.seq);
            }
            FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => {
                self.questions.remove(&fact.call);
            }
            // A client runs it: nothing runs here.
            FactGroup::Run(RunFact::CallStarted(fact)) if fact.client => {}
            FactGroup::Run(RunFact::CallStarted(fact)) => {
                let (call, started) = (fact.call, recorded.seq);
                self.runs.insert(call, EffectKey::Call { call, started });
            }
            FactGroup::Run(RunFact::CallSuspended(fact)) => {
                self.runs.remove(&fact.call);
            }
            FactGroup::Run(RunFact::CallResumed(_)) => {}
            FactGroup::Recovery(_) => {
                let Some(EffectStart::Reconcile(fact)) = recorded.fact.start() else {
                    return;
                };
                let (call, started) = (fact.call, recorded.seq);
                let key = EffectKey::Reconcile { call, started };
                self.runs.insert(call, key);
            }
            FactGroup::Run(RunFact::CallObserved(fact)) => {
                self.programs.remove(&fact.call);
                for made in self.programs.values_mut() {
                    if let Some(over) = made.calls.get_mut(&fact.call) {
                        *over = true;
                    }
                }
                self.agents += fact.usage.map_or(0, |took| took.samples);
                self.runs.remove(&fact.call);
                self.questions.remove(&fact.call);
                self.hooks.retain(|_, at| at.call() != Some(fact.call));
            }
            FactGroup::Turn(TurnFact::InterruptRequested(fact)) => match fact.when {
                StopTiming::Now => self.stop(),
                StopTiming::AfterStep => self.paused = true,
            },
            FactGroup::Session(SessionFact::PermissionsNarrowed(fact)) => {
                let earlier = log.iter().rfind(|earlier| earlier.seq < recorded.seq);
                let known = earlier.map(|earlier| reading::hooks(log, earlier)).unwrap_or_default();
                let mut new = fact.hooks.iter().filter(|hook| !known.contains(hook));
                if new.any(|hook| hook.matches(HookPoint::PromptSubmitted, "")) {
                    // All of them are asked about the inputs that wait.
                    self.screens = on_prompts(&reading::hooks(log, recorded));
                    self.passed.clear();
                    self.hooks.retain(|_, at| at.input().is_none());
                }
            }
            // The hooks of a session at rest are those of its settings.
            FactGroup::Session(SessionFact::SettingsChanged(_)) => {
                self.hooks.retain(|_, at| *at != HookOccurrence::SessionEnd)
            }
            FactGroup::Session(
                SessionFact::SessionOpened(_)
                | SessionFact::SessionRenamed(_)
                | SessionFact::SessionRewound(_)
                | SessionFact::FilesRestored(_),
            )
            | FactGroup::Program(ProgramFact::ProgramRun(_))
            | FactGroup::Compaction(CompactionFact::CompactionRequested(_))
            | FactGroup::Goal(_)
            | FactGroup::Context(_) => {}
        }
    }

    /// What hooks say of a text counts for no other text, and they are asked of one steer at a time.
    fn input(&mut self, fact: InputFact<'_>) {
        let changed = match fact {
            InputFact::InputEdited(fact) => Some(fact.input),
            InputFact::InputWithdrawn(fact) => Some(fact.input),
            InputFact::InputAccepted(_) | InputFact::InputBlocked(_) => {
                self.opening = None;
                None
            }
            InputFact::InputQueued(_) | InputFact::InputMoved(_) => None,
        };
        if let Some(input) = changed {
            self.passed.remove(&input);
        }
        if changed.is_some() || matches!(fact, InputFact::InputMoved(_)) {
            // Whether room must be made for an input is considered again.
            let trigger = Some(CompactionTrigger::Window);
            let for_room = |at: &HookOccurrence| {
                at.point() == HookPoint::BeforeCompaction && at.trigger() == trigger
            };
            self.hooks.retain(|_, at| !for_room(at));
        }
        let (first, opening) = (self.queue.steer(), self.opening);
        self.hooks.retain(|_, at| {
            at.input().is_none_or(|input| {
                changed != Some(input) && (first == Some(input) || opening == Some(input))
            })
        });
    }

    fn clear(&mut self) {
        *self = Self {
            latest: self.latest,
            before: self.before,
            queue: std::mem::take(&mut self.queue),
            ..Self::default()
        };
    }

    /// Of calls that do not stand nobody waits for anything.
    fn cut(&mut self, fact: &SampleCut) {
        self.sample = None;
        let last = match fact.retained {
            Retained::Nothing | Retained::Text => Seq::ZERO,
            Retained::Through { item } => item,
        };
        let stands = |call: &CallId| call.0 <= last.0;
        let about = |at: &HookOccurrence| at.call().is_none_or(|call| stands(&call));
        self.hooks.retain(|_, at| about(at));
        self.questions.retain(|call, _| stands(call));
    }

    /// A hook that halts, or says more than it may, stops the turn.
    fn hear(&mut self, log: &[RecordedFact], recorded: &RecordedFact, fact: &HookDecided) {
        let (hook, asked) = (fact.hook, fact.asked);
        let at = self.hooks.remove(&EffectKey::Hook { hook, asked });
        let counts = reading::counts_as(&reading::hooks(log, recorded), fact);
        if let Some(input) = at.and_then(|at| at.input())
            && counts != HookVerdict::Deny
        {
            self.passed.entry(input).or_default().insert(hook);
        }
        match fact.verdict {
            // At the session's end there is no turn to stop.
            HookVerdict::Halt | HookVerdict::Overrun if at != Some(HookOccurrence::SessionEnd) => {
                self.stop();
            }
            HookVerdict::Halt
            | HookVerdict::Overrun
            | HookVerdict::Pass
            | HookVerdict::Allow
            | HookVerdict::Ask
            | HookVerdict::Deny
            | HookVerdict::Failed => {}
        }
    }

    /// Nobody waits any more for what hooks and people say, nor for a compaction.
    fn stop(&mut self) {
        // Hooks that hear of a stop are asked after it: another one changes nothing for them.
        if self.stopped {
            return;
        }
        self.stopped = true;
        self.hooks.clear();
        self.questions.clear();
        self.compaction = None;
    }

    fn owed(&self) -> BTreeMap<EffectKey, Demand> {
        let demand = match self.stopped {
            true => Demand::Cancel,
            false => Demand::Run,
        };
        let left = |(had, most): (u32, u32)| had + self.agents < most;
        let more = left(self.samples) && self.work.is_none_or(left);
        let more = more && !self.stopped && !self.paused;
        let let_in = |input: InputId| {
            self.screens.is_empty() || self.passed.get(&input) == Some(&self.screens)
        };
        let yields = more && !self.calls && self.queue.user_steer().is_some_and(let_in);
        let sample = self.sample.map(|started| {
            let demand = if yields { Demand::Yield } else { demand };
            (EffectKey::Sample { started }, demand)
        });
        let runs = self.runs.values().map(|key| (*key, demand));
        let hooks = self.hooks.keys().map(|key| (*key, Demand::Run));
        let questions = self.questions.iter().map(|(call, asked)| {
            let (call, asked) = (*call, *asked);
            (EffectKey::Approval { call, asked }, Demand::Run)
        });
        let compaction =
            self.compaction.map(|started| (EffectKey::Compact { started }, Demand::Run));
        let all = sample.into_iter().chain(runs).chain(hooks);
        all.chain(questions).chain(compaction).collect()
    }
}
