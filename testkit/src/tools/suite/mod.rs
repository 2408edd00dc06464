//! The conformance suite of the tool port: one case for each promise in
//! [`ToolExecutor`]'s documentation; [`tool_suite!`](crate::tool_suite) makes tests of them.
//!
//! What a run leaves behind in the operating system (processes, files half written) is not here:
//! looking for it needs that executor's own means, and its adapter tests it beside the suite.

mod asking;
mod fixture;
mod lasting;
mod suspending;

use std::collections::BTreeSet;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_core::{
    CallId, EffectClass, Observation, ObservationStatus, SessionId, Timestamp, ToolSpec,
};
use windlass_ports::{CancelSource, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolExecutor};

use crate::store::{Checked, Violation, run_in_parallel as run};
use crate::suite::not_run;

pub use asking::*;
pub use fixture::*;
pub use lasting::*;
pub use suspending::*;

/// How long a run may take in the case about deadlines.
const TIMEOUT_MS: u64 = 200;
/// The deadline where a case is about something else.
const AMPLE_MS: u64 = 600_000;

/// An executor under test, in a world of its own, and calls that show what it does.
///
/// An ordinary executor needs the first two methods. Each of the others is for tools that have the
/// ability; a case that needs one which the fixture lacks is not run, and is named on standard error.
///
/// ```
/// # use std::sync::Arc;
/// # use windlass_core::EffectClass;
/// # use windlass_testkit::tools::{ScriptedTool, ScriptedTools};
/// use windlass_ports::{ToolCall, ToolExecutor};
/// use windlass_testkit::tools::suite::ToolFixture;
///
/// struct Mine;
///
/// impl ToolFixture for Mine {
///     fn executor(&self) -> Arc<dyn ToolExecutor> {
///         # let tool = ScriptedTool::new("weather", EffectClass::ReadOnly);
///         # let my_executor = || ScriptedTools::new([tool.clone()]);
///         Arc::new(my_executor())
///     }
///
///     fn calls(&self) -> Vec<ToolCall> {
///         vec![ToolCall { name: "weather".into(), arguments: r#"{"city":"Oslo"}"#.into() }]
///     }
/// }
///
/// windlass_testkit::tool_suite!(Mine);
/// ```
pub trait ToolFixture: Send + Sync {
    /// The executor.
    fn executor(&self) -> Arc<dyn ToolExecutor>;

    /// Calls that succeed soon: one at least of each declared tool, but for those of
    /// [`endless`](Self::endless) and [`talkative`](Self::talkative), which may have one. They are
    /// run one after the other, in this order. Where there is a [`world`](Self::world), the first
    /// call of a tool that is not read-only changes something that it tells.
    fn calls(&self) -> Vec<ToolCall>;

    /// A call that does not end by itself, if a tool has one.
    fn endless(&self) -> Option<ToolCall> {
        None
    }

    /// A call with more output than the executor shows, if it cuts outputs.
    fn talkative(&self) -> Option<Talkative> {
        None
    }

    /// A call that returns while a process of it goes on by design, if a tool has one. The call may be
    /// made several times.
    fn lasting(&self) -> Option<ToolCall> {
        None
    }

    /// All that the tools can change, as text, if it can be looked at: two texts differ when
    /// something has changed.
    fn world(&self) -> Option<String> {
        None
    }

