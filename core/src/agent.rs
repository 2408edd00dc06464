//! Agents: tools that run as child sessions, and the budget that a turn grants them.
//!
//! A call of such a tool opens a child session whose turn does the work. The call receives its
//! budget grant when it starts, out of the turn's remaining budget. When the call ends, the child's
//! usage counts as the turn's own. So a limit of three samples means three over the whole tree.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::background::is_background_agent_tool;
use crate::fact::Lineage;
use crate::goal::GOAL_TOOL;
use crate::limits::Limits;
use crate::options::{RequestOptions, ToolChoice};
use crate::output::READ_OUTPUT_TOOL;
use crate::session::{CallState, Session, Turn};
use crate::settings::{Settings, ToolSpec};

/// Definition of an agent tool: each call of it opens a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentSpec {
    /// Instructions of the child.
    pub instructions: String,
    /// Names of the tools of this session that the child may use, agents included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Most samples granted to one call.
    pub samples: u32,
    /// Most tokens granted to one call; 0 grants all that are left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Most money granted to one call, in millionths; 0 grants all that is left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
    /// Policy for a child that is still running when the call ends.
    #[serde(default, skip_serializing_if = "ParentEndPolicy::is_stop")]
    pub when_parent_ends: ParentEndPolicy,
    /// True if the call ends once the child has its prompt. The child continues, detached.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub background: bool,
    /// Policy for the result of a detached child.
    #[serde(default, skip_serializing_if = "DetachedEndPolicy::is_wait")]
    pub when_detached_ends: DetachedEndPolicy,
}

/// Policy for a child session whose call ends first: the turn was interrupted, the call ran out of
/// time, or its process ended too often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentEndPolicy {
    /// The child is interrupted. Only its own log records its work so far.
    #[default]
    Stop,
    /// The child runs to its end within its grant, detached.
    Detach,
}

/// Policy for the result of a detached child. It enters its parent session as an input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetachedEndPolicy {
    /// The result joins an open turn at its next request, or else waits for the next turn.
    #[default]
    Wait,
    /// As above, and opens a turn if none is open.
    Wake,
}

impl DetachedEndPolicy {
    fn is_wait(&self) -> bool {
        *self == Self::Wait
    }
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
    /// Samples; at least 1.
    pub samples: u32,
    /// Tokens; 0 means no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths; 0 means no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
    /// Wall-clock time in milliseconds that the turn had left when the call started; 0 means no
    /// limit. Concurrent calls spend the same time, so it is never deducted or returned.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn_ms: u64,
}

/// Usage of budget grants, over all sessions that calls opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetUsage {
    /// Samples; never more than the grant.
    pub samples: u32,
    /// Tokens. They may exceed the grant, since an answer may be longer than its reservation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths. It may exceed the grant for the same reason.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micros: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AgentSpec {
    /// Most samples of one call, unless the definition says how many.
    pub const SAMPLES: u32 = 10;

    /// Creates a definition without tools. Its calls may use up to [`SAMPLES`](Self::SAMPLES)
    /// samples, and all tokens and money that are left.
    #[must_use]
    pub fn new(instructions: impl Into<String>) -> Self {
        Self {
            instructions: instructions.into(),
            tools: Vec::new(),
            samples: Self::SAMPLES,
            tokens: 0,
            cost_micros: 0,
            when_parent_ends: ParentEndPolicy::default(),
            background: false,
            when_detached_ends: DetachedEndPolicy::default(),
        }
    }

    /// Returns this definition with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Lets the child use these tools of its session.
    #[must_use]
    pub fn with_tools<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.tools.extend(names.into_iter().map(Into::into));
        self
    }

    /// Replaces the most samples granted to one call.
    #[must_use]
    pub fn with_samples(mut self, samples: u32) -> Self {
        self.samples = samples;
        self
    }

    /// Returns true if a child is detached when its call ends first.
    #[must_use]
    pub fn can_detach(&self) -> bool {
        self.background || self.when_parent_ends == ParentEndPolicy::Detach
    }

    /// Returns the settings of a turn's child: the turn's settings with these instructions, the
    /// named subset of its tools, the tool that reads outputs if the turn has it, those for agents in
    /// the background if the child has any, and limits within the grant. The child does not inherit the output schema or program mode.
    #[must_use]
    pub fn settings(&self, turn: &Turn, lent: &BudgetGrant) -> Settings {
        let all = &turn.settings.tools;
        let in_background = |tool: &ToolSpec| tool.agent.as_ref().is_some_and(|one| one.background);
        let sends_out =
            all.iter().any(|tool| self.tools.contains(&tool.name) && in_background(tool));
        let named = |tool: &&ToolSpec| {
            tool.name == READ_OUTPUT_TOOL
                || self.tools.contains(&tool.name)
                || (sends_out && is_background_agent_tool(&tool.name))
        };
        // An agent has few tools, which it names.
        let tools = turn.settings.tools.iter().filter(named).cloned();
        let tools = tools.map(|tool| tool.with(|it| it.deferred = false));
        Settings {
            instructions: self.instructions.clone(),
            tools: tools.collect(),
            limits: lent.limits(&turn.limits),
            options: RequestOptions {
                output_schema: None,
                tool_choice: ToolChoice::Auto,
                program: None,
                web_search: None,
                ..turn.settings.options.clone()
            },
            ..(*turn.settings).clone()
        }
    }
}

