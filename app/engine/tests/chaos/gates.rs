//! The hooks and the person who is asked: they deny, change, fail, are late, or never answer.

use std::panic::resume_unwind;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use windlass_engine::core::{
    Edit, HookFailurePolicy, HookOrder, HookPoint, HookReply, HookSpec, HookVerdict,
};
use windlass_engine::ports::{
    Approval, ApprovalDecision, ApprovalRequest, Approver, ApproverError, HookCall, HookContext,
    HookError, HookSubject, Hooks,
};

use crate::runs::What;
use crate::user::me;
use crate::world::{Time, World, pause};

/// One hook for every point, and two more to be asked beside and after another.
pub(crate) fn specs() -> Vec<HookSpec> {
    let spec = |name: &str, point, order| {
        HookSpec::new(name, point, 500).with(|it| {
            it.order = order;
            it.on_failure = HookFailurePolicy::Open;
        })
    };
    let (one, beside) = (HookOrder::Sequential, HookOrder::Parallel);
    vec![
        spec("start", HookPoint::SessionStart, one),
        spec("end", HookPoint::SessionEnd, one),
        spec("prompt", HookPoint::PromptSubmitted, one),
        spec("prompt beside", HookPoint::PromptSubmitted, beside),
        spec("sample", HookPoint::BeforeSample, one),
        spec("before", HookPoint::BeforeTool, one),
        spec("before beside", HookPoint::BeforeTool, beside),
        spec("ask", HookPoint::PermissionRequest, one),
        spec("after", HookPoint::AfterTool, one),
        spec("stop", HookPoint::Stop, one),
        spec("interrupt", HookPoint::Interrupt, one),
    ]
}

/// Hooks that behave as they like.
pub(crate) struct ChaosHooks {
    world: World,
}

impl ChaosHooks {
    pub(crate) fn new(world: &World) -> Self {
        let world = world.clone();
        Self { world }
    }

    /// A verdict that its point knows.
    fn reply(&self, call: &HookCall) -> HookReply {
        let luck = &self.world.luck;
        let mut reply = HookReply::pass();
        let alone = !call.hook.ends_with("beside");
        match (call.at.point(), luck.below(100)) {
            (_, 0..60) => {}
            (HookPoint::BeforeTool | HookPoint::PermissionRequest, 60..65) => {
                reply.verdict = HookVerdict::Allow;
            }
            (HookPoint::BeforeTool, 65..70) => reply.verdict = HookVerdict::Ask,
            (HookPoint::BeforeTool | HookPoint::PermissionRequest, 70..80) if alone => {
                reply.edit = edit(r#"{"n":7}"#);
            }
            (HookPoint::PromptSubmitted, 60..75) if alone => {
                reply.edit = edit("something else");
            }
            (
                HookPoint::PromptSubmitted
                | HookPoint::BeforeTool
                | HookPoint::PermissionRequest
                | HookPoint::AfterTool
                | HookPoint::Stop,
                80..90,
            ) => {
                reply.verdict = HookVerdict::Deny;
                reply.reason = "not so".into();
            }
            (_, 60..90) => {}
            (HookPoint::SessionEnd | HookPoint::Interrupt, 90..100) => {}
            (_, _) => reply.context = Some("by the way".into()),
        }
        reply
    }
}

fn edit(text: &str) -> Option<Edit> {
    Some(Edit::unchecked(text.into()))
}

#[async_trait]
impl Hooks for ChaosHooks {
    fn hooks(&self) -> Vec<HookSpec> {
        specs()
    }

    async fn ask(&self, call: HookCall, context: HookContext) -> Result<HookReply, HookError> {
        let luck = &self.world.luck;
        let what = What::hook(&call.hook, call.at);
        let _run = self.world.runs(&context.session, what, Some(&context.cancel));
        if let HookSubject::Call { observation: None, .. } = &call.subject
            && call.at.point() == HookPoint::AfterTool
        {
            self.world.broke("a hook after a tool is not told what became of it");
        }
        if self.world.is_fair() {
            return Ok(HookReply::pass());
        }
        if luck.percent(3) && self.world.time == Time::Virtual {
            context.cancel.cancelled().await;
        }
        pause(self.world.time, luck.below(30)).await;
        if luck.percent(2) {
            self.world.seen.panics.fetch_add(1, Ordering::SeqCst);
            // Not by `panic!`: the panic hook would print each, and hide what is not on purpose.
            resume_unwind(Box::new("a panic on purpose"));
        }
        if luck.percent(4) {
            return Err(HookError::failed("chaos"));
        }
        Ok(self.reply(&call))
    }
}

/// A person who answers as they like, or not at all.
pub(crate) struct ChaosApprover {
    world: World,
}

impl ChaosApprover {
    pub(crate) fn new(world: &World) -> Self {
        let world = world.clone();
        Self { world }
    }
}

#[async_trait]
impl Approver for ChaosApprover {
    async fn ask(&self, request: ApprovalRequest) -> Result<Approval, ApproverError> {
        let luck = &self.world.luck;
        let what = What::Question(request.call);
        let _run = self.world.runs(&request.session, what, Some(&request.cancel));
        let by = me();
        let allow = |arguments| ApprovalDecision::Allow { arguments };
        if self.world.is_fair() {
            let answer = allow(None);
            return Ok(Approval { by, answer });
        }
        if luck.percent(5) && self.world.time == Time::Virtual {
            request.cancel.cancelled().await;
        }
        pause(self.world.time, luck.below(200)).await;
        if luck.percent(3) {
            return Err(ApproverError::unavailable("nobody is here"));
        }
        let answer = match luck.below(10) {
            0 => allow(Some(r#"{"n":8}"#.to_owned())),
            1..3 => ApprovalDecision::Deny { reason: "no".into() },
            _ => allow(None),
        };
        Ok(Approval { by, answer })
    }
}