    /// How long a run that has been told to stop, or is out of time, may take to end.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// A call with more output than the executor shows.
#[derive(Debug, Clone)]
pub struct Talkative {
    /// The call.
    pub call: ToolCall,
    /// How many bytes it gives out.
    pub bytes: u64,
    /// The most bytes that the executor shows of any output, its remarks included.
    pub most: usize,
}

/// Expands to one `#[test]` for each case of the tool suite. The expression makes a fresh
/// [`ToolFixture`](crate::tools::suite::ToolFixture) for each.
#[macro_export]
macro_rules! tool_suite {
    ($fixture:expr) => {
        $crate::tool_cases! { [$crate::suite_tests] tool_suite, tools::suite, $fixture }
    };
}

/// Hands the names of all cases to another macro.
#[doc(hidden)]
#[macro_export]
macro_rules! tool_cases {
    ([$($callback:tt)*] $($extra:tt)*) => {
        $($callback)*! { [$($extra)*]
            tools_are_well_formed,
            each_tool_has_a_call,
            what_changes_something_shows_in_the_world,
            a_call_is_observed,
            an_unknown_tool_does_not_begin,
            a_call_that_is_cancelled_before_it_starts_changes_nothing,
            a_running_call_ends_soon_after_it_is_cancelled,
            a_running_call_ends_at_its_deadline,
            a_dropped_call_leaves_the_executor_in_order,
            output_is_bounded_and_its_size_is_true,
            what_only_reads_changes_nothing,
            what_is_idempotent_has_its_effect_once_per_key,
            a_plan_changes_nothing,
            asking_what_became_of_a_call_changes_nothing,
            asking_what_became_of_a_call_is_supported_as_declared,
            a_suspended_call_is_not_begun_anew,
            a_process_ends_with_the_release_of_its_session,
            a_process_is_stopped_alone,
        }
    };
}

crate::tool_cases! { [crate::suite::table] }

/// One case of the suite: holds an executor to one promise.
pub type Case = fn(&dyn ToolFixture) -> Checked;

/// Each tool has a name of its own that every provider takes, and parameters that are the schema
/// of an object.
///
/// # Errors
/// A violation when one has not.
pub fn tools_are_well_formed(fixture: &dyn ToolFixture) -> Checked {
    let tools = fixture.executor().tools();
    ensure(!tools.is_empty(), || "there is no tool".into())?;
    let mut names = BTreeSet::new();
    for ToolSpec { name, description, parameters, timeout_ms, .. } in tools {
        let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        let fits = (1..=64).contains(&name.len()) && name.bytes().all(letter);
        ensure(fits, || format!("{name:?} is no name for a tool"))?;
        ensure(!description.is_empty(), || format!("{name} has no description"))?;
        ensure(timeout_ms != Some(0), || format!("{name} has no time to run"))?;
        let schema: Result<serde_json::Value, _> = serde_json::from_str(&parameters);
        let object = schema.is_ok_and(|schema| schema["type"] == "object");
        ensure(object, || format!("{name}: its parameters are no schema of an object"))?;
        ensure(names.insert(name.clone()), || format!("two tools are called {name}"))?;
    }
    Ok(())
}

/// A call that succeeds is observed as done, and its sizes fit each other.
///
/// # Errors
/// A violation when it is not.
pub fn a_call_is_observed(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        for (number, call) in (1..).zip(fixture.calls()) {
            let name = call.name.clone();
            let ended = observe(fixture, call, context(number, &CancelSource::new())?).await?;
            let status = ended.status;
            let words = || format!("{name} ended as {status:?}: {}", ended.output);
            ensure(status == ObservationStatus::Done, words)?;
            let (omitted, bytes) = (ended.omitted_bytes, ended.output_bytes);
            ensure(omitted <= bytes, || format!("{name} omitted {omitted} of {bytes} bytes"))?;
        }
        Ok(())
    })
}

/// A tool that is not declared answers that it is unsupported, and changes nothing.
///
/// # Errors
/// A violation when something ran, or it fails otherwise.
pub fn an_unknown_tool_does_not_begin(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        let before = fixture.world();
        let call = ToolCall { name: "no_tool_is_called_so".into(), arguments: "{}".into() };
        let context = context(1, &CancelSource::new())?;
        let Err(error) = fixture.executor().run(call, context).await else {
            return Err(Violation::new("it was run"));
        };
        ensure(!error.started(), || format!("it says that it began: {error}"))?;
        ensure(error.kind == ToolErrorKind::Unsupported, || {
            format!("it must answer Unsupported and failed: {error}")
        })?;
        ensure(fixture.world() == before, || "it changed something".into())
    })
}

/// A call whose signal has fired before it starts says that it was aborted, and changes nothing that
/// the world tells.
///
/// # Errors
/// A violation when it says or does otherwise.
pub fn a_call_that_is_cancelled_before_it_starts_changes_nothing(
    fixture: &dyn ToolFixture,
) -> Checked {
    run(async {
        let cancel = CancelSource::new();
        cancel.cancel();
        let before = fixture.world();
        for (number, call) in (1..).zip(fixture.calls()) {
            let name = call.name.clone();
            let ended = observe(fixture, call, context(number, &cancel)?).await?;
            stopped(&name, &ended)?;
            let words = || format!("{name} was cancelled and changed something");
            ensure(fixture.world() == before, words)?;
        }
        Ok(())
    })
}

