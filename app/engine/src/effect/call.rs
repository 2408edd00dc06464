//! Call effect: runs a tool with a time-out, and reports the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::{
    CallId, EffectClass, EffectKey, Image, Input, Observation, ObservationStatus, StoredOutput,
    Suspension, read_output_call,
};
use windlass_ports::{
    BlobErrorKind, CancelSignal, CancelSource, Clock, OutputStore, ProgressSink, ToolCall,
    ToolContext, ToolEnd, ToolError, ToolExecutor,
};

use super::{EffectReporter, EffectSignals};
use crate::bus::EventBus;
use crate::capacity::FactCapacity;
use crate::event::{LiveEvent, LiveKind};

/// Longest progress report, in bytes; the rest is cut.
const MAX_REPORT_BYTES: usize = 4_096;

/// Result of a call whose paths lead elsewhere than when it was decided, for the model.
pub(crate) const DIVERTED: &str = "Failed: not run, since its path leads elsewhere by now than when it was \
                        decided. Request it again, if it is still needed.";

/// Context of a call effect.
pub(crate) struct CallEffect {
    pub(crate) key: EffectKey,
    pub(crate) call: ToolCall,
    pub(crate) context: ToolContext,
    /// Effect class of the tool; a dry run changes nothing.
    pub(crate) effect: EffectClass,
    /// True if the tool must only describe its effects.
    pub(crate) plan: bool,
    /// Reason why it does not run after all, for the model.
    pub(crate) refusal: Option<&'static str>,
    pub(crate) grace_ms: u64,
    pub(crate) tools: Arc<dyn ToolExecutor>,
    pub(crate) reports: Arc<ProgressReporter>,
    pub(crate) size: FactCapacity,
    /// True if a shortened output names the tool that reads the rest.
    pub(crate) names_rest: bool,
}

/// One run of a tool. Its drop stops everything that the tool left behind, and ends its reports.
pub(super) struct ToolRunGuard {
    pub(super) stop: CancelSource,
    pub(super) reports: Arc<ProgressReporter>,
}

impl Drop for ToolRunGuard {
    fn drop(&mut self) {
        self.stop.cancel();
        self.reports.over.store(true, Ordering::SeqCst);
    }
}

impl CallEffect {
    /// Runs to the final report.
    pub(crate) async fn run(self, voice: EffectReporter, signals: EffectSignals) {
        let (key, size, grace_ms) = (self.key, self.size, self.grace_ms);
        let outputs = self.context.outputs.clone();
        let call = self.names_rest.then_some(self.context.call);
        let effect = self.effect;
        let mut observation = match self.end(signals.cancel).await {
            ToolEnd::Observed(observation) => observation,
            ToolEnd::Suspended(suspension) if is_bounded(&suspension, size) => {
                return voice.send(vec![Input::CallSuspended { key, suspension }], true).await;
            }
            ToolEnd::Suspended(_) => too_large(effect),
        };
        observation.images.truncate(Image::MAX_PER_RESULT);
        let whole = observation.omitted_bytes == 0 && observation.stored_output.is_none();
        if whole && !size.fits(&[&observation.output]) {
            let keeping = store_output(&outputs, &observation.output);
            let kept = timeout(Duration::from_millis(grace_ms), keeping).await;
            observation.stored_output = kept.unwrap_or_default();
        }
        let mut observation = size.shorten(observation);
        if let Some(rest) = call.and_then(|call| name_rest(call, &observation)) {
            observation.output.push_str(&rest);
        }
        let inputs = vec![Input::CallEnded { key, observation }];
        voice.send(inputs, true).await;
    }

    /// Runs the tool. It is told to stop when the turn is, or when its time-out has passed. It then
    /// has the grace period to stop and report its progress.
    async fn end(self, cancel: CancelSignal) -> ToolEnd {
        let Self { call, mut context, effect, plan, grace_ms, tools, reports, .. } = self;
        if let Some(refusal) = self.refusal {
            return ToolEnd::Observed(Observation::new(ObservationStatus::Failed, refusal));
        }
        let (name, timeout_ms) = (call.name.clone(), context.timeout_ms);
        let stop = CancelSource::new();
        context.cancel = stop.signal();
        // Created before the run, so that a tool that is dropped while it runs is dropped before
        // the signal.
        let guard = ToolRunGuard { stop, reports };
        let mut run = Box::pin(async move {
            match plan {
                true => tools.plan(call, context).await.map(ToolEnd::Observed),
                false => tools.run_or_suspend(call, context).await,
            }
        });
        let timed_out = tokio::select! {
            ran = &mut run => return observed(ran, effect),
            () = cancel.cancelled() => false,
            () = tokio::time::sleep(Duration::from_millis(timeout_ms)) => true,
        };
        guard.stop.cancel();
        match (timeout(Duration::from_millis(grace_ms), run).await, timed_out) {
            (Ok(ran), false) => observed(ran, effect),
            (Ok(ran), true) => match observed(ran, effect) {
                ToolEnd::Observed(ended) => {
                    ToolEnd::Observed(mark_timed_out(ended, &name, timeout_ms))
                }
                suspended @ ToolEnd::Suspended(_) => suspended,
            },
            (Err(_), _) => ToolEnd::Observed(never_stopped(effect, &name)),
        }
    }
}

