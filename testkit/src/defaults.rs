//! Settings and tools that tests start from: a test names only what it is about.

use windlass_core::{Concurrency, EffectClass, Permissions, Settings, ToolSpec};

/// Settings of a scripted provider without tools or hooks, in which every tool may run.
#[must_use]
pub fn settings() -> Settings {
    Settings { permissions: Permissions::Auto, ..Settings::new("scripted", "m") }
}

/// A read-only tool that runs beside others.
#[must_use]
pub fn tool_spec(name: &str, description: &str, parameters: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: parameters.into(),
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
        timeout_ms: None,
        reconciles: false,
        client: false,
        agent: None,
    }
}