impl BudgetGrant {
    /// Returns the grant without the time, as the usage to assume when the real one is unknown.
    #[must_use]
    pub fn as_usage(&self) -> BudgetUsage {
        BudgetUsage { samples: self.samples, tokens: self.tokens, cost_micros: self.cost_micros }
    }

    /// Returns the turn's limits, narrowed to this grant.
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
    /// Returns true if the usage is zero.
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

/// An agent that names a tool which is not available to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnavailableTool<'a> {
    /// Name of the agent.
    pub agent: &'a str,
    /// Name of the tool.
    pub tool: &'a str,
    /// The nested agent that names the tool, if not the agent itself.
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

/// Returns the first agent that names an unavailable tool, itself or through a nested agent. A
/// child's tools are a subset of its parent's, so `None` means that the whole tree has its tools.
#[must_use]
pub fn unavailable_tool(tools: &[ToolSpec]) -> Option<UnavailableTool<'_>> {
    let find = |name: &str| tools.iter().find(|tool| tool.name == name);
    for tool in tools {
        let Some(agent) = &tool.agent else {
            continue;
        };
        for name in &agent.tools {
            let Some(found) = find(name) else {
                return Some(UnavailableTool { agent: &tool.name, tool: name, via_agent: None });
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
    /// Returns the subset of a process's tools that this session may use. The child of a call may
    /// use those that it names; any other session may use all of them.
    #[must_use]
    pub fn offered_tools(&self, mut tools: Vec<ToolSpec>) -> Vec<ToolSpec> {
        tools.retain(|tool| self.may_use_tool(tool));
        tools
    }

    /// Returns true if the session may use a tool. The tool that reports the goal as met is always
    /// available: the goal adds and removes it.
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
    /// Returns the agent that a call runs, if it runs one.
    #[must_use]
    pub fn agent(&self, call: &CallState) -> Option<&AgentSpec> {
        self.settings.tool(&call.tool)?.agent.as_deref()
    }

    /// Returns true if a client of the session runs the call's tool.
    #[must_use]
    pub fn is_run_by_client(&self, call: &CallState) -> bool {
        self.settings.tool(&call.tool).is_some_and(|tool| tool.client)
    }

    /// Returns the longest time of one run of a call, in milliseconds; `timeout_ms` is the value
    /// for a tool. A call with a budget grant uses the agent's declared timeout, since people may
    /// be asked about what the agent does. 0 means no limit but the turn's own.
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

    /// Returns the sum of the grants of all running calls.
    #[must_use]
    pub fn granted_total(&self) -> BudgetUsage {
        let lent = self.calls().iter().filter_map(|call| call.grant);
        lent.fold(BudgetUsage::default(), |sum, lent| sum.plus(lent.as_usage()))
    }
}
