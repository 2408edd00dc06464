//! Support: checks that programs can run with given settings.

use serde_json::Value;
use windlass_core::{PROGRAM_TOOL, ProgramMode, ProgramTransport, Settings, ToolChoice};
use windlass_ports::ProgramRuntimes;

/// Returns the reason why these settings allow no programs with any runtime, if there is one.
pub(crate) fn unsupported(settings: &Settings) -> Option<String> {
    let program = settings.options.program.as_ref()?;
    if settings.tool(PROGRAM_TOOL).is_some() {
        return Some(format!(
            "a tool is named {PROGRAM_TOOL}, which is how a program is handed over: rename it"
        ));
    }
    if let Some(data) = &program.data
        && !matches!(serde_json::from_str(data), Ok(Value::Object(_)))
    {
        return Some("the inputs of programs (data) are no JSON object: give one".to_owned());
    }
    if let Some(limit) = exhausted_limit(program) {
        return Some(format!("the limit {limit} of programs is 0, so none could run: raise it"));
    }
    let fits = match (&settings.options.tool_choice, program.transport) {
        (ToolChoice::Auto | ToolChoice::None, _) => true,
        (ToolChoice::Required, ProgramTransport::Call) => true,
        (ToolChoice::Tool(name), ProgramTransport::Call) => name == PROGRAM_TOOL,
        (ToolChoice::Required | ToolChoice::Tool(_), ProgramTransport::Text) => false,
    };
    if fits {
        return None;
    }
    let words = "the model is told to call a tool that it is not offered, as it writes programs";
    Some(format!("{words}: leave the choice to it"))
}

/// Returns the name of a limit that prevents every program from running.
fn exhausted_limit(program: &ProgramMode) -> Option<&'static str> {
    let limits = &program.limits;
    let needed = [
        ("steps", limits.steps),
        ("memory_bytes", limits.memory_bytes),
        ("depth", u64::from(limits.depth)),
        ("source_bytes", limits.source_bytes),
        ("value_bytes", limits.value_bytes),
    ];
    let none = needed.iter().find(|(_, limit)| *limit == 0);
    none.map(|(name, _)| *name)
}

/// Returns the runtime that the settings name if this process lacks it.
pub(crate) fn missing_runtime(settings: &Settings, programs: &ProgramRuntimes) -> Option<String> {
    let program = settings.options.program.as_ref()?;
    let missing = programs.get(&program.runtime).is_none();
    missing.then(|| format!("the program runtime {}", program.runtime))
}
