//! Program effect: advances a program to its next calls, or to its end. The calls are facts only
//! once the core has decided them; then they run like any others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::{
    CallItem, Definition, EffectClass, EffectKey, Input, LaterPrograms, Observation,
    ObservationStatus, ProgramCallRecord, ProgramCallState, ProgramEnd, ProgramEvent, ProgramFault,
    ProgramLimits, ProgramOutcome, Settings, feedback, result_text,
};
use windlass_ports::{
    BlobReader, CancelSource, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramResult,
    ProgramRuntime, arguments_sha256,
};

use super::{EffectReporter, EffectSignals};
use crate::arguments::Checker;
use crate::capacity::{self, FactCapacity};
use crate::program::{
    ActiveProgram, ComputeLimits, EngineFault, LONG, ProgramHandle, ProgramSlot, ReplayState,
    ReplayStep,
};

/// Longest message of a fault, and longest hint, in bytes; the rest is cut.
const MESSAGE: usize = 8 * 1_024;

/// Context of a program effect.
pub(crate) struct ProgramEffect {
    pub(crate) key: EffectKey,
    /// Origin of a new run, or the reason why there can be none.
    pub(crate) origin: Result<ProgramOrigin, ProgramFault>,
    /// Current run, if this process has one.
    pub(crate) run: Option<ActiveProgram>,
    /// Slot of the run while its calls are running.
    pub(crate) slot: ProgramSlot,
    /// Recorded calls of the program.
    pub(crate) record: Vec<ProgramCallState>,
    pub(crate) settings: Arc<Settings>,
    /// True if calls that change something are only planned.
    pub(crate) dry_run: bool,
    /// Limits of programs in this process.
    pub(crate) limits: ProgramLimits,
    /// True if it is the last program of the turn.
    pub(crate) must_return: bool,
    /// Programs for work that are left in the turn after this one.
    pub(crate) programs_left: u32,
    pub(crate) checker: Arc<Checker>,
    pub(crate) blobs: BlobReader,
    pub(crate) bounds: ComputeLimits,
    /// Time for which a new run counts as having computed.
    pub(crate) computed: Duration,
    pub(crate) size: FactCapacity,
}

/// Source and inputs of a run.
#[derive(Clone)]
pub(crate) struct ProgramOrigin {
    pub(crate) runtime: Arc<dyn ProgramRuntime>,
    pub(crate) source: String,
    pub(crate) environment: ProgramEnvironment,
}

/// Result of one step.
enum StepResult {
    Calls(Vec<CallItem>),
    Finished(Box<ProgramResult>),
    /// Its slot is for others. The run is over.
    CutShort,
}

impl ProgramEffect {
    /// Runs to the final report. A cancelled program has nothing to report, so nothing waits for
    /// it.
    pub(crate) async fn run(mut self, voice: EffectReporter, signals: EffectSignals) {
        let key = self.key;
        let news = tokio::select! {
            biased;
            () = signals.cancel.cancelled() => return,
            news = self.event() => news,
        };
        voice.send(vec![Input::ProgramEvent { key, event: news }], true).await;
    }

    async fn event(&mut self) -> ProgramEvent {
        let mut reached = self.step().await;
        if let Ok(StepResult::CutShort) = reached {
            // Made again by a run that has a slot for long steps.
            self.run = None;
            self.computed = LONG;
            reached = self.step().await;
        }
        match reached {
            Ok(StepResult::CutShort) => self.finish(from_fault(stopped_early())),
            Ok(StepResult::Calls(calls)) => {
                if let Some(live) = self.run.take() {
                    self.slot.put(live);
                }
                ProgramEvent::Calls(calls)
            }
            Ok(StepResult::Finished(done)) => self.finish(*done),
            Err(fault) => self.finish(from_fault(fault)),
        }
    }

    async fn step(&mut self) -> Result<StepResult, ProgramFault> {
        let mut live = match self.run.take() {
            Some(live) => live,
            None => self.begin().await?,
        };
        let reached = self.follow(&mut live).await;
        // Stored even after a fault, so that its calls are reported.
        self.run = Some(live);
        reached
    }

    /// Reads and validates the program, and starts a run of it.
    async fn begin(&mut self) -> Result<ActiveProgram, ProgramFault> {
        let ProgramOrigin { runtime, source, environment: mut world } =
            self.origin.clone().map_err(bounded)?;
        let stop = CancelSource::new();
        world.cancel = stop.signal();
        let begin = move || {
            let prepared = runtime.prepare(&source, &world)?;
            let repairs = prepared.repairs();
            Ok((ProgramHandle::new(prepared.start()?), repairs))
        };
        let begun = self.bounds.compute(&stop, begin).await?;
        let (run, repairs) = begun.map_err(bounded)?;
        let EffectKey::Call { call: program, .. } = self.key else {
            return Err(EngineFault::Source.with_message("a program is a call", ""));
        };
        Ok(ActiveProgram {
            program,
            run,
            replay: ReplayState::default(),
            stop,
            repairs,
            made: Vec::new(),
            computed: self.computed,
        })
    }

