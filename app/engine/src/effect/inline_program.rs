//! Inline program: a program in the text of an answer, as a call of that answer. Where programs are
//! calls of a tool, one in the text does not run, and the model is told so.

use std::sync::Arc;

use serde_json::json;
use windlass_core::{CallItem, PROGRAM_TOOL, ProgramFault, ProgramTransport};
use windlass_ports::{CancelSource, ProgramRuntime, arguments_sha256};

use crate::arguments::Checker;
use crate::capacity::{self, FactCapacity};
use crate::program::{ComputeLimits, EngineFault};

/// Most recorded bytes of a text that is no program.
const MAX_RECORDED_BYTES: usize = 4_096;

/// Fault of a program in the text of an answer where programs are calls.
const IN_TEXT: &str = "Your answer has a program in its text, where it is not run: call run_program with it. \
                       A block that is for the user belongs into the text that the program returns.";

/// Extracts programs from the text of an answer.
pub(crate) struct InlineProgramExtractor {
    pub(crate) transport: ProgramTransport,
    pub(crate) runtime: Result<Arc<dyn ProgramRuntime>, ProgramFault>,
    pub(crate) bounds: ComputeLimits,
    pub(crate) size: FactCapacity,
}

impl InlineProgramExtractor {
    /// Returns the program in an answer's text as a call; `None` if there is none. A program whose
    /// boundaries are unclear becomes a call with a fault, which the model then sees.
    pub(super) async fn call(&self, text: String, checker: &Checker) -> Option<CallItem> {
        let by_call = self.transport == ProgramTransport::Call;
        if by_call && !text.contains("```") {
            return None;
        }
        let text: Arc<str> = text.into();
        let found = match &self.runtime {
            Ok(runtime) => self.extract(runtime.clone(), text.clone()).await?,
            Err(fault) => Err(fault.clone()),
        };
        let found = found.map(|source| json!({ "source": source }).to_string());
        let (arguments, fault) = match found {
            Ok(_) | Err(_) if by_call => (recorded_head(&text), Some(String::from(IN_TEXT))),
            Ok(arguments) if self.size.fits(&[&arguments]) => {
                let fault = checker.fault(PROGRAM_TOOL, &arguments);
                (arguments, fault)
            }
            Ok(arguments) => {
                let bytes = arguments.len();
                (recorded_head(&text), Some(format!("It has {bytes} bytes, which is too much.")))
            }
            Err(fault) => {
                let mut words = fault.to_string();
                capacity::cut(&mut words, MAX_RECORDED_BYTES);
                (recorded_head(&text), Some(words))
            }
        };
        let rules = checker.rules(PROGRAM_TOOL, &arguments);
        Some(CallItem {
            provider_id: String::new(),
            name: PROGRAM_TOOL.to_owned(),
            rules: rules.certain,
            possible_rules: rules.possible,
            outside_sandbox: false,
            sha256: Some(arguments_sha256(&arguments)),
            arguments,
            fault,
            opaque: None,
            inline: true,
        })
    }

    async fn extract(
        &self,
        runtime: Arc<dyn ProgramRuntime>,
        text: Arc<str>,
    ) -> Option<Result<String, ProgramFault>> {
        let stop = CancelSource::new();
        let extract = move || runtime.extract(&text);
        let found = self.bounds.compute(&stop, extract).await;
        found.unwrap_or_else(|fault| Some(Err(fault)))
    }
}

fn recorded_head(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_RECORDED_BYTES);
    json!({ "source": text.get(..end).unwrap_or_default() }).to_string()
}

/// Returns the fault if no runtime can extract programs here.
pub(crate) fn missing(runtime: &str) -> ProgramFault {
    let words = format!("the program runtime {runtime} is not here");
    EngineFault::Missing.with_message(words, "The session is to go on where it is.")
}
