//! The program effect: takes a program from where it stands to its next calls, or to its end. What it
//! says is a fact only once the core has decided it; then the calls run as any others.

use std::sync::Arc;

use windlass_core::{
    CallItem, EffectKey, Input, Made, MadeCall, Observation, ObservationStatus, ProgramEnd,
    ProgramFault, ProgramLimits, ProgramNews, ProgramOutcome, SampleKind, Settings, feedback,
};
use windlass_ports::{
    CancelSource, KeptReader, ProgramAnswer, ProgramCall, ProgramDone, ProgramRuntime, ProgramWorld,
};

use super::{Signals, Voice};
use crate::arguments::Checker;
use crate::program::{Bounds, EngineFault, Held, Live, Next, Running, Standing};
use crate::size::{self, Size};

/// The longest message of a fault, and the longest hint, in bytes; the rest of it is dropped.
const MESSAGE: usize = 8 * 1_024;

/// Context of a program effect.
pub(crate) struct ProgramEffect {
    pub(crate) key: EffectKey,
    /// Origin of a new run, or the reason why there is none.
    pub(crate) origin: Result<Origin, ProgramFault>,
    /// The run as it stands, where there is one here.
    pub(crate) live: Option<Live>,
    /// Place of the run while its calls are out.
    pub(crate) held: Held,
    /// The calls that it has made, from the first one on of which the run does not know the answer.
    pub(crate) record: Vec<MadeCall>,
    pub(crate) settings: Arc<Settings>,
    /// Limits of programs in this process.
    pub(crate) limits: ProgramLimits,
    pub(crate) kind: SampleKind,
    pub(crate) checker: Arc<Checker>,
    pub(crate) kept: KeptReader,
    pub(crate) bounds: Bounds,
    pub(crate) size: Size,
}

/// Source and inputs of a run.
pub(crate) struct Origin {
    pub(crate) runtime: Arc<dyn ProgramRuntime>,
    pub(crate) source: String,
    pub(crate) world: ProgramWorld,
}

/// Result of one step.
enum Reached {
    Calls(Vec<CallItem>),
    Ended(Box<ProgramDone>),
}

impl ProgramEffect {
    /// Runs to the last word. One that is to wind down has nothing to say: it is not waited for.
    pub(crate) async fn run(mut self, voice: Voice, signals: Signals) {
        let key = self.key;
        let news = tokio::select! {
            biased;
            () = signals.wind.cancelled() => return,
            news = self.news() => news,
        };
        voice.say(vec![Input::Programmed { key, news }], true).await;
    }

    async fn news(&mut self) -> ProgramNews {
        match self.go_on().await {
            Ok(Reached::Calls(calls)) => {
                if let Some(live) = self.live.take() {
                    self.held.keep(live);
                }
                ProgramNews::Calls(calls)
            }
            Ok(Reached::Ended(done)) => self.ended(*done),
            Err(fault) => self.ended(of(fault)),
        }
    }

    async fn go_on(&mut self) -> Result<Reached, ProgramFault> {
        let mut live = match self.live.take() {
            Some(live) => live,
            None => self.begin().await?,
        };
        let reached = self.follow(&mut live).await;
        // Also after a fault: what it has called is told.
        self.live = Some(live);
        reached
    }

    /// Reads and checks the program, and begins a run of it.
    async fn begin(&mut self) -> Result<Live, ProgramFault> {
        let Origin {
            runtime,
            source,
            mut world,
        } = std::mem::replace(&mut self.origin, Err(begun())).map_err(bounded)?;
        let stop = CancelSource::new();
        world.stop = stop.signal();
        let begin = move || {
            let prepared = runtime.prepare(&source, &world)?;
            let repairs = prepared.repairs();
            Ok((Running::new(prepared.start()?), repairs))
        };
        let begun = self.bounds.compute(&stop, begin).await?;
        let (run, repairs) = begun.map_err(bounded)?;
        let EffectKey::Call { call: program, .. } = self.key else {
            return Err(EngineFault::Source.says("a program is a call", ""));
        };
        Ok(Live {
            program,
            run,
            standing: Standing::default(),
            stop,
            repairs,
            made: Vec::new(),
        })
    }