    /// Replays the record, and continues from its end.
    async fn follow(&mut self, live: &mut ActiveProgram) -> Result<StepResult, ProgramFault> {
        loop {
            let left = self.record.get(live.replay.answered()..).unwrap_or_default();
            let count = match live.replay.next(left)? {
                ReplayStep::Calls(calls) => {
                    let calls = self.items(live.replay.made(), calls)?;
                    return Ok(StepResult::Calls(calls));
                }
                ReplayStep::Continue(count) => count,
            };
            let (known, left) = left.split_at(count.min(left.len()));
            let made: Vec<ProgramCallRecord> =
                known.iter().map(|call| self.call_record(call)).collect();
            let planned: Vec<bool> = made.iter().map(|one| one.planned).collect();
            live.made.extend(made);
            let room = self.limits.memory_bytes;
            let answers = answers(&self.blobs, room, known, &planned).await?;
            let mut run = live.run.take();
            let step = move || {
                let began = Instant::now();
                let step = run.get().map(|run| run.resume(answers));
                (run, step, began.elapsed())
            };
            let done = self.bounds.compute_step(&live.stop, live.computed, step).await?;
            let Some((run, step, computed)) = done else {
                return Ok(StepResult::CutShort);
            };
            live.run = run;
            live.computed = live.computed.saturating_add(computed);
            let Some(step) = step else {
                return Err(EngineFault::Defect.with_message("the run is gone", ""));
            };
            if let Some(done) = live.replay.advance(step, left.len())? {
                return Ok(StepResult::Finished(done));
            }
        }
    }

    /// Returns the program's calls as items, validated like a model's own.
    fn items(&self, all: usize, calls: Vec<ProgramCall>) -> Result<Vec<CallItem>, ProgramFault> {
        let most = self.limits.calls;
        if all > usize::try_from(most).unwrap_or(usize::MAX) {
            let words = format!("the program makes more than {most} calls");
            return Err(EngineFault::Calls.with_message(words, "Make fewer calls in one program."));
        }
        let item = |call: ProgramCall| {
            if !self.size.fits(&[&call.name, &call.arguments]) {
                let bytes = call.name.len().saturating_add(call.arguments.len());
                let words = format!("a call has {bytes} bytes, more than can be put on record");
                return Err(EngineFault::CallTooLarge.with_message(words, "Pass less to the tool."));
            }
            let rules = self.checker.rules(&call.name, &call.arguments);
            Ok(CallItem {
                provider_id: String::new(),
                fault: self.checker.fault(&call.name, &call.arguments),
                rules: rules.certain,
                possible_rules: rules.possible,
                outside_sandbox: self.checker.asks_outside(&call.name, &call.arguments),
                sha256: Some(arguments_sha256(&call.arguments)),
                name: String::from(&*call.name),
                arguments: call.arguments,
                opaque: None,
                inline: false,
            })
        };
        calls.into_iter().map(item).collect()
    }

    /// Returns the event for a program that has ended.
    fn finish(&mut self, done: ProgramResult) -> ProgramEvent {
        let (mut outcome, mut alive) = outcome(done);
        if let Some(live) = &mut self.run {
            outcome.repairs = std::mem::take(&mut live.repairs);
        }
        if self.must_return {
            outcome.end = outcome.end.as_returned();
        }
        let bytes = serde_json::to_vec(&outcome).map_or(usize::MAX, |text| text.len());
        if !self.size.holds(bytes) {
            let words =
                format!("what the program came to has {bytes} bytes, more than can be kept");
            let hint = "Return, print and define less.";
            let fault = EngineFault::OutcomeTooLarge.with_message(words, hint);
            (outcome, alive) = self::outcome(from_fault(fault));
        }
        let shape = self.checker.answer();
        let returned = outcome.end.returned();
        let fault = shape.zip(returned).and_then(|(shape, it)| shape.fault(it));
        let missing = outcome.end.missing_result().filter(|_| self.must_return);
        let fault = missing.or(fault);
        // The definitions of a rejected program do not last.
        let alive = if fault.is_some() { Vec::new() } else { alive };
        self.report(outcome, fault, alive)
    }

    /// Returns a call as its model sees it.
    fn call_record(&self, call: &ProgramCallState) -> ProgramCallRecord {
        let record = call_record(&self.settings, call);
        let changes =
            matches!(record.effect, Some(EffectClass::Idempotent | EffectClass::Effectful));
        let seen = record.observation.as_ref().map(|seen| seen.status);
        let described =
            matches!(seen, Some(ObservationStatus::Done | ObservationStatus::NotStarted));
        ProgramCallRecord { planned: self.dry_run && changes && described, ..record }
    }

