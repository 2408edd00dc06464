#![doc = include_str!("../README.md")]

mod check;
mod clock;
mod date;
mod engine;
mod extract;
mod fault;
mod guide;
mod host_state;
mod inserted_code;
mod insertions;
mod instrument;
mod json_text;
mod key_ledger;
mod program;
mod random;
mod weigh;

use windlass_core::ProgramFault;
use windlass_ports::{PreparedProgram, ProgramEnvironment, ProgramGuide, ProgramRuntime};

/// The name of [`JavaScript`].
pub const JAVASCRIPT: &str = "javascript";

/// The longest source that is read, whatever the limits say, in bytes. What is nested deepest in so
/// many bytes is checked within the stack that there is for it.
pub const MOST_SOURCE: u64 = 64 << 10;

/// Runs programs in JavaScript.
#[derive(Debug, Clone, Copy, Default)]
pub struct JavaScript;

impl ProgramRuntime for JavaScript {
    fn name(&self) -> &'static str {
        JAVASCRIPT
    }

    fn guide(&self, guide: &ProgramGuide) -> String {
        guide::guide(guide)
    }

    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>> {
        extract::extract(answer)
    }

    fn prepare(
        &self,
        source: &str,
        world: &ProgramEnvironment,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault> {
        let most = world.limits.source_bytes.min(MOST_SOURCE);
        if source.len() as u64 > most {
            let words = format!("the program has {} bytes and may have {most}", source.len());
            return Err(fault::less("program_too_large", words));
        }
        // First the engine's own reader, which bounds how deep the source is nested, then the names.
        engine::compiles(source)?;
        let checked = check::check(source, &world.tools, world.limits.loop_rounds)?;
        Ok(Box::new(program::CheckedProgram::new(checked, world.clone())))
    }
}
