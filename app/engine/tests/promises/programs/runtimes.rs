//! Runtimes of tests: the scripted language, with programs that a closure prepares.

use std::sync::Arc;

use windlass_engine::core::{ProgramEnd, ProgramFault};
use windlass_engine::ports::{
    PreparedProgram, ProgramEnvironment, ProgramGuide, ProgramResult, ProgramRuntime,
    ProgramRuntimes, ProgramStep, RunningProgram,
};
use windlass_testkit::programs::{SCRIPTED, ScriptedRuntime};

/// What becomes of a source.
pub(super) type Prepared = Result<Box<dyn PreparedProgram>, ProgramFault>;

struct Preparing<F>(F);

impl<F> ProgramRuntime for Preparing<F>
where
    F: Fn(&str, &ProgramEnvironment) -> Prepared + Send + Sync + 'static,
{
    fn name(&self) -> &'static str {
        SCRIPTED
    }

    fn guide(&self, guide: &ProgramGuide) -> String {
        ScriptedRuntime.guide(guide)
    }

    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>> {
        ScriptedRuntime.extract(answer)
    }

    fn prepare(&self, source: &str, world: &ProgramEnvironment) -> Prepared {
        (self.0)(source, world)
    }
}

/// A runtime whose programs this closure prepares.
pub(super) fn preparing(
    prepare: impl Fn(&str, &ProgramEnvironment) -> Prepared + Send + Sync + 'static,
) -> ProgramRuntimes {
    ProgramRuntimes::none().with(Arc::new(Preparing(prepare)))
}

/// A program that is started by this closure.
pub(super) struct Ready<F>(pub(super) F);

impl<F, R> PreparedProgram for Ready<F>
where
    F: FnOnce() -> Result<R, ProgramFault> + Send + 'static,
    R: RunningProgram + 'static,
{
    fn repairs(&self) -> Vec<String> {
        Vec::new()
    }

    fn start(self: Box<Self>) -> Result<Box<dyn RunningProgram>, ProgramFault> {
        Ok(Box::new((self.0)()?))
    }
}

/// The step with which a program ends that printed nothing and keeps nothing.
pub(super) fn ended(end: ProgramEnd) -> ProgramStep {
    ProgramStep::Done(Box::new(ProgramResult {
        end,
        prints: Vec::new(),
        retained: Vec::new(),
        alive: Vec::new(),
        defined: Vec::new(),
        steps: 1,
    }))
}