    /// Follows the record, and goes on from its end.
    async fn follow(&mut self, live: &mut Live) -> Result<Reached, ProgramFault> {
        loop {
            let count = match live.standing.next(&self.record)? {
                Next::Calls(calls) => {
                    let calls = self.items(live.standing.made(), calls)?;
                    return Ok(Reached::Calls(calls));
                }
                Next::On(count) => count,
            };
            let known: Vec<MadeCall> = self.record.drain(..count.min(self.record.len())).collect();
            live.made
                .extend(known.iter().map(|call| made(&self.settings, call)));
            let answers = answers(&self.kept, self.limits.memory_bytes, &known).await?;
            let mut run = live.run.away();
            let step = move || {
                let step = run.get().map(|run| run.go_on(answers));
                (run, step)
            };
            let (run, step) = self.bounds.compute(&live.stop, step).await?;
            live.run = run;
            let Some(step) = step else {
                return Err(EngineFault::Defect.says("the run is gone", ""));
            };
            if let Some(done) = live.standing.went_on(step, self.record.len())? {
                return Ok(Reached::Ended(done));
            }
        }
    }

    /// The calls as the model's own would be, looked at like those.
    fn items(&self, all: usize, calls: Vec<ProgramCall>) -> Result<Vec<CallItem>, ProgramFault> {
        let most = self.limits.calls;
        if all > usize::try_from(most).unwrap_or(usize::MAX) {
            let words = format!("the program makes more than {most} calls");
            return Err(EngineFault::Calls.says(words, "Make fewer calls in one program."));
        }
        let item = |call: ProgramCall| {
            if !self.size.fits(&[&call.name, &call.arguments]) {
                let bytes = call.name.len().saturating_add(call.arguments.len());
                let words = format!("a call has {bytes} bytes, more than can be put on record");
                return Err(EngineFault::CallTooLarge.says(words, "Pass less to the tool."));
            }
            Ok(CallItem {
                provider_id: String::new(),
                fault: self.checker.fault(&call.name, &call.arguments),
                rules: self.checker.rules(&call.name, &call.arguments),
                name: String::from(&*call.name),
                arguments: call.arguments,
                opaque: None,
                spoken: false,
            })
        };
        calls.into_iter().map(item).collect()
    }

    /// It has ended: what it came to.
    fn ended(&mut self, done: ProgramDone) -> ProgramNews {
        let mut outcome = outcome(done);
        if let Some(live) = &mut self.live {
            outcome.repairs = std::mem::take(&mut live.repairs);
        }
        outcome.end = outcome.end.within(self.kind);
        let bytes = serde_json::to_vec(&outcome).map_or(usize::MAX, |text| text.len());
        if !self.size.holds(bytes) {
            let words =
                format!("what the program came to has {bytes} bytes, more than can be kept");
            let hint = "Return, print and define less.";
            outcome = self::outcome(of(EngineFault::OutcomeTooLarge.says(words, hint)));
        }
        let shape = self.checker.answer();
        let returned = outcome.end.returned();
        let fault = shape.zip(returned).and_then(|(shape, it)| shape.fault(it));
        self.told(outcome, fault)
    }

    /// Returns the report on the program for its model.
    fn told(&mut self, outcome: ProgramOutcome, fault: Option<String>) -> ProgramNews {
        let live = self.live.take();
        let mut calls = live
            .map(|mut live| std::mem::take(&mut live.made))
            .unwrap_or_default();
        // Those that a run which went another way does not know of.
        calls.extend(self.record.iter().map(|call| made(&self.settings, call)));
        let answer = self.settings.options.answer.as_ref();
        let schema = answer.map(|answer| answer.schema.as_str());
        let words = feedback(&outcome, fault.as_deref(), schema, &calls);
        let status = match outcome.end.lasts() && fault.is_none() {
            true => ObservationStatus::Done,
            false => ObservationStatus::Failed,
        };
        ProgramNews::Ended {
            outcome: Box::new(outcome),
            fault,
            observation: self.size.bounded(Observation::new(status, words)),
        }
    }
}

