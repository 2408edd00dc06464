//! Agents: tools that are sessions of their own, and the budget that a turn lends them.
//!
//! A call of such a tool opens a child session whose turn does the work. What the child may take is
//! lent when the call starts, out of what the turn has left, and what it took counts as the turn's
//! own when the call ends. So a limit of three samples means three over the whole tree.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::fact::Lineage;
use crate::goal::GOAL_TOOL;
use crate::limits::Limits;
use crate::options::{RequestOptions, ToolChoice};
use crate::session::{CallState, Session, Turn};
use crate::settings::{Settings, ToolSpec};

/// That a tool is an agent: a session of its own, opened for each call of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    /// Instructions of the child.
    pub instructions: String,
    /// The names of the tools of this session that the child has, agents among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The most samples that one call is lent.
    pub samples: u32,
    /// The most tokens that one call is lent; 0 means as many as are left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// The most money that one call is lent, in millionths; 0 means as much as is left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
    /// Policy for a child that is still running when the call ends.
    #[serde(default, skip_serializing_if = "ParentEndPolicy::is_stop")]
    pub when_parent_ends: ParentEndPolicy,
}

/// Policy for an agent's session whose call ends first: its turn was interrupted, its time was up,
/// or its process ended too often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentEndPolicy {
    /// It is interrupted, and what it had done so far is in its own log only.
    #[default]
    Stop,
    /// It runs on to its end, within what it was lent. Nothing of it reaches the turn any more.
    Detach,
}

impl ParentEndPolicy {
    fn is_stop(&self) -> bool {
        *self == Self::Stop
    }
}

/// Part of the turn's budget that is granted to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetGrant {
    /// Samples; 1 at least.
    pub samples: u32,
    /// Tokens; 0 means no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths; 0 means no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
    /// Wall-clock time in milliseconds, which the turn had left when the call started; 0 means no
    /// limit. Who waits beside it spends the same time, so none of it is ever taken or given back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn_ms: u64,
}

/// Usage of granted budgets, over all sessions that calls opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetUsage {
    /// Samples: never more than were lent.
    pub samples: u32,
    /// Tokens. An answer may be longer than was set aside for it, so they may be more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths, of which the same holds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AgentSpec {
    /// The settings of the child of a turn: the turn's own, with these instructions and of its tools
    /// those that are named here, limited to what is lent. Neither the shape of the turn's answer nor
    /// that it writes programs is the child's.
    #[must_use]
    pub fn settings(&self, turn: &Turn, lent: &BudgetGrant) -> Settings {
        let named = |tool: &&ToolSpec| self.tools.contains(&tool.name);
        let tools = turn.settings.tools.iter().filter(named).cloned();
        Settings {
            instructions: self.instructions.clone(),
            tools: tools.collect(),
            limits: lent.limits(&turn.limits),
            options: RequestOptions {
                output_schema: None,
                tool_choice: ToolChoice::Auto,
                program: None,
                ..turn.settings.options.clone()
            },
            ..(*turn.settings).clone()
        }
    }
}

impl BudgetGrant {
    /// All of it but the time: what counts as taken where nobody knows what was.
    #[must_use]
    pub fn as_usage(&self) -> BudgetUsage {
        BudgetUsage {
            samples: self.samples,
            tokens: self.tokens,
            cost_micros: self.cost_micros,
        }
    }

    /// A turn's limits, no wider than this.
    #[must_use]
    pub fn limits(&self, turn: &Limits) -> Limits {
        let most = Limits {
            samples: self.samples,
            tokens: self.tokens,
            cost_micros: self.cost_micros,
            turn_ms: self.turn_ms,
            ..*turn
        };
        turn.within(&most)
    }
}

impl BudgetUsage {
    /// Returns true if nothing was taken.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Adds both usages.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            samples: self.samples.saturating_add(other.samples),
            tokens: self.tokens.saturating_add(other.tokens),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }
}

/// An agent that is to have a tool which nobody can give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnavailableTool<'a> {
    /// Name of the agent.
    pub agent: &'a str,
    /// Name of the tool.
    pub tool: &'a str,
    /// The agent of this one that the tool is named for, if it is not named for itself.
    pub via_agent: Option<&'a str>,
}

impl fmt::Display for UnavailableTool<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, tool, .. } = self;
        match self.via_agent {
            None => write!(
                f,
                "the agent `{agent}` is to have the tool `{tool}`, and there is none of that name"
            ),
            Some(through) => write!(
                f,
                "the agent `{agent}` has the agent `{through}`, which is to have the tool `{tool}`, \
                 and has of its tools only those that `{agent}` has: name it for `{agent}` too"
            ),
        }
    }
}

/// The first agent among the tools of a session that is to have a tool which is not there, or whose
/// agents are to have one that it does not have itself. A child has a part of its parent's tools, so
/// where nothing is found, nothing is missing in the whole tree.
#[must_use]
pub fn unavailable_tool(tools: &[ToolSpec]) -> Option<UnavailableTool<'_>> {
    let find = |name: &str| tools.iter().find(|tool| tool.name == name);
    for tool in tools {
        let Some(agent) = &tool.agent else {
            continue;
        };
        for name in &agent.tools {
            let Some(found) = find(name) else {
                return Some(UnavailableTool {
                    agent: &tool.name,
                    tool: name,
                    via_agent: None,
                });
            };
            let mut below = found.agent.iter().flat_map(|below| &below.tools);
            if let Some(lacking) = below.find(|below| !agent.tools.contains(below)) {
                return Some(UnavailableTool {
                    agent: &tool.name,
                    tool: lacking,
                    via_agent: Some(&found.name),
                });
            }
        }
    }
    None
}

impl Session {
    /// Of the tools that a process has, those that this session may be given: for the child of
    /// another session's call the ones that it has by name, for any other all of them.
    #[must_use]
    pub fn offered_tools(&self, mut tools: Vec<ToolSpec>) -> Vec<ToolSpec> {
        tools.retain(|tool| self.may_use_tool(tool));
        tools
    }

    /// Returns true if it may be given a tool. The one by which a model says that the goal is met
    /// is nobody's own: it comes and goes with the goal.
    pub(crate) fn may_use_tool(&self, tool: &ToolSpec) -> bool {
        match *self.lineage {
            Lineage::Child { .. } => {
                tool.name == GOAL_TOOL || self.settings.tool(&tool.name).is_some()
            }
            Lineage::Root | Lineage::Fork { .. } => true,
        }
    }
}

impl Turn {
    /// The agent that a call runs, if it runs one.
    #[must_use]
    pub fn agent(&self, call: &CallState) -> Option<&AgentSpec> {
        self.settings.tool(&call.tool)?.agent.as_deref()
    }

    /// The longest that one run of a call may take, in milliseconds, where it were `timeout_ms`
    /// for a tool. People may be asked about what an agent does, so what is lent a budget has as long
    /// as is declared for it; 0 means no limit but the turn's own.
    pub(crate) fn run_ms(
        &self,
        call: &CallState,
        lent: Option<BudgetGrant>,
        timeout_ms: u64,
    ) -> u64 {
        match (lent, self.settings.tool(&call.tool)) {
            (Some(_), Some(agent)) => agent.timeout_ms.unwrap_or(0),
            (Some(_) | None, _) => timeout_ms,
        }
    }

    /// All that calls which run are lent.
    #[must_use]
    pub fn granted_total(&self) -> BudgetUsage {
        let lent = self.calls().iter().filter_map(|call| call.grant);
        lent.fold(BudgetUsage::default(), |sum, lent| {
            sum.plus(lent.as_usage())
        })
    }
}
