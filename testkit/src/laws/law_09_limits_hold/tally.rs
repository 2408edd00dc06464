//! What one turn has taken, counted from its facts alone.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{
    AgentSpec, CallId, CallStarted, CompactionFact, Concurrency, ContextFact, ContextInjected,
    ContextSource, EffectStart, FactGroup, FailureKind, HookFact, HookOccurrence, HookVerdict,
    InputFact, Item, ItemAdded, Limits, PermissionFact, Price, ProgramFact, Reason, RecordedFact,
    Reservation, Retained, RunFact, SampleCut, SampleFact, SampleKind, SampleStarted, Seq,
    Settings, StopReason, StopTiming, Timestamp, TurnFact, TurnUsage, Verdict,
};

mod beginning;
mod budget;
mod empty;
mod next;
mod settling;

use super::lending::{Bounds, Lending};
use super::over;
use crate::laws::{Held, hold, reading};
use empty::EmptyAnswers;
use next::Next;

pub(super) struct Tally {
    limits: Limits,
    /// Bytes of the session before this fact.
    session_bytes: u64,
    price: Option<Price>,
    opened_at: Timestamp,
    spent: TurnUsage,
    /// Of the sample that is out or was last.
    failures: u32,
    restarts: u32,
    /// True if the next start is a further attempt at the same sample.
    again: bool,
    /// Calls of the sample that is out or was last, with their positions.
    brought: Vec<Seq>,
    /// True if the sample is out.
    streams: bool,
    runs: BTreeMap<CallId, u32>,
    running: BTreeMap<CallId, Concurrency>,
    /// What calls that run are lent.
    lending: Lending,
    /// Times of the latest fact, and of the latest one before that.
    moments: [Timestamp; 2],
    /// When each question to a person is to be answered.
    deadlines: BTreeMap<CallId, Option<Timestamp>>,
    context_bytes: u64,
    /// True if a hook, or the user, has had the turn go on after the last answer.
    continued: bool,
    /// True if a hook denied the last answer.
    denied: bool,
    /// Calls of the last answer that have their observation.
    observed: Vec<CallId>,
    /// What was set aside for the sample, or the summary, that is out or was last.
    reserved: Reservation,
    /// What the next sample takes.
    next: Next,
    /// True if a compaction is out.
    compacts: bool,
    stopped: bool,
    paused: bool,
    length: bool,
    overflow: bool,
    /// True if the model's window is known.
    window: bool,
    /// Most re-asks; `None` where no shape and no program is asked for.
    returns: Option<u32>,
    /// What is wrong with the last answer, or with what its program returned.
    fault: Option<String>,
    /// The calls that one program may make; `None` where the model writes none.
    program: Option<u32>,
    /// Calls that the program of the last answer has made.
    made: u32,
    /// Calls that were suspended.
    suspended: BTreeSet<CallId>,
    /// Positions of them, and of those beyond what it may make.
    called: Vec<Seq>,
    /// Its own samples for work.
    own_work: u32,
    /// Kind of the latest sample.
    kind: SampleKind,
    empty: EmptyAnswers,
    /// True if a return was rejected and is to be asked for again.
    rejected: bool,
    /// True if the program of the last answer has returned.
    returned: bool,
}

impl Tally {
    pub(super) fn new(limits: Limits, settings: Option<&Settings>, opened_at: Timestamp) -> Self {
        Self {
            limits,
            session_bytes: 0,
            price: settings.and_then(|settings| settings.price),
            opened_at,
            spent: TurnUsage::default(),
            failures: 0,
            restarts: 0,
            again: false,
            brought: Vec::new(),
            streams: false,
            runs: BTreeMap::new(),
            suspended: BTreeSet::new(),
            running: BTreeMap::new(),
            lending: Lending::default(),
            moments: [opened_at; 2],
            deadlines: BTreeMap::new(),
            context_bytes: 0,
            continued: false,
            denied: false,
            observed: Vec::new(),
            reserved: Reservation::default(),
            next: Next::new(settings),
            compacts: false,
            stopped: false,
            paused: false,
            length: false,
            overflow: false,
            window: settings.is_some_and(|settings| settings.window.tokens > 0),
            returns: settings.and_then(|settings| {
                let (shape, program) = (&settings.options.output_schema, &settings.options.program);
                let few = program.as_ref().map(|one| one.corrections.min(limits.samples / 4));
                shape.as_ref().map(|shape| shape.max_re_asks).or(few)
            }),
            fault: None,
            program: settings
                .and_then(|settings| settings.options.program.as_ref())
                .map(|program| program.limits.calls),
            made: 0,
            called: Vec::new(),
            own_work: 0,
            kind: SampleKind::Normal,
            empty: EmptyAnswers::default(),
            rejected: false,
            returned: false,
        }
    }

