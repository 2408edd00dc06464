//! Postures: the settings of a simulated session, in words that a script can spell.

use std::fmt;

use serde_json::Value;
use windlass_core::{
    AgentSpec, Ceiling, Concurrency, ContextWindow, DetachedEndPolicy, EffectClass, GOAL_TOOL,
    HookSpec, Limits, Mode, OutputSchema, ParentEndPolicy, Permissions, Price, RequestOptions,
    Rule, SEARCH_TOOLS_TOOL, Settings, ToolSpec,
};

use super::declared::{read_hooks, read_price, read_rules, spell_hooks, spell_price, spell_rules};
use super::programs;
use super::tool::{DeclaredTool, read_tools, spell_tools};
use super::words::{spell, word};

/// What a script says of the settings of a simulated session. All else of them is fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posture {
    /// What its turns are for.
    pub mode: Mode,
    /// What calls may do.
    pub permissions: Permissions,
    /// The limits of each turn.
    pub limits: Limits,
    /// What the user says of calls.
    pub rules: Vec<Rule>,
    /// The hooks.
    pub hooks: Vec<HookSpec>,
    /// The model's window.
    pub window: ContextWindow,
    /// What tokens cost.
    pub price: Option<Price>,
    /// How often an answer that does not have its shape is asked for again; `None` where no shape
    /// is asked for.
    pub shape: Option<u32>,
    /// How many calls a program may make; `None` where the model writes none.
    pub program: Option<u32>,
    /// Most corrections of the last program of a turn, where no shape is asked for.
    pub corrections: u32,
    /// How many samples its agent is lent at most; `None` where it has no agent.
    pub agent: Option<u32>,
    /// True if the result of a detached agent opens a turn.
    pub wakes: bool,
    /// True if a person decides what an earlier process allowed and did not start. A ceiling's alone.
    pub holds: bool,
    /// A tool that the settings say changes nothing, whatever it does.
    pub understates: Option<String>,
    /// The tool that a client of the session runs, where one does.
    pub client: Option<String>,
    /// The tool that is offered once a search has found it, where one is.
    pub defers: Option<String>,
    /// Tools beside those of the kit.
    pub tools: Vec<DeclaredTool>,
}

impl Default for Posture {
    fn default() -> Self {
        Self {
            mode: Mode::Build,
            permissions: Permissions::Auto,
            limits: Limits::default(),
            rules: Vec::new(),
            hooks: Vec::new(),
            window: ContextWindow::default(),
            price: None,
            shape: None,
            program: None,
            corrections: 0,
            agent: None,
            wakes: false,
            holds: false,
            understates: None,
            client: None,
            defers: None,
            tools: Vec::new(),
        }
    }
}

/// The tools of a simulated session: one of each effect and concurrency class, one that can say
/// what became of its calls ([`RECONCILES`]), and the one that says that the goal is met. The
/// exclusive ones name a timeout of their own.
pub const TOOLS: [(&str, EffectClass, Concurrency); 8] = [
    ("read", EffectClass::ReadOnly, Concurrency::Parallel),
    ("look", EffectClass::ReadOnly, Concurrency::Exclusive),
    ("put", EffectClass::Idempotent, Concurrency::Parallel),
    ("swap", EffectClass::Idempotent, Concurrency::Exclusive),
    ("write", EffectClass::Effectful, Concurrency::Parallel),
    ("shell", EffectClass::Effectful, Concurrency::Exclusive),
    (RECONCILES, EffectClass::Effectful, Concurrency::Parallel),
    (GOAL_TOOL, EffectClass::ReadOnly, Concurrency::Parallel),
];

/// The tool that is an agent, where one is.
pub(crate) const AGENT: &str = "put";

/// The tool that can say what became of its calls.
pub const RECONCILES: &str = "deploy";