/// A running call that is cancelled ends soon, and says that it was aborted.
///
/// # Errors
/// A violation when it goes on, or says otherwise.
pub fn a_running_call_ends_soon_after_it_is_cancelled(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        let cancel = CancelSource::new();
        let Some(call) = fixture.endless() else {
            return without(fixture_has::ENDLESS, "a_running_call_ends_soon_after_it_is_cancelled");
        };
        let name = call.name.clone();
        let running = observe(fixture, call, context(1, &cancel)?);
        let cancelling = async {
            tokio::task::yield_now().await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(running, cancelling);
        stopped(&name, &ended?)
    })
}

/// A running call ends at its deadline, and does not say that it is done.
///
/// # Errors
/// A violation when it goes on, or says that it is done.
pub fn a_running_call_ends_at_its_deadline(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        let Some(call) = fixture.endless() else {
            return without(fixture_has::ENDLESS, "a_running_call_ends_at_its_deadline");
        };
        let name = call.name.clone();
        let mut context = context(1, &CancelSource::new())?;
        context.deadline = now().plus_ms(TIMEOUT_MS);
        context.timeout_ms = TIMEOUT_MS;
        let ended = observe(fixture, call, context).await?;
        match ended.status {
            ObservationStatus::Failed | ObservationStatus::Aborted | ObservationStatus::Unknown => {
                Ok(())
            }
            ObservationStatus::Done | ObservationStatus::Denied | ObservationStatus::NotStarted => {
                let status = ended.status;
                Err(Violation::new(format!("{name} was out of time and ended as {status:?}")))
            }
        }
    })
}

/// A run may be dropped; the next call runs as ever.
///
/// # Errors
/// A violation when it does not.
pub fn a_dropped_call_leaves_the_executor_in_order(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        let cancel = CancelSource::new();
        let executor = fixture.executor();
        let endless = fixture.endless();
        let stays = endless.is_some();
        let Some(dropped) = endless.or_else(|| fixture.calls().into_iter().next()) else {
            return Err(Violation::new("the fixture names no call"));
        };
        let ended = tokio::select! {
            biased;
            _ = executor.run(dropped, context(1, &cancel)?) => true,
            () = ready(()) => false,
        };
        ensure(!(stays && ended), || "the call that does not end by itself ended at once".into())?;
        for (number, call) in (2..).zip(fixture.calls()).take(1) {
            let name = call.name.clone();
            let ended = observe(fixture, call, context(number, &cancel)?).await?;
            let words = || format!("{name} ended as {:?} after a dropped call", ended.status);
            ensure(ended.status == ObservationStatus::Done, words)?;
        }
        Ok(())
    })
}

/// Output is bounded, its true size is stated, and so is what is left out.
///
/// # Errors
/// A violation when it is longer, or a size is not true.
pub fn output_is_bounded_and_its_size_is_true(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        let Some(Talkative { call, bytes, most }) = fixture.talkative() else {
            return without(fixture_has::TALKATIVE, "output_is_bounded_and_its_size_is_true");
        };
        let ended = observe(fixture, call, context(1, &CancelSource::new())?).await?;
        let (shown, stated, omitted) =
            (ended.output.len(), ended.output_bytes, ended.omitted_bytes);
        ensure(shown <= most, || format!("{shown} bytes are shown, and {most} are the most"))?;
        ensure(stated == bytes, || format!("its size is {bytes} and it says {stated}"))?;
        let least = bytes.saturating_sub(most as u64);
        let fits = omitted >= least.max(1) && omitted <= bytes;
        ensure(fits, || format!("of {bytes} bytes {shown} are shown and {omitted} left out"))
    })
}

