//! The house of a tenant: what its sessions are run with.

use std::path::PathBuf;

use windlass::core::{ContextPart, GOAL_TOOL, Mode, Permissions, Settings};
use windlass_server::{House, Refusal, Wish};

use super::tenant::Workspace;
use crate::args::Shape;
use crate::exit::Failure;
use crate::wiring::agents::agents;
use crate::wiring::goal::with_goal;
use crate::wiring::provider::Chosen;
use crate::wiring::settings::{self, Offered};

/// What a tenant's sessions are run with, as its configuration says.
pub(super) struct Configured {
    /// Those of a new session that nobody has wishes for.
    usual: Settings,
    /// The models that are offered; the first is the usual one.
    models: Vec<String>,
    /// Whether the window is the model's own, as far as it is known.
    own_window: bool,
    /// Its provider, and the demo's server that must live as long.
    chosen: Chosen,
    /// Whose `AGENTS.md` files models are told of.
    agents: Option<PathBuf>,
}

impl Configured {
    pub(super) fn new(
        shape: &Shape,
        models: &[String],
        chosen: Chosen,
        offered: Offered,
    ) -> Result<Self, Failure> {
        let usual = settings::fresh(shape, &chosen, offered)?;
        let mut all = vec![usual.model.clone()];
        for model in models {
            if !all.contains(model) {
                all.push(model.clone());
            }
        }
        Ok(Self {
            usual,
            models: all,
            own_window: shape.window.is_none(),
            chosen,
            agents: None,
        })
    }

    /// The same, with models told what a workspace says where that is wanted.
    pub(super) fn told(mut self, workspace: Workspace) -> Self {
        self.agents = workspace.agents.then_some(workspace.folder);
        self
    }

    /// The settings of a session that nobody has wishes for.
    pub(super) fn usual(&self) -> &Settings {
        &self.usual
    }

    fn model(&self, settings: &mut Settings, model: &str) -> Result<(), Refusal> {
        if !self.models.iter().any(|offered| offered == model) {
            let offered = self.models.join(", ");
            return Err(Refusal(format!(
                "the model {model:?} is not offered; there are: {offered}"
            )));
        }
        model.clone_into(&mut settings.model);
        if self.own_window {
            let known = self.chosen.port.model(model);
            settings.window.tokens = known.window.unwrap_or(0);
        }
        Ok(())
    }
}

impl House for Configured {
    fn fresh(&self, wish: &Wish) -> Result<Settings, Refusal> {
        let mut settings = self.usual.clone();
        if let Some(model) = &wish.model {
            self.model(&mut settings, model)?;
        }
        if let Some(mode) = wish.mode {
            if (settings.mode, mode) == (Mode::Plan, Mode::Build) {
                return Err(Refusal("only the mode plan is allowed here".to_owned()));
            }
            settings.mode = mode;
        }
        if let Some(permissions) = wish.permissions {
            if freedom(permissions) > freedom(settings.permissions) {
                let words =
                    "wider permissions than are allowed here: leave them out, or ask for less";
                return Err(Refusal(words.to_owned()));
            }
            settings.permissions = permissions;
        }
        if let Some(limits) = &wish.limits {
            settings.limits = limits.within(&settings.limits);
            if settings.limits.cost_micros > 0 && settings.price.is_none() {
                let words = "a limit of money needs prices, and none are configured here";
                return Err(Refusal(words.to_owned()));
            }
        }
        Ok(settings)
    }

    fn today(&self, recorded: &Settings) -> Result<Settings, Refusal> {
        let Some(base_url) = self.chosen.places.get(&recorded.provider) else {
            let known: Vec<&str> = self.chosen.places.keys().map(String::as_str).collect();
            return Err(Refusal(format!(
                "the session's provider {:?} is not configured here; there are: {}",
                recorded.provider,
                known.join(", ")
            )));
        };
        let tools = self.usual.tools.clone();
        let offered = Offered {
            tools: match recorded.tool(GOAL_TOOL) {
                Some(_) => with_goal(tools),
                None => tools,
            },
            hooks: self.usual.hooks.clone(),
            redaction: self.usual.redaction.clone(),
        };
        Ok(settings::today(recorded, base_url.clone(), offered))
    }

    fn models(&self) -> Vec<String> {
        self.models.clone()
    }

    fn context(&self) -> Vec<ContextPart> {
        self.agents.as_deref().map(agents).unwrap_or_default()
    }
}

fn freedom(permissions: Permissions) -> u8 {
    match permissions {
        Permissions::ReadOnly => 0,
        Permissions::Ask => 1,
        Permissions::Auto => 2,
    }
}
