//! Hook effect: asks one hook, with a time-out, and reports its verdict. Every fault is reported as
//! a failure that names the hook; the core decides the consequence.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::timeout;
use windlass_core::{Edit, EffectKey, HookReply, HookVerdict, Input};
use windlass_ports::{CancelSource, HookCall, HookContext, HookSubject, Hooks};

use super::{CancelOnDrop, EffectReporter, EffectSignals};
use crate::arguments::Checker;
use crate::capacity::{self, FactCapacity};

/// Longest reason, in bytes; the rest is cut.
pub(crate) const REASON: usize = 4 * 1_024;

/// Context of a hook effect.
pub(crate) struct HookEffect {
    pub(crate) key: EffectKey,
    pub(crate) call: HookCall,
    pub(crate) context: HookContext,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) checker: Arc<Checker>,
    pub(crate) size: FactCapacity,
}

impl HookEffect {
    /// Runs to the final report.
    pub(crate) async fn run(self, voice: EffectReporter, signals: EffectSignals) {
        let key = self.key;
        let name = self.call.hook.clone();
        let reply = tokio::select! {
            biased;
            () = signals.cancel.cancelled() => Err("it was told to stop".to_owned()),
            reply = self.ask() => reply,
        };
        let reply = reply.unwrap_or_else(|why| failed(&name, &why));
        voice.send(vec![Input::HookReplied { key, reply }], true).await;
    }

    async fn ask(self) -> Result<HookReply, String> {
        let Self { call, mut context, hooks, checker, size, .. } = self;
        let (name, point) = (call.hook.clone(), call.at.point());
        let subject = call.subject.clone();
        let specs = hooks.hooks();
        let mut known = specs.iter().filter(|spec| spec.name == call.hook);
        if !known.any(|spec| spec.point == point) {
            let why = "the session's settings name it, and it is not among the hooks here: start \
                       with the hooks that the session was opened with, or change its settings";
            return Err(why.to_owned());
        }
        let stop = CancelSource::new();
        context.cancel = stop.signal();
        let timeout_ms = context.timeout_ms;
        let _told = CancelOnDrop(stop);
        let asked = AssertUnwindSafe(hooks.ask(call, context)).catch_unwind();
        match timeout(Duration::from_millis(timeout_ms), asked).await {
            Ok(Ok(Ok(reply))) => Ok(bounded(reply, &name, &subject, &checker, size)),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(_)) => Err("it panicked, which is a defect of the hook adapter".to_owned()),
            Err(_) => Err(format!("it took longer than its limit of {timeout_ms} ms")),
        }
    }
}

/// Returns the reply of a hook that gave no usable verdict.
pub(crate) fn failed(name: &str, why: &str) -> HookReply {
    HookReply::failed(name_failure(name, why))
}

/// Describes a failure with the hook's name.
fn name_failure(name: &str, why: &str) -> String {
    let whose = format!("hook {name}");
    let mut words = if why.contains(&whose) { why.to_owned() } else { format!("{whose}: {why}") };
    capacity::cut(&mut words, REASON);
    words
}

/// Returns the reply limited to the size of a fact, with a validated edit. Only a reason may be
/// cut. A cut edit or context would be a different one, and omitting it would ignore the hook's
/// intent.
fn bounded(
    mut reply: HookReply,
    name: &str,
    subject: &HookSubject,
    checker: &Checker,
    size: FactCapacity,
) -> HookReply {
    capacity::cut(&mut reply.reason, REASON);
    let edit = reply.edit.as_ref().map_or("", |edit| &edit.text);
    let context = reply.context.as_deref().unwrap_or_default();
    if !size.fits(&[&reply.reason, edit, context]) {
        let bytes = edit.len().saturating_add(context.len());
        let why = format!("it said {bytes} bytes, which is more than the store takes");
        return HookReply { verdict: HookVerdict::Overrun, ..failed(name, &why) };
    }
    reply.reason = match reply.verdict {
        HookVerdict::Failed | HookVerdict::Overrun => name_failure(name, &reply.reason),
        HookVerdict::Pass
        | HookVerdict::Allow
        | HookVerdict::Ask
        | HookVerdict::Deny
        | HookVerdict::Halt => reply.reason,
    };
    reply.edit = reply.edit.and_then(|edit| complete_edit(edit, subject, checker));
    reply
}

/// Returns the edit with validated arguments; none if it changes nothing.
fn complete_edit(edit: Edit, subject: &HookSubject, checker: &Checker) -> Option<Edit> {
    match subject {
        HookSubject::Call { tool, arguments, .. } => {
            (edit.text != *arguments).then(|| checker.edit(tool, edit.text))
        }
        HookSubject::Prompt { text } => (edit.text != *text).then(|| Edit::unchecked(edit.text)),
        // The core reports that this hook point has nothing to edit.
        HookSubject::Nothing
        | HookSubject::Answer { .. }
        | HookSubject::Compaction { .. }
        | HookSubject::Ending { .. } => Some(edit),
    }
}
