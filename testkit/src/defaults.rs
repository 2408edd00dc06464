//! Settings and tools that tests start from: a test names only what it is about.

use windlass_core::{EffectClass, Permissions, Settings, ToolSpec};

/// Settings of a scripted provider without tools or hooks, in which every tool may run.
#[must_use]
pub fn settings() -> Settings {
    Settings::new("scripted", "m").with(|it| it.permissions = Permissions::Auto)
}

/// A read-only tool that runs beside others.
#[must_use]
pub fn tool_spec(name: &str, description: &str, parameters: &str) -> ToolSpec {
    ToolSpec::new(name, EffectClass::ReadOnly).with(|it| {
        it.description = description.into();
        it.parameters = parameters.into();
    })
}