    pub(super) fn count(&mut self, log: &[RecordedFact], recorded: &RecordedFact) -> Held {
        self.moment(recorded.ts);
        self.empty.count(recorded, &self.limits)?;
        self.counts(log, recorded)?;
        self.lending.holds(recorded, &self.limits, self.spent.with_agents())
    }

    fn counts(&mut self, log: &[RecordedFact], recorded: &RecordedFact) -> Held {
        let runs = u64::from(self.limits.restarts) + 1;
        match recorded.fact.group() {
            FactGroup::Input(InputFact::InputAccepted(_)) => {
                self.continued = true;
                Ok(())
            }
            FactGroup::Hook(HookFact::HooksAsked(fact)) => {
                let asked = u64::from(fact.attempt);
                over(recorded, "runs of hooks", asked, runs)?;
                let work = matches!(fact.at, HookOccurrence::BeforeSample { .. });
                match fact.at == HookOccurrence::Interrupt {
                    true => Ok(()),
                    false if work || fact.at.call().is_some() => self.begins(recorded),
                    // A turn's time counts from when its input is let in until it concludes.
                    false => self.goes_on(recorded),
                }
            }
            FactGroup::Hook(HookFact::HookDecided(fact)) => {
                let bytes = fact.context.as_ref().map_or(0, |text| text.len() as u64);
                self.context_bytes += bytes;
                let most = self.limits.context_bytes;
                over(recorded, "bytes of hooks", self.context_bytes, most)?;
                self.stopped |= [HookVerdict::Halt, HookVerdict::Overrun].contains(&fact.verdict);
                self.denied |= reading::answers_the_model(log, recorded.seq);
                Ok(())
            }
            FactGroup::Context(ContextFact::ContextInjected(fact)) => {
                self.told(log, recorded, fact)
            }
            FactGroup::Compaction(CompactionFact::CompactionStarted(fact)) => {
                self.goes_on(recorded)?;
                let (nth, most) = (fact.compaction, self.limits.compactions);
                over(recorded, "compactions", u64::from(nth), u64::from(most))?;
                self.lose(recorded, fact.lost, fact.attempt > 1)?;
                self.reserved = fact.reserved;
                self.compacts = true;
                over(recorded, "runs of it", u64::from(fact.attempt), runs)
            }
            FactGroup::Compaction(CompactionFact::Compacted(fact)) => {
                self.spent.compactions += 1;
                let usage = fact.usage.as_ref();
                usage.into_iter().for_each(|usage| self.pay(Some(*usage), None, true));
                let unmeasured = fact.unmeasured.unwrap_or(u32::from(usage.is_none()));
                (0..unmeasured).for_each(|_| self.pay(None, None, true));
                self.compacts = false;
                Ok(())
            }
            FactGroup::Compaction(CompactionFact::CompactionFailed(fact)) => {
                self.spent.compactions += 1;
                self.compacts = false;
                self.lose(recorded, fact.lost, fact.lost != Reservation::default())
            }
            FactGroup::Sample(SampleFact::SampleStarted(fact)) => self.sample(recorded, fact),
            FactGroup::Sample(SampleFact::ItemAdded(fact)) => self.brings(recorded, fact),
            FactGroup::Sample(SampleFact::SampleEnded(fact)) => {
                self.streams = false;
                self.spent.calls += self.calls();
                self.pay(fact.usage, fact.estimate, true);
                self.next.measured(fact.usage);
                self.length = fact.stop == StopReason::Length;
                self.again = false;
                self.fault.clone_from(&fact.fault);
                self.rejected = self.fault.is_some() && !self.brought.is_empty();
                self.answered();
                hold(9, self.fault.is_none() || self.returns.is_some(), || {
                    format!("{} finds fault where no shape is asked for", recorded.seq)
                })
            }
            FactGroup::Sample(SampleFact::SampleCut(fact)) => self.cut(recorded, fact),
            // A call that is decided again is asked about anew.
            FactGroup::Permission(PermissionFact::CallDecided(fact)) => {
                self.deadlines.remove(&fact.call);
                Ok(())
            }
            FactGroup::Permission(PermissionFact::ApprovalAsked(fact)) => {
                self.begins(recorded)?;
                let ms = self.limits.approval_ms;
                let due = (ms > 0).then(|| recorded.ts.plus_ms(ms));
                let silent = self.was_silent(recorded.ts);
                let first = self.deadlines.entry(fact.call).or_insert(due);
                if first.is_some_and(|first| recorded.ts >= first) && silent {
                    *first = due;
                }
                let first = *first;
                hold(9, fact.deadline == first, || {
                    format!("{} is to be answered until {first:?}", recorded.seq)
                })
            }
            FactGroup::Permission(PermissionFact::ApprovalAnswered(fact)) => {
                let due = self.deadlines.get(&fact.call).copied().flatten();
                let late = due.is_some_and(|due| recorded.ts >= due);
                hold(9, fact.verdict == Verdict::Deny || !late, || {
                    format!("{} allows a call too late", recorded.seq)
                })
            }
            FactGroup::Run(RunFact::CallStarted(fact)) => self.call(log, recorded, fact),
            FactGroup::Recovery(_) => {
                let Some(EffectStart::Reconcile(fact)) = recorded.fact.start() else {
                    return Ok(());
                };
                self.begins(recorded)?;
                let (ms, most) = (fact.timeout_ms, self.limits.call_ms);
                over(recorded, "ms for a question", ms, most)?;
                over(recorded, "questions", u64::from(fact.attempt), runs)
            }
            FactGroup::Program(ProgramFact::ProgramCalled(_)) => {
                self.goes_on(recorded)?;
                self.called.push(recorded.seq);
                let room = self.made < self.program.unwrap_or(0);
                if room && self.spent.calls < self.limits.calls {
                    self.made += 1;
                    self.spent.calls += 1;
                }
                Ok(())
            }
            FactGroup::Program(ProgramFact::ProgramRun(fact)) => self.ran(recorded, fact),
            // The next run starts anew, and is no repeat of this one. A question keeps its place.
            FactGroup::Run(RunFact::CallSuspended(fact)) => {
                self.suspended.insert(fact.call);
                self.runs.remove(&fact.call);
                if fact.deadline.is_none() {
                    self.running.remove(&fact.call);
                }
                Ok(())
            }
            FactGroup::Run(RunFact::CallResumed(fact)) => {
                self.running.remove(&fact.call);
                Ok(())
            }
            FactGroup::Run(RunFact::CallObserved(fact)) => {
                self.running.remove(&fact.call);
                let took = self.lending.observed(recorded, fact)?;
                self.spent.agents = self.spent.agents.plus(took);
                self.observed.push(fact.call);
                self.answered();
                Ok(())
            }
            FactGroup::Turn(TurnFact::InterruptRequested(fact)) => {
                match fact.when {
                    StopTiming::Now => self.stopped = true,
                    StopTiming::AfterStep => self.paused = true,
                }
                Ok(())
            }
            FactGroup::Input(
                InputFact::InputQueued(_)
                | InputFact::InputBlocked(_)
                | InputFact::InputEdited(_)
                | InputFact::InputMoved(_)
                | InputFact::InputWithdrawn(_),
            )
            | FactGroup::Turn(TurnFact::TurnOpened(_) | TurnFact::TurnSettled(_))
            | FactGroup::Compaction(CompactionFact::CompactionRequested(_))
            | FactGroup::Session(_)
            | FactGroup::Goal(_) => Ok(()),
        }
    }