    /// Returns the report on the program for its model.
    fn report(
        &mut self,
        outcome: ProgramOutcome,
        fault: Option<String>,
        alive: Vec<Definition>,
    ) -> ProgramEvent {
        let live = self.run.take();
        let mut calls = live.map(|mut live| std::mem::take(&mut live.made)).unwrap_or_default();
        // Adds the calls that a diverged run does not contain.
        let rest = self.record.get(calls.len()..).unwrap_or_default();
        calls.extend(rest.iter().map(|call| self.call_record(call)));
        let answer = self.settings.options.output_schema.as_ref();
        let schema = answer.map(|answer| answer.schema.as_str());
        let later = LaterPrograms { alive, left: Some(self.programs_left) };
        let words = feedback(&outcome, fault.as_deref(), schema, &calls, &later, &self.settings);
        let status = match outcome.end.retains_definitions() && fault.is_none() {
            true => ObservationStatus::Done,
            false => ObservationStatus::Failed,
        };
        ProgramEvent::Ended {
            outcome: Box::new(outcome),
            fault,
            observation: self.size.shorten(Observation::new(status, words)),
        }
    }
}

/// Returns the answers to the program's calls: the whole outputs, if they are stored and all fit
/// into the program's memory limit, else the text that a model would see. The answer of a planned
/// call is the description of its effect.
async fn answers(
    blobs: &BlobReader,
    mut room: u64,
    calls: &[ProgramCallState],
    planned: &[bool],
) -> Result<Vec<ProgramAnswer>, ProgramFault> {
    let mut answers = Vec::with_capacity(calls.len());
    for (call, planned) in calls.iter().zip(planned) {
        let Some(seen) = &call.observation else {
            let words = format!("nobody has said what became of the call {}", call.id);
            return Err(EngineFault::Answer.with_message(words, "This is a defect of the engine."));
        };
        let exited = seen.status == ObservationStatus::Failed && seen.exit_code.is_some();
        if seen.status != ObservationStatus::Done && !exited && !planned {
            answers.push(ProgramAnswer::Failed(seen.output.as_str().into()));
            continue;
        }
        let whole = |bytes: u64| bytes == seen.output_bytes && bytes <= room;
        let kept = seen.stored_output.as_ref().filter(|kept| whole(kept.bytes));
        let output: Arc<str> = match kept.filter(|_| seen.omitted_bytes > 0) {
            // A program reads the exit code of a process that failed, and else the bare output.
            None if exited => result_text(seen, None).into(),
            None => seen.output.as_str().into(),
            Some(kept) => {
                room = room.saturating_sub(kept.bytes);
                let read = blobs.read(&kept.sha256, kept.bytes).await;
                let bytes = read.map_err(|error| {
                    let words = format!("the output of the call {}: {error}", call.id);
                    EngineFault::Answer.with_message(words, "Ask for less, or for it in parts.")
                })?;
                let output = String::from_utf8_lossy(&bytes).into_owned();
                match exited {
                    true => {
                        result_text(&Observation { output, ..seen.as_ref().clone() }, None).into()
                    }
                    false => output.into(),
                }
            }
        };
        answers.push(ProgramAnswer::Done(output));
    }
    Ok(answers)
}

/// Returns the end of a program whose effect panicked after these calls.
pub(crate) fn panicked(settings: &Settings, record: &[ProgramCallState]) -> ProgramEvent {
    let words = "what runs the program panicked: this is a defect";
    let fault = ProgramFault::new(EngineFault::Panicked.class(), words);
    let (outcome, _) = outcome(from_fault(fault));
    let calls: Vec<ProgramCallRecord> =
        record.iter().map(|call| call_record(settings, call)).collect();
    let told = feedback(&outcome, None, None, &calls, &LaterPrograms::default(), settings);
    ProgramEvent::Ended {
        outcome: Box::new(outcome),
        fault: None,
        observation: Observation::new(ObservationStatus::Failed, told),
    }
}

/// Returns the outcome of a program, and the definitions that last after it.
fn outcome(done: ProgramResult) -> (ProgramOutcome, Vec<Definition>) {
    let outcome = ProgramOutcome {
        end: done.end,
        prints: done.prints,
        memory: None,
        retained: done.retained,
        defined: done.defined,
        repairs: Vec::new(),
        steps: done.steps,
    };
    (outcome, done.alive)
}

/// Returns the result of a program that ended with a fault.
fn from_fault(fault: ProgramFault) -> ProgramResult {
    ProgramResult {
        end: ProgramEnd::Fault(fault),
        prints: Vec::new(),
        retained: Vec::new(),
        defined: Vec::new(),
        alive: Vec::new(),
        steps: 0,
    }
}

/// Returns a call as its model sees it, with the arguments that it ran with.
fn call_record(settings: &Settings, call: &ProgramCallState) -> ProgramCallRecord {
    let mut item = call.call.clone();
    if let Some(edited) = &call.edited {
        Arc::make_mut(&mut item).arguments = String::from(&**edited);
    }
    ProgramCallRecord {
        effect: settings.tool(&item.name).map(|tool| tool.effect),
        call: item,
        started: call.started,
        planned: false,
        observation: call.observation.clone(),
    }
}

fn stopped_early() -> ProgramFault {
    EngineFault::Defect.with_message("a long step was cut short", "")
}

/// Limits the texts of a runtime's fault.
fn bounded(mut fault: ProgramFault) -> ProgramFault {
    capacity::cut(&mut fault.message, MESSAGE);
    if let Some(hint) = &mut fault.hint {
        capacity::cut(hint, MESSAGE);
    }
    capacity::cut(&mut fault.class, 100);
    fault
}