/// A tool that is declared read-only changes nothing.
///
/// # Errors
/// A violation when it does.
pub fn what_only_reads_changes_nothing(fixture: &dyn ToolFixture) -> Checked {
    if fixture.world().is_none() {
        return without(fixture_has::WORLD, "what_only_reads_changes_nothing");
    }
    run(async {
        for (number, call) in (1..).zip(of_class(fixture, EffectClass::ReadOnly)) {
            let before = fixture.world();
            let name = call.name.clone();
            observe(fixture, call, context(number, &CancelSource::new())?).await?;
            ensure(fixture.world() == before, || format!("{name} changed something"))?;
        }
        Ok(())
    })
}

/// A tool that is declared idempotent and run again under its key changes nothing more.
///
/// # Errors
/// A violation when it does, or fails.
pub fn what_is_idempotent_has_its_effect_once_per_key(fixture: &dyn ToolFixture) -> Checked {
    if fixture.world().is_none() {
        return without(fixture_has::WORLD, "what_is_idempotent_has_its_effect_once_per_key");
    }
    run(async {
        for (number, call) in (1..).zip(of_class(fixture, EffectClass::Idempotent)) {
            let name = call.name.clone();
            let mut context = context(number, &CancelSource::new())?;
            observe(fixture, call.clone(), context.clone()).await?;
            let once = fixture.world();
            context.attempt = 2;
            let ended = observe(fixture, call, context).await?;
            let status = ended.status;
            let words = || format!("{name} run again under its key ended as {status:?}");
            ensure(status == ObservationStatus::Done, words)?;
            let words = || format!("{name} run again under its key changed something more");
            ensure(fixture.world() == once, words)?;
        }
        Ok(())
    })
}

/// Methods of [`ToolFixture`] that cases need.
mod fixture_has {
    pub(super) const ENDLESS: &str = "ToolFixture::endless";
    pub(super) const LASTING: &str = "ToolFixture::lasting";
    pub(super) const TALKATIVE: &str = "ToolFixture::talkative";
    pub(super) const WORLD: &str = "ToolFixture::world";
}

/// Names a case that was not run.
fn without(method: &str, case: &str) -> Checked {
    not_run("tool_suite", case, method)
}

/// The fixture's calls of tools of one class.
fn of_class(fixture: &dyn ToolFixture, effect: EffectClass) -> Vec<ToolCall> {
    let tools = fixture.executor().tools();
    let mut calls = fixture.calls();
    calls.retain(|call| tools.iter().any(|tool| tool.name == call.name && tool.effect == effect));
    calls
}

/// Runs a call to its observation, within the fixture's patience beyond its time.
async fn observe(
    fixture: &dyn ToolFixture,
    call: ToolCall,
    context: ToolContext,
) -> Result<Observation, Violation> {
    let name = call.name.clone();
    let executor = fixture.executor();
    let ended = within(fixture, &name, executor.run(call, context)).await?;
    ended.map_err(|ToolError { context, .. }| {
        Violation::new(format!("the executor failed to run {name}: {context}"))
    })
}

/// Waits for what an executor does, within the fixture's patience.
async fn within<T>(
    fixture: &dyn ToolFixture,
    what: &str,
    doing: impl Future<Output = T>,
) -> Result<T, Violation> {
    let patience = fixture.patience();
    let ended = tokio::time::timeout(patience, doing).await;
    ended.map_err(|_| Violation::new(format!("{what} did not end within {patience:?}")))
}

/// Holds a call that was told to stop to saying so.
fn stopped(name: &str, ended: &Observation) -> Checked {
    match ended.status {
        ObservationStatus::Aborted | ObservationStatus::NotStarted => Ok(()),
        ObservationStatus::Done
        | ObservationStatus::Failed
        | ObservationStatus::Denied
        | ObservationStatus::Unknown => {
            let status = ended.status;
            Err(Violation::new(format!("{name} was told to stop and ended as {status:?}")))
        }
    }
}

fn context(number: u64, cancel: &CancelSource) -> Result<ToolContext, Violation> {
    let session = SessionId::new("suite").map_err(|error| Violation::new(error.to_string()))?;
    let (cancel, deadline, timeout_ms) = (cancel.signal(), now().plus_ms(AMPLE_MS), AMPLE_MS);
    let context = ToolContext::new(session, CallId(number));
    Ok(ToolContext { cancel, deadline, timeout_ms, ..context })
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn ensure(holds: bool, words: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation::new(words())) }
}
