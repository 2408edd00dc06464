//! Ends of programs: a value, a result, a failure or a fault.

use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

/// End of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum ProgramEnd {
    /// The program ended with the value of its last form: the model sees it and continues.
    Value {
        /// Value as JSON text.
        value: Arc<str>,
    },
    /// The program returned: this is the turn's result.
    Return {
        /// Value as JSON text.
        value: Arc<str>,
    },
    /// The program reported failure: the turn fails.
    Fail {
        /// Reason as JSON text.
        value: Arc<str>,
    },
    /// The program did not run to its end.
    Fault(ProgramFault),
}

/// JSON text of a value that is none.
pub(super) const NO_VALUE: &str = "null";

impl ProgramEnd {
    /// Returns the end of a program that must return: its value counts as returned, if it has one.
    #[must_use]
    pub fn as_returned(self) -> Self {
        match self {
            Self::Value { value } if &*value != NO_VALUE => Self::Return { value },
            end @ (Self::Value { .. }
            | Self::Return { .. }
            | Self::Fail { .. }
            | Self::Fault(_)) => end,
        }
    }

    /// Returns why a program that must return has no result: it ended with a fault, or without a
    /// value.
    #[must_use]
    pub fn missing_result(&self) -> Option<String> {
        match self {
            Self::Value { .. } => Some(String::from(
                "The program returned nothing: it ended without a value, or with a definition.",
            )),
            Self::Fault(fault) => Some(alloc::format!("{fault}")),
            Self::Return { .. } | Self::Fail { .. } => None,
        }
    }

    /// Returns the returned value, if there is one.
    #[must_use]
    pub fn returned(&self) -> Option<&Arc<str>> {
        match self {
            Self::Return { value } => Some(value),
            Self::Value { .. } | Self::Fail { .. } | Self::Fault(_) => None,
        }
    }

    /// Returns true if its definitions last: it did not fail.
    #[must_use]
    pub fn retains_definitions(&self) -> bool {
        match self {
            Self::Value { .. } | Self::Return { .. } => true,
            Self::Fail { .. } | Self::Fault(_) => false,
        }
    }
}

/// Reason why a program did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramFault {
    /// Class of the fault, for example `parse_error`.
    pub class: String,
    /// Description of the fault.
    pub message: String,
    /// Line, from 1, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Character in the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Advice on the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ProgramFault {
    /// Class of a replay that did not make the recorded calls.
    pub const DIVERGED: &'static str = "replay_diverged";
    /// Class of a program whose runtime was cancelled.
    pub const STOPPED: &'static str = "stopped";

    /// Returns a fault without a position.
    #[must_use]
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Self {
            class: String::from(class),
            message: message.into(),
            line: None,
            column: None,
            hint: None,
        }
    }
}

impl core::fmt::Display for ProgramFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "line {line}, column {column}: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            (None, Some(_) | None) => {}
        }
        write!(f, "{}: {}", self.class, self.message)?;
        match &self.hint {
            Some(hint) if self.message.ends_with('.') => write!(f, " {hint}"),
            Some(hint) => write!(f, ". {hint}"),
            None => Ok(()),
        }
    }
}
