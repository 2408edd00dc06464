//! Settings and tools that tests start from: a test names only what it is about.

use windlass_core::{
    Concurrency, ContextWindow, EffectClass, Limits, Mode, Permissions, RequestOptions, Settings,
    ToolSpec,
};

/// Settings of a scripted provider without tools or hooks, in which every tool may run.
#[must_use]
pub fn settings() -> Settings {
    Settings {
        provider: "scripted".into(),
        model: "m".into(),
        instructions: String::new(),
        mode: Mode::Build,
        permissions: Permissions::Auto,
        rules: Vec::new(),
        hooks: Vec::new(),
        window: ContextWindow::default(),
        price: None,
        tools: Vec::new(),
        limits: Limits::default(),
        max_output_tokens: None,
        effort: None,
        redaction: None,
        base_url: None,
        options: RequestOptions::default(),
    }
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
        agent: None,
    }
}
