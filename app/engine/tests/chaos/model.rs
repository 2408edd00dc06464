//! The model: answers as it likes.

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::core::{FailureKind, Retry, StopReason, StreamEvent};
use windlass_engine::ports::{
    Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream, StreamState,
};
use windlass_testkit::Answer;
use windlass_testkit::provider::{Failure, ScriptedProvider, Step, cut_after, fail, say, stall};

use crate::programs;
use crate::runs::{Run, What};
use crate::tools::NAMES;
use crate::world::{Time, World, opening};

pub(crate) fn provider(world: &World) -> ChaosModel {
    let fair = world.clone();
    let inner = ScriptedProvider::responding(move |_| {
        if fair.is_fair() { say("All is well.") } else { step(&fair) }
    });
    let world = world.clone();
    ChaosModel { world, inner }
}

/// A scripted model whose runs are noted.
pub(crate) struct ChaosModel {
    world: World,
    inner: ScriptedProvider,
}

#[async_trait]
impl Provider for ChaosModel {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> ProviderCapabilities {
        self.inner.capabilities()
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        let what = What::Model(request.started);
        let run = self.world.runs(&request.session, what, None);
        let inner = self.inner.sample(request).await?;
        Ok(Box::new(ChaosStream { inner, _run: run }))
    }
}

struct ChaosStream {
    inner: Box<dyn SampleStream>,
    _run: Run,
}

#[async_trait]
impl SampleStream for ChaosStream {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        self.inner.next(events).await
    }
}

fn step(world: &World) -> Step {
    let luck = &world.luck;
    let mut step = match luck.below(100) {
        0..20 => say(format!("word {}", luck.below(9))),
        20..75 => Step::from(working(world)),
        75..80 => fail(FailureKind::Overloaded, Retry::Soon),
        80..83 => fail(FailureKind::RateLimit, Retry::AfterMs(luck.below(900))),
        83..85 => fail(FailureKind::InvalidRequest, Retry::Never),
        85..90 => cut_after("half an answ"),
        90..93 if world.time == Time::Virtual => stall(),
        93..96 => cut_late(world),
        96..98 => Step::from(Answer::new()),
        _ => Step::from(Answer::new().text("so f").stop(StopReason::Unfinished)),
    };
    step = step.batched(usize::try_from(luck.below(6)).unwrap());
    if luck.percent(30) {
        step = step.head_after(&opening(world.time, luck.below(1_300)));
    }
    if luck.percent(30) {
        step = step.end_after(&opening(world.time, luck.below(1_300)));
    }
    step
}

/// An answer that asks for work.
fn working(world: &World) -> Answer {
    let luck = &world.luck;
    if let Some(transport) = world.programs
        && luck.percent(90)
    {
        return programs::answer(world, transport);
    }
    let mut answer = Answer::new().tokens(10, 3);
    if luck.percent(40) {
        answer = answer.text("Let me see.");
    }
    for _ in 0..=luck.below(5) {
        let name = NAMES.get(usize::try_from(luck.below(NAMES.len() as u64)).unwrap());
        answer = match luck.below(20) {
            0 => answer.call_text("look", "{broken"),
            1 => answer.call("nothing", json!({})),
            _ => answer.call(*name.unwrap(), json!({ "n": luck.below(100) })),
        };
    }
    answer
}

/// A stream that breaks after whole calls: none of them may run.
fn cut_late(world: &World) -> Step {
    let mut events = working(world).events();
    events.pop();
    Step::default().batch(events).broken(Failure::scripted(FailureKind::Truncated, Retry::Soon))
}
