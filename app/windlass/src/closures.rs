//! Functions as hooks and approvers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use windlass_engine::core::{HookPoint, HookReply, HookSpec};
use windlass_engine::ports::{
    Approval, ApprovalDecision, ApprovalRequest, Approver, ApproverError, HookCall, HookContext,
    HookError, Hooks, Redactor,
};

use crate::error::Result;

/// Time of a hook function.
const HOOK_MS: u64 = 60_000;

type HookFunction =
    Box<dyn Fn(HookCall, HookContext) -> BoxFuture<'static, Result<HookReply>> + Send + Sync>;

/// Hooks that are functions.
#[derive(Default)]
pub(crate) struct HookFunctions {
    hooks: Vec<(HookSpec, HookFunction)>,
}

/// Hooks of an adapter, then functions.
struct AllHooks {
    first: Arc<dyn Hooks>,
    functions: HookFunctions,
}

impl HookFunctions {
    pub(crate) fn push<F, R>(&mut self, name: String, point: HookPoint, hook: F)
    where
        F: Fn(HookCall, HookContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<HookReply>> + Send + 'static,
    {
        let spec = HookSpec::new(name, point, HOOK_MS);
        self.hooks.push((spec, Box::new(move |call, context| Box::pin(hook(call, context)))));
    }

    /// Returns these hooks after those of an adapter.
    pub(crate) fn after(self, first: Arc<dyn Hooks>) -> Arc<dyn Hooks> {
        match self.hooks.is_empty() {
            true => first,
            false => Arc::new(AllHooks { first, functions: self }),
        }
    }
}

#[async_trait]
impl Hooks for AllHooks {
    fn hooks(&self) -> Vec<HookSpec> {
        let functions = self.functions.hooks.iter().map(|(spec, _)| spec.clone());
        self.first.hooks().into_iter().chain(functions).collect()
    }

    async fn ask(&self, call: HookCall, context: HookContext) -> Result<HookReply, HookError> {
        let found = self.functions.hooks.iter().find(|(spec, _)| spec.name == call.hook);
        let Some((spec, hook)) = found else {
            return self.first.ask(call, context).await;
        };
        let (cancel, name) = (context.cancel.clone(), &spec.name);
        let (ms, most) = (context.timeout_ms, context.max_bytes);
        let late = tokio::time::sleep(Duration::from_millis(ms));
        let reply = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Err(HookError::failed(format!("the hook {name} was stopped")));
            }
            reply = hook(call, context) => reply,
            () = late => {
                let words = format!("the hook {name} ran longer than its limit of {ms} ms");
                return Err(HookError::failed(words));
            }
        };
        let reply =
            reply.map_err(|error| HookError::failed(format!("the hook {name} failed: {error}")))?;
        match size(&reply) > most {
            true => Err(HookError::failed(format!(
                "the hook {name} replied with {} bytes, and {most} are the most",
                size(&reply)
            ))),
            false => Ok(reply),
        }
    }

    fn redaction(&self) -> Option<String> {
        self.first.redaction()
    }

    fn redactor(&self) -> Option<Box<dyn Redactor>> {
        self.first.redactor()
    }
}

/// Bytes of the texts of a reply.
fn size(reply: &HookReply) -> u64 {
    let edit = reply.edit.as_ref().map_or(0, |edit| edit.text.len());
    let context = reply.context.as_ref().map_or(0, |text| text.len());
    (reply.reason.len() + edit + context) as u64
}

type ApproveFunction =
    Box<dyn Fn(ApprovalRequest) -> BoxFuture<'static, Result<ApprovalDecision>> + Send + Sync>;

/// Approver that is a function.
pub(crate) struct ApproverFunction(ApproveFunction);

impl ApproverFunction {
    pub(crate) fn new<F, R>(approver: F) -> Self
    where
        F: Fn(ApprovalRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ApprovalDecision>> + Send + 'static,
    {
        Self(Box::new(move |request| Box::pin(approver(request))))
    }
}

#[async_trait]
impl Approver for ApproverFunction {
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError> {
        let (by, cancel) = ((*request.scope).clone(), request.cancel.clone());
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ApproverError::withdrawn()),
            answer = (self.0)(request) => match answer {
                Ok(answer) => Ok(Approval { by, answer }),
                Err(error) => Err(ApproverError::unavailable(format!("nobody could be asked: {error}"))),
            },
        }
    }
}