/// Returns the answers to the program's calls: the whole outputs, if they are stored and all fit
/// into the program's memory limit, else the text that the model would be shown.
async fn answers(
    blobs: &KeptReader,
    mut room: u64,
    calls: &[MadeCall],
) -> Result<Vec<ProgramAnswer>, ProgramFault> {
    let mut answers = Vec::with_capacity(calls.len());
    for call in calls {
        let Some(seen) = &call.observation else {
            let words = format!("nobody has said what became of the call {}", call.id);
            return Err(EngineFault::Answer.says(words, "This is a defect of the engine."));
        };
        if seen.status != ObservationStatus::Done {
            answers.push(ProgramAnswer::Failed(seen.output.as_str().into()));
            continue;
        }
        let whole = |bytes: u64| bytes == seen.output_bytes && bytes <= room;
        let kept = seen.kept.as_ref().filter(|kept| whole(kept.bytes));
        let output: Arc<str> = match kept.filter(|_| seen.omitted_bytes > 0) {
            None => seen.output.as_str().into(),
            Some(kept) => {
                room = room.saturating_sub(kept.bytes);
                let read = blobs.read(&kept.sha256, kept.bytes).await;
                let bytes = read.map_err(|error| {
                    let words = format!("the output of the call {}: {error}", call.id);
                    EngineFault::Answer.says(words, "Ask for less, or for it in parts.")
                })?;
                String::from_utf8_lossy(&bytes).into()
            }
        };
        answers.push(ProgramAnswer::Done(output));
    }
    Ok(answers)
}

/// Returns the end of a program whose effect panicked after these calls.
pub(crate) fn panicked(settings: &Settings, record: &[MadeCall]) -> ProgramNews {
    let words = "what runs the program panicked: this is a defect";
    let outcome = outcome(of(ProgramFault::new(EngineFault::Panicked.class(), words)));
    let calls: Vec<Made> = record.iter().map(|call| made(settings, call)).collect();
    let told = feedback(&outcome, None, None, &calls);
    ProgramNews::Ended {
        outcome: Box::new(outcome),
        fault: None,
        observation: Observation::new(ObservationStatus::Failed, told),
    }
}

fn outcome(done: ProgramDone) -> ProgramOutcome {
    ProgramOutcome {
        end: done.end,
        prints: done.prints,
        memory: done.memory,
        defined: done.defined,
        repairs: Vec::new(),
        steps: done.steps,
    }
}

/// A program that did not run to its end.
fn of(fault: ProgramFault) -> ProgramDone {
    ProgramDone {
        end: ProgramEnd::Fault(fault),
        prints: Vec::new(),
        memory: None,
        defined: Vec::new(),
        steps: 0,
    }
}

/// A call as its model is told of it: with what it ran with.
fn made(settings: &Settings, call: &MadeCall) -> Made {
    let mut item = call.call.clone();
    if let Some(edited) = &call.edited {
        Arc::make_mut(&mut item).arguments = String::from(&**edited);
    }
    Made {
        effect: settings.tool(&item.name).map(|tool| tool.effect),
        call: item,
        began: call.began,
        status: call.observation.as_ref().map(|seen| seen.status),
    }
}

fn begun() -> ProgramFault {
    EngineFault::Defect.says("the program was begun twice", "")
}

/// A runtime's fault, with words that are not too long to be told.
fn bounded(mut fault: ProgramFault) -> ProgramFault {
    size::cut(&mut fault.message, MESSAGE);
    if let Some(hint) = &mut fault.hint {
        size::cut(hint, MESSAGE);
    }
    size::cut(&mut fault.class, 100);
    fault
}