    /// The calls of the answer that may start; the rest are surplus.
    fn calls(&self) -> u32 {
        let brought = u32::try_from(self.brought.len()).unwrap_or(u32::MAX);
        brought.min(self.limits.calls_per_sample)
    }

    /// An answer brings an item: a call beyond the limit is surplus, and nothing else is.
    fn brings(&mut self, recorded: &RecordedFact, fact: &ItemAdded) -> Held {
        let Item::Call(_) = &fact.item else {
            return hold(9, !fact.surplus, || format!("{} is no call", recorded.seq));
        };
        let (before, most) = (self.brought.len() as u64, u64::from(self.limits.calls_per_sample));
        self.brought.push(recorded.seq);
        hold(9, fact.surplus == (before >= most), || {
            let seq = recorded.seq;
            format!("{seq} is call {} of the answer, and the limit is {most}", before + 1)
        })
    }

    /// Counts a denied answer with calls, once each of them has its observation.
    fn answered(&mut self) {
        let seen = |call: &Seq| self.observed.contains(&CallId(call.0));
        let done = !self.streams && !self.brought.is_empty() && self.brought.iter().all(seen);
        if done && self.rejected {
            self.rejected = false;
            // An answer with too many calls ends the turn.
            let within = self.spent.calls <= self.limits.calls;
            let most = self.returns.filter(|_| within).unwrap_or(0);
            self.spent.re_asks += u32::from(self.spent.re_asks < most);
        }
        if done && self.denied && !self.stopped {
            self.denied = false;
            let most = self.limits.continuations;
            self.spent.continuations += u32::from(self.spent.continuations < most);
        }
    }