impl Posture {
    /// The settings of a session in this posture.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let tool = |(name, effect, concurrency): DeclaredTool| {
            let effect = match self.understates.as_deref() == Some(name.as_str()) {
                true => EffectClass::ReadOnly,
                false => effect,
            };
            ToolSpec::new(name.as_str(), effect).with(|it| {
                it.description = format!("simulated {name}");
                it.concurrency = concurrency;
                it.timeout_ms = match concurrency {
                    Concurrency::Parallel => None,
                    Concurrency::Exclusive => Some(5_000),
                };
                it.reconciles = name == RECONCILES;
                it.deferred = self.defers.as_deref() == Some(name.as_str());
                it.client = self.client.as_deref() == Some(name.as_str());
                it.agent =
                    self.agent.filter(|_| name == AGENT).map(|samples| agent(samples, self.wakes));
            })
        };
        Settings::new("simulated", "simulated-1").with(|it| {
            it.instructions = String::from("Be brief.");
            it.mode = self.mode;
            it.permissions = self.permissions;
            it.rules = self.rules.clone();
            it.hooks = self.hooks.clone();
            it.window = self.window;
            it.price = self.price;
            it.tools = self.declared().map(tool).collect();
            it.limits = self.limits;
            it.options = RequestOptions::default().with(|it| {
                it.output_schema = self.shape.map(shape);
                it.program = self.program.map(|calls| programs::mode(calls, self.corrections));
            });
        })
    }

    /// The ceiling of a process whose sessions are to have this posture.
    #[must_use]
    pub fn ceiling(&self) -> Ceiling {
        Ceiling {
            mode: self.mode,
            permissions: self.permissions,
            rules: self.rules.clone(),
            hooks: self.hooks.clone(),
            effects: self.declared().map(|(name, effect, _)| (name, effect)).collect(),
            hold_recovered: self.holds,
        }
    }

    /// All tools: those of the kit, then its own, and the one that finds a deferred one.
    fn declared(&self) -> impl Iterator<Item = DeclaredTool> {
        let kit = TOOLS.iter().map(|(name, effect, class)| ((*name).to_owned(), *effect, *class));
        let search = |_: &String| {
            (SEARCH_TOOLS_TOOL.to_owned(), EffectClass::ReadOnly, Concurrency::Parallel)
        };
        kit.chain(self.tools.iter().cloned()).chain(self.defers.iter().map(search))
    }

    /// Sets what a word of a script names, for example `mode=plan`, `hooks=before_tool:open` or
    /// `samples=2`.
    ///
    /// # Errors
    /// What is wrong with the word.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "mode" => self.mode = word(value)?,
            "permissions" => self.permissions = word(value)?,
            "tools" => self.tools = read_tools(value)?,
            "rules" => self.rules = read_rules(value)?,
            "hooks" => self.hooks = read_hooks(value)?,
            "window" => {
                let tokens = value.parse();
                self.window.tokens = tokens.map_err(|error| format!("{value}: {error}"))?;
            }
            "strategy" => self.window.strategy = word(value)?,
            "price" => self.price = Some(read_price(value)?),
            "shape" => {
                let retries = value.parse();
                self.shape = Some(retries.map_err(|error| format!("{value}: {error}"))?);
            }
            "program" => {
                let calls = value.parse();
                self.program = Some(calls.map_err(|error| format!("{value}: {error}"))?);
            }
            "corrections" => {
                let most = value.parse();
                self.corrections = most.map_err(|error| format!("{value}: {error}"))?;
            }
            "agent" => {
                let samples = value.parse();
                self.agent = Some(samples.map_err(|error| format!("{value}: {error}"))?);
            }
            "defers" => self.defers = Some(value.to_owned()),
            "client" => self.client = Some(value.to_owned()),
            "understates" => self.understates = Some(value.to_owned()),
            "holds" => self.holds = value.parse().map_err(|error| format!("{value}: {error}"))?,
            "wakes" => self.wakes = value.parse().map_err(|error| format!("{value}: {error}"))?,
            limit => set_limit(&mut self.limits, limit, value)?,
        }
        Ok(())
    }
}

