//! Plan: the steps that a model works through, as it last wrote them.

use serde::{Deserialize, Serialize};

use crate::InvalidArguments;

/// Steps of the work, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Reason for the change, if the model gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// The steps.
    #[serde(rename = "plan")]
    pub steps: Vec<PlanStep>,
}

/// Step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// Description of the step.
    pub step: String,
    /// Progress of the step.
    pub status: StepStatus,
}

/// Progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

impl Plan {
    /// Reads the arguments of an `update_plan` call.
    ///
    /// # Errors
    /// [`InvalidArguments`] when they do not fit the schema of the tool.
    pub fn parse(arguments: &str) -> Result<Self, InvalidArguments> {
        Ok(serde_json::from_str(arguments)?)
    }

    /// Returns the number of completed steps.
    #[must_use]
    pub fn completed(&self) -> usize {
        self.steps.iter().filter(|step| step.status == StepStatus::Completed).count()
    }
}