    fn cut(&mut self, recorded: &RecordedFact, fact: &SampleCut) -> Held {
        self.streams = false;
        self.again = fact.retry_at.is_some() && fact.retained == Retained::Nothing;
        self.overflow |= fact.failure.kind == FailureKind::ContextOverflow;
        if fact.failure.kind == FailureKind::Restart {
            self.restarts += 1;
        } else {
            self.failures += 1;
        }
        if let Retained::Through { item } = fact.retained {
            self.brought.retain(|call| *call <= item);
            self.spent.calls += self.calls();
        }
        let billed = fact.failure.kind.is_billed();
        self.pay(fact.usage, fact.estimate, billed);
        // One that was cancelled may not have been sent.
        let sent = billed && fact.failure.kind != FailureKind::Cancelled;
        let counted = fact.usage.is_some() || fact.estimate.is_some_and(|about| about.tokens > 0);
        hold(9, counted || !sent, || format!("{} counts nothing that was paid", recorded.seq))?;
        let wait = fact.retry_at.map_or(0, |at| at.since_ms(recorded.ts));
        over(recorded, "ms of backoff", wait, self.limits.max_wait_ms())
    }

    /// Counts a hook's answer to the model that asked for nothing more, once a sample.
    fn told(
        &mut self,
        log: &[RecordedFact],
        recorded: &RecordedFact,
        fact: &ContextInjected,
    ) -> Held {
        if let ContextSource::InvalidOutput { .. } = &fact.from {
            self.spent.re_asks += 1;
            let (times, most) = (self.spent.re_asks, self.returns.unwrap_or(0));
            return over(recorded, "returns", u64::from(times), u64::from(most));
        }
        let ContextSource::Hook { decided } = &fact.from else {
            return Ok(());
        };
        let ends = self.brought.is_empty() || (self.returned && reading::at_the_end(log, *decided));
        if reading::answers_the_model(log, *decided) && ends && !self.continued {
            self.continued = true;
            self.spent.continuations += 1;
        }
        let (times, most) = (self.spent.continuations, self.limits.continuations);
        over(recorded, "continuations", u64::from(times), u64::from(most))
    }

