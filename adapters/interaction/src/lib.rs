#![doc = include_str!("../README.md")]

mod plan;
mod question;
mod tools;

pub use plan::{Plan, PlanStep, StepStatus};
pub use question::Question;
pub use tools::{InteractionTools, UPDATE_PLAN_TOOL};
pub use windlass_core::ASK_USER_TOOL;

/// Arguments that do not have the shape of their tool's schema.
#[derive(Debug, thiserror::Error)]
#[error("the arguments do not fit the tool's schema: {0}")]
pub struct InvalidArguments(#[from] serde_json::Error);