/// Returns the words by which a shortened output names the tool that reads the rest. `None` if
/// nothing is left out, or nothing more is stored.
fn name_rest(call: CallId, observation: &Observation) -> Option<String> {
    let stored = observation.stored_output.as_ref()?;
    if observation.omitted_bytes == 0 {
        return None;
    }
    let line = if observation.output.ends_with('\n') { "" } else { "\n" };
    let all = match observation.output_bytes {
        whole if stored.bytes >= whole => format!("All {whole} bytes of the output"),
        whole => format!("The first {} of {whole} bytes of the output", stored.bytes),
    };
    let tool = read_output_call(&call.reference());
    Some(format!("{line}[{all} can be read: {tool}, with an offset or a pattern]"))
}

/// Stores an output that is too large for a fact. A failure to store it does not fail the call.
async fn store_output(outputs: &OutputStore, output: &str) -> Option<StoredOutput> {
    let keeping = async {
        let mut writer = outputs.begin().await?;
        writer.write(output.as_bytes()).await?;
        writer.finish().await
    };
    match keeping.await {
        Ok(kept) => Some(kept),
        Err(error) if error.kind == BlobErrorKind::Disabled => None,
        Err(error) => {
            tracing::warn!(%error, "an output could not be kept");
            None
        }
    }
}

/// Returns true if a fact may hold the suspension.
fn is_bounded(suspension: &Suspension, size: FactCapacity) -> bool {
    let question = suspension.question.iter();
    let asked = question.flat_map(|asked| asked.choices.iter().chain([&asked.question]));
    let texts: Vec<&str> = asked.map(String::as_str).chain([&*suspension.state]).collect();
    suspension.state.len() <= Suspension::MAX_STATE_BYTES && size.fits(&texts)
}

/// Returns the observation of a call that would leave more than a fact may hold.
fn too_large(effect: EffectClass) -> Observation {
    let why = "what it left for its next run is too large to be recorded";
    match effect {
        EffectClass::ReadOnly => {
            Observation::new(ObservationStatus::Failed, format!("Failed: {why}."))
        }
        EffectClass::Idempotent | EffectClass::Effectful => Observation::new(
            ObservationStatus::Unknown,
            format!("Unknown: {why}, so it does not go on. Check before you repeat it."),
        ),
    }
}

fn observed(ran: Result<ToolEnd, ToolError>, effect: EffectClass) -> ToolEnd {
    ToolEnd::Observed(match ran {
        Ok(ended) => return ended,
        Err(error) if error.started() && effect != EffectClass::ReadOnly => {
            let words = format!(
                "Unknown: {error}. It may have taken effect or not; check before you repeat it."
            );
            Observation::new(ObservationStatus::Unknown, words)
        }
        Err(error) => Observation::new(ObservationStatus::Failed, format!("Failed: {error}.")),
    })
}

/// Marks the observation of a tool that exceeded its time-out: it failed, and was not interrupted.
fn mark_timed_out(mut observation: Observation, name: &str, timeout_ms: u64) -> Observation {
    match observation.status {
        ObservationStatus::Aborted => {
            let words = format!("Stopped: {name} ran longer than its limit of {timeout_ms} ms.\n");
            observation.output.insert_str(0, &words);
            observation.output_bytes = observation.output_bytes.saturating_add(words.len() as u64);
            observation.status = ObservationStatus::Failed;
            observation
        }
        ObservationStatus::Done
        | ObservationStatus::Failed
        | ObservationStatus::Denied
        | ObservationStatus::Unknown
        | ObservationStatus::NotStarted => observation,
    }
}

/// Returns the observation of a tool that did not stop when told to.
fn never_stopped(effect: EffectClass, name: &str) -> Observation {
    match effect {
        EffectClass::ReadOnly => Observation::new(
            ObservationStatus::Aborted,
            format!("Stopped: {name} did not end in time. It changes nothing."),
        ),
        EffectClass::Idempotent | EffectClass::Effectful => Observation::new(
            ObservationStatus::Unknown,
            format!(
                "Unknown: {name} was told to stop and did not end in time. It may have taken \
                 effect or not; check before you repeat it."
            ),
        ),
    }
}

/// Publishes a tool's progress reports while it runs.
pub(crate) struct ProgressReporter {
    /// Report without its text.
    template: LiveEvent,
    bus: EventBus,
    clock: Arc<dyn Clock>,
    over: AtomicBool,
}

impl ProgressReporter {
    /// Creates a reporter whose reports are copies of `blank` with a text.
    pub(crate) fn new(blank: LiveEvent, bus: EventBus, clock: Arc<dyn Clock>) -> Self {
        let over = AtomicBool::new(false);
        Self { template: blank, bus, clock, over }
    }
}

impl ProgressSink for ProgressReporter {
    fn report(&self, text: &str) {
        if self.over.load(Ordering::SeqCst) {
            return;
        }
        let mut live = self.template.clone();
        live.ts = self.clock.now();
        if let LiveKind::Progress { text: words, .. } = &mut live.kind {
            let end = text.floor_char_boundary(MAX_REPORT_BYTES);
            text.get(..end).unwrap_or_default().clone_into(words);
        }
        self.bus.publish_report(live);
    }
}
