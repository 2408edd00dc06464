//! The reconcile effect: asks a tool what became of a call whose process ended. Anything but an
//! answer means that nobody can tell.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::{EffectKey, Input, Observation};
use windlass_ports::{CancelSource, ToolCall, ToolContext, ToolExecutor};

use super::{Reports, Run, Signals, Voice};
use crate::size::Size;

/// Context of a reconciling effect.
pub(crate) struct ReconcileEffect {
    pub(crate) key: EffectKey,
    pub(crate) call: ToolCall,
    pub(crate) context: ToolContext,
    pub(crate) tools: Arc<dyn ToolExecutor>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) size: Size,
}

impl ReconcileEffect {
    /// Runs to the last word.
    pub(crate) async fn run(self, voice: Voice, signals: Signals) {
        let (key, size) = (self.key, self.size);
        let observation = tokio::select! {
            biased;
            () = signals.wind.cancelled() => None,
            observation = self.ask() => observation,
        };
        let observation = observation.map(|observation| size.bounded(observation));
        let inputs = vec![Input::Reconciled { key, observation }];
        voice.say(inputs, true).await;
    }

    async fn ask(self) -> Option<Observation> {
        let Self {
            call,
            mut context,
            tools,
            reports,
            ..
        } = self;
        let name = call.name.clone();
        let stop = CancelSource::new();
        context.cancel = stop.signal();
        let limit = Duration::from_millis(context.timeout_ms);
        let _run = Run { stop, reports };
        match timeout(limit, tools.reconcile(call, context)).await {
            Ok(Ok(observation)) => observation,
            Ok(Err(error)) => {
                tracing::warn!(tool = %name, %error, "could not be asked what became of a call");
                None
            }
            Err(_) => {
                tracing::warn!(tool = %name, "did not say in time what became of a call");
                None
            }
        }
    }
}
