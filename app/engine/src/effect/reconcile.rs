//! Reconcile effect: asks a tool for the outcome of a call whose process ended. Anything but an
//! answer means that the outcome is unknown.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::{EffectKey, Input, Observation};
use windlass_ports::{CancelSource, ToolCall, ToolContext, ToolExecutor};

use super::{EffectReporter, EffectSignals, ProgressReporter, ToolRunGuard};
use crate::capacity::FactCapacity;

/// Context of a reconciling effect.
pub(crate) struct ReconcileEffect {
    pub(crate) key: EffectKey,
    pub(crate) call: ToolCall,
    pub(crate) context: ToolContext,
    pub(crate) tools: Arc<dyn ToolExecutor>,
    pub(crate) reports: Arc<ProgressReporter>,
    pub(crate) size: FactCapacity,
}

impl ReconcileEffect {
    /// Runs to the final report.
    pub(crate) async fn run(self, voice: EffectReporter, signals: EffectSignals) {
        let (key, size) = (self.key, self.size);
        let observation = tokio::select! {
            biased;
            () = signals.cancel.cancelled() => None,
            observation = self.ask() => observation,
        };
        let observation = observation.map(|observation| size.shorten(observation));
        let inputs = vec![Input::CallReconciled { key, observation }];
        voice.send(inputs, true).await;
    }

    async fn ask(self) -> Option<Observation> {
        let Self { call, mut context, tools, reports, .. } = self;
        let name = call.name.clone();
        let stop = CancelSource::new();
        context.cancel = stop.signal();
        let limit = Duration::from_millis(context.timeout_ms);
        let _run = ToolRunGuard { stop, reports };
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