    fn sample(&mut self, recorded: &RecordedFact, fact: &SampleStarted) -> Held {
        self.begins(recorded)?;
        hold(9, !self.paused, || {
            format!("{} asks after the turn was asked to stop", recorded.seq)
        })?;
        self.spent.attempts += 1;
        self.fault = None;
        (self.rejected, self.returned) = (false, false);
        self.made = 0;
        self.called.clear();
        self.brought.clear();
        self.streams = true;
        self.continued = false;
        self.denied = false;
        self.observed.clear();
        self.reserved = fact.reserved;
        self.next.asked(fact);
        let limits = self.limits;
        self.reserve(recorded, fact)?;
        let again = self.again && fact.reason == Reason::Retry;
        self.spent.samples += u32::from(!again);
        hold(9, again || !self.is_full(), || {
            format!("{} asks in a session that is full", recorded.seq)
        })?;
        hold(9, fact.sample == self.spent.samples, || {
            let sample = self.spent.samples;
            format!("{} is sample {sample} and says {}", recorded.seq, fact.sample)
        })?;
        if again {
            let (attempt, most) = (self.failures + 1, limits.attempts.max(1));
            over(recorded, "attempts", u64::from(attempt), u64::from(most))?;
            let (restarts, most) = (self.restarts, limits.restarts);
            return over(recorded, "restarts", u64::from(restarts), u64::from(most));
        }
        (self.failures, self.restarts) = (0, 0);
        if self.program.is_some() {
            self.work(recorded, fact)?;
        }
        let (samples, most) = (self.spent.with_agents().samples, limits.samples);
        over(recorded, "samples", u64::from(samples), u64::from(most))
    }

    fn call(&mut self, log: &[RecordedFact], recorded: &RecordedFact, fact: &CallStarted) -> Held {
        self.begins(recorded)?;
        let (id, limits) = (fact.call, self.limits);
        if fact.grant.is_none() {
            over(recorded, "ms for a call", fact.timeout_ms, limits.call_ms)?;
        }
        let of_sample = self.calls();
        let nth = self.brought.iter().position(|seq| seq.0 == id.0).map_or(0, |at| at as u64 + 1);
        let runs = self.runs.entry(id).or_default();
        *runs += 1;
        // What has run once may run again, though the answer has brought more calls since.
        let suspended = self.suspended.contains(&id);
        if *runs == 1 && !suspended {
            let most = u64::from(limits.calls_per_sample);
            over(recorded, "calls per sample", nth, most)?;
            let streaming = if self.streams { of_sample } else { 0 };
            let calls = u64::from(self.spent.calls + streaming);
            over(recorded, "calls", calls, u64::from(limits.calls))?;
        }
        let first = *runs == 1 && !suspended;
        let most = u64::from(limits.restarts) + 1;
        over(recorded, "runs of a call", u64::from(*runs), most)?;
        if first {
            self.leaves_budget(recorded)?;
        }
        if reading::is_program(log, id) {
            return Ok(());
        }
        let tool = reading::tool(log, id).map(|(_, _, tool)| tool);
        let agent = tool.is_some_and(|tool| tool.agent.is_some()) && !fact.plan;
        let (whole, agent) = (self.spent.with_agents(), agent.then_some(first));
        let bounds = Bounds {
            limits: &limits,
            kept: self.kept_for_retries(),
            until: (limits.turn_ms > 0).then(|| self.opened_at.plus_ms(limits.turn_ms)),
            streams: self.streaming(),
            each: self.next.least(),
            result: self.next.told(),
            waiting: self.waiting(log, id),
        };
        self.lending.starts(recorded, fact, &bounds, whole, agent)?;
        let class = tool.map_or(Concurrency::Exclusive, |tool| tool.concurrency);
        self.running.insert(id, class);
        let running = self.running.len() as u64;
        let most = u64::from(limits.parallel_calls.max(1));
        over(recorded, "calls at the same time", running, most)?;
        let exclusive = |class: &Concurrency| *class == Concurrency::Exclusive;
        let alone = self.running.values().any(exclusive);
        hold(9, !alone || running == 1, || {
            format!("{} does not leave an exclusive call alone", recorded.seq)
        })
    }

    /// The agents of the answer that are yet to start, without this one.
    fn waiting<'a>(&self, log: &'a [RecordedFact], started: CallId) -> Vec<&'a AgentSpec> {
        let calls = self.brought.iter().chain(&self.called).map(|seq| CallId(seq.0));
        let waits = |id: &CallId| {
            *id != started && !self.runs.contains_key(id) && !self.observed.contains(id)
        };
        let agents = calls.filter(waits).filter_map(|id| reading::tool(log, id));
        agents.filter_map(|(_, _, tool)| tool.agent.as_deref()).collect()
    }
}