impl fmt::Display for Posture {
    /// Spells only what differs from the default posture.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        if self.mode != default.mode {
            write!(f, " mode={}", spell(&self.mode))?;
        }
        if self.permissions != default.permissions {
            write!(f, " permissions={}", spell(&self.permissions))?;
        }
        if !self.tools.is_empty() {
            write!(f, " tools={}", spell_tools(&self.tools))?;
        }
        if !self.rules.is_empty() {
            write!(f, " rules={}", spell_rules(&self.rules))?;
        }
        if !self.hooks.is_empty() {
            write!(f, " hooks={}", spell_hooks(&self.hooks))?;
        }
        if self.window.tokens != default.window.tokens {
            write!(f, " window={}", self.window.tokens)?;
        }
        if self.window.strategy != default.window.strategy {
            write!(f, " strategy={}", spell(&self.window.strategy))?;
        }
        if let Some(price) = &self.price {
            write!(f, " price={}", spell_price(price))?;
        }
        if let Some(retries) = self.shape {
            write!(f, " shape={retries}")?;
        }
        if let Some(calls) = self.program {
            write!(f, " program={calls}")?;
        }
        if self.corrections > 0 {
            write!(f, " corrections={}", self.corrections)?;
        }
        if let Some(tool) = &self.understates {
            write!(f, " understates={tool}")?;
        }
        if let Some(tool) = &self.defers {
            write!(f, " defers={tool}")?;
        }
        if let Some(tool) = &self.client {
            write!(f, " client={tool}")?;
        }
        if self.holds {
            write!(f, " holds=true")?;
        }
        if let Some(samples) = self.agent {
            write!(f, " agent={samples}")?;
        }
        if self.wakes {
            write!(f, " wakes=true")?;
        }
        spell_limits("", &self.limits, f)
    }
}

/// An agent without tools.
fn agent(samples: u32, wakes: bool) -> Box<AgentSpec> {
    Box::new(AgentSpec::new("Be briefer.").with(|it| {
        it.samples = samples;
        it.when_parent_ends = if wakes { ParentEndPolicy::Detach } else { ParentEndPolicy::Stop };
        it.when_detached_ends = match wakes {
            true => DetachedEndPolicy::Wake,
            false => DetachedEndPolicy::Wait,
        };
    }))
}

/// The shape of an answer. No world reads it: the script says what does not fit.
fn shape(retries: u32) -> OutputSchema {
    OutputSchema {
        name: String::from("answer"),
        schema: String::from(r#"{"type":"object"}"#),
        strict: false,
        max_re_asks: retries,
    }
}

/// Sets the limit of this name.
pub(super) fn set_limit(limits: &mut Limits, name: &str, value: &str) -> Result<(), String> {
    let number: u64 = value.parse().map_err(|error| format!("{value}: {error}"))?;
    let mut fields = serde_json::to_value(*limits).map_err(|error| error.to_string())?;
    match fields.get_mut(name) {
        Some(field) => *field = Value::from(number),
        None => return Err(format!("there is no limit {name}")),
    }
    *limits = serde_json::from_value(fields).map_err(|error| format!("{name}: {error}"))?;
    Ok(())
}

/// Spells the limits that differ from the default ones.
pub(super) fn spell_limits(
    prefix: &str,
    limits: &Limits,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let fields = |limits: &Limits| serde_json::to_value(limits).unwrap_or_default();
    let (ours, default) = (fields(limits), fields(&Limits::default()));
    // Newer limits that are 0 are left out of the JSON.
    let none = Value::from(0);
    for (name, usual) in default.as_object().into_iter().flatten() {
        let value = ours.get(name).unwrap_or(&none);
        if value != usual {
            write!(f, " {prefix}{name}={value}")?;
        }
    }
    Ok(())
}
