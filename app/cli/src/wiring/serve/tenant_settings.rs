//! Tenant settings: settings of a tenant's sessions.

use std::path::Path;
use std::pin::Pin;

use windlass_engine::core::{
    ContextPart, EditTools, GOAL_TOOL, Mode, Permissions, ProgramLimits, Settings, ToolSpec,
};
use windlass_engine::ports::Clock as _;
use windlass_engine::ports::sync::Mutex;
use windlass_server::{
    ModelList, OfferedModel, Refusal, SessionOptions, SettingsChange, TenantFactory,
};

use super::tenant::TenantWorkspace;
use crate::args::{ProgramLimitArgs, SettingsArgs};
use crate::config;
use crate::exit::Failure;
use crate::wiring::clock;
use crate::wiring::goal::with_goal;
use crate::wiring::project_context::is_project_file;
use crate::wiring::provider::ProviderChoice;
use crate::wiring::session_context::{is_session_context, session_context};
use crate::wiring::settings::AvailableExtensions;
use crate::wiring::skills::is_skill_context;
use crate::wiring::{TrustRecord, programs, provider_models, settings, trusted, untrusted_words};

/// Longest name of a model and longest word of an effort, in bytes.
const MAX_NAME: usize = 256;
const MAX_EFFORT: usize = 64;
/// Most models of a list.
const MAX_MODELS: usize = 1_000;
/// Efforts that each model with efforts takes.
const EFFORTS: &[&str] = &["low", "medium", "high"];

/// Models and runtimes that a session may choose beside the default.
pub(super) struct SessionChoices {
    /// Names of models.
    pub(super) models: Vec<String>,
    /// Names of runtimes.
    pub(super) programs: Vec<String>,
}

/// Settings of a tenant's sessions, from its configuration.
pub(super) struct TenantSettings {
    /// Settings of a new session without options.
    usual: Settings,
    /// Offered models; the first is the default.
    models: Vec<String>,
    /// True if a session may name any model of the provider: the server is the user's own.
    any_model: bool,
    /// Offered program runtimes.
    programs: Vec<String>,
    /// Limits of programs, also in sessions that choose a runtime themselves.
    program_limits: ProgramLimitArgs,
    /// Tools of a session, before the ones for edits are chosen.
    tools: Vec<ToolSpec>,
    /// Configured tools for edits; `None` leaves them to the model.
    edits: Option<EditTools>,
    /// True if the context window is the model's own, if that is known.
    own_window: bool,
    /// True if the price is the model's own by the built-in list.
    own_price: bool,
    /// Provider, with the demo's server that must live as long.
    chosen: ProviderChoice,
    /// Folder that is described to models, with its `AGENTS.md` files if enabled.
    workspace: Option<TenantWorkspace>,
    /// Last report of instructions that are not trusted.
    reported: Mutex<Option<String>>,
}

impl TenantSettings {
    pub(super) fn new(
        shape: &SettingsArgs,
        offers: SessionChoices,
        chosen: ProviderChoice,
        offered: AvailableExtensions,
        permissions: Permissions,
    ) -> Result<Self, Failure> {
        let program_limits = shape.program_limits.clone();
        let shape = &match shape.program {
            Some(_) => shape.clone(),
            None => SettingsArgs { program_limits: ProgramLimitArgs::default(), ..shape.clone() },
        };
        let (tools, edits) = (offered.tools.clone(), shape.edit_tool);
        let usual = settings::new_settings(shape, &chosen, offered, permissions)?;
        let program = usual.options.program.as_ref();
        let program = program.map(|program| program.runtime.clone());
        let models = [usual.model.clone()].into_iter().chain(offers.models);
        Ok(Self {
            models: once_each(models),
            any_model: false,
            programs: once_each(program.into_iter().chain(offers.programs)),
            usual,
            program_limits,
            tools,
            edits,
            own_window: shape.window.is_none(),
            own_price: shape.price.is_none(),
            chosen,
            workspace: None,
            reported: Mutex::new(None),
        })
    }

    /// Adds the workspace, whose `AGENTS.md` files models receive if enabled.
    pub(super) fn with_workspace(mut self, workspace: TenantWorkspace) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Lets sessions name any model of the provider.
    pub(super) fn with_any_model(mut self, any: bool) -> Self {
        self.any_model = any;
        self
    }

    /// Returns the upper bound on the limits of programs, which equals what is configured.
    pub(super) fn max_program_limits(&self) -> ProgramLimits {
        self.program_limits.apply(ProgramLimits::default())
    }

    /// Returns the settings of a session without options.
    pub(super) fn usual(&self) -> &Settings {
        &self.usual
    }

    /// Sets an offered model, with its window.
    fn model(&self, settings: &mut Settings, model: &str) -> Result<(), Refusal> {
        if !self.any_model && !self.models.iter().any(|offered| offered == model) {
            let offered = self.models.join(", ");
            return Err(Refusal(format!(
                "the model {model:?} is not offered; there are: {offered}"
            )));
        }
        if model.is_empty() || model.len() > MAX_NAME || model.chars().any(char::is_control) {
            return Err(Refusal(format!("a model has a name of 1 to {MAX_NAME} bytes of text")));
        }
        model.clone_into(&mut settings.model);
        if self.own_window {
            let known = self.chosen.port.model(model);
            settings.window.tokens = known.window.unwrap_or(0);
        }
        if self.own_price {
            let url = self.chosen.base_urls.get(&settings.provider).and_then(Option::as_deref);
            let listed = config::list_price(&settings.provider, url, model);
            settings.price = listed.map(|(price, _)| price);
        }
        if settings.limits.cost_micros > 0 && settings.price.is_none() {
            return Err(Refusal(format!(
                "the turns have a limit of money, and no prices are known for the model {model:?}: \
                 choose another one, or have its price configured"
            )));
        }
        Ok(())
    }

    /// Describes a model, as far as it is known.
    fn offered(&self, name: String) -> OfferedModel {
        let model = self.chosen.port.model(&name);
        let effort = model.reasoning && self.chosen.port.capabilities().effort;
        let efforts = if effort { EFFORTS } else { &[] };
        let efforts = efforts.iter().map(|&effort| effort.to_owned()).collect();
        OfferedModel {
            name,
            window: model.window,
            efforts: model.known.then_some(efforts),
            images: model.known.then_some(model.images),
        }
    }

    /// Checks settings that a client chose with the provider, as far as it knows their model.
    fn check(&self, settings: &Settings) -> Result<(), Refusal> {
        if settings.options.web_search.is_none() && settings.effort.is_none() {
            return Ok(());
        }
        let checked = self.chosen.port.check_settings(settings);
        checked.map_err(|error| Refusal(error.context))
    }

    /// Applies what a client may choose, up to the settings of a session without options.
    fn choose(&self, settings: &mut Settings, change: &SettingsChange) -> Result<(), Refusal> {
        if let Some(model) = &change.model {
            self.model(settings, model)?;
        }
        if let Some(mode) = change.mode {
            if (self.usual.mode, mode) == (Mode::Plan, Mode::Build) {
                return Err(Refusal("only the mode plan is allowed here".to_owned()));
            }
            settings.mode = mode;
        }
        if let Some(permissions) = change.permissions {
            if permissions > self.usual.permissions {
                let words =
                    "wider permissions than are allowed here: leave them out, or ask for less";
                return Err(Refusal(words.to_owned()));
            }
            settings.permissions = permissions;
        }
        if let Some(effort) = &change.effort {
            let plain =
                |word: &String| !word.contains(|c: char| c.is_whitespace() || c.is_control());
            let valid = |word: &String| (1..=MAX_EFFORT).contains(&word.len()) && plain(word);
            if !effort.as_ref().is_none_or(valid) {
                return Err(Refusal(format!("an effort is a word of 1 to {MAX_EFFORT} bytes")));
            }
            settings.effort.clone_from(effort);
        }
        match change.model.is_some() || change.effort.is_some() {
            true => self.check(settings),
            false => Ok(()),
        }
    }
}

impl TenantSettings {
    /// Applies the program options by the rules of the command line.
    fn programs(&self, settings: &mut Settings, wish: &SessionOptions) -> Result<(), Refusal> {
        let wanted = wish.program.as_ref();
        if let Some(runtime) = wanted.filter(|runtime| !self.programs.contains(runtime)) {
            let offered = match self.programs.is_empty() {
                true => "no model writes programs here".to_owned(),
                false => format!("there are: {}", self.programs.join(", ")),
            };
            let words = format!("the runtime {runtime:?} is not offered; {offered}");
            return Err(Refusal(words));
        }
        let none = wanted.is_none() && settings.options.program.is_none();
        if none && wish.program_transport.is_some() {
            let words = "program_transport needs a model that writes programs: name its runtime in \
                         program";
            return Err(Refusal(words.to_owned()));
        }
        let said = SettingsArgs {
            program: wanted.cloned(),
            program_transport: wish.program_transport,
            program_limits: match wanted {
                Some(_) => self.program_limits.clone(),
                None => ProgramLimitArgs::default(),
            },
            ..SettingsArgs::default()
        };
        programs::set(&mut settings.options.program, &said)
            .map_err(|failure| Refusal(failure.message))
    }
}

impl TenantSettings {
    /// Returns the trusted instructions of the workspace. Reports others, each time they change.
    fn instructions(&self, folder: &Path, agents: bool) -> Vec<ContextPart> {
        let read = TrustRecord::load().and_then(|record| {
            let (used, unused) = trusted(&record, folder, agents)?;
            let words = untrusted_words(&record, &unused, folder);
            Ok((used, words))
        });
        let (used, words) = read.unwrap_or_else(|failure| (Vec::new(), Some(failure.message)));
        let mut reported = self.reported.lock();
        if *reported != words {
            if let Some(words) = &words {
                tracing::warn!("{words}");
            }
            *reported = words;
        }
        used
    }
}

impl TenantFactory for TenantSettings {
    fn new_settings(&self, wish: &SessionOptions) -> Result<Settings, Refusal> {
        let mut settings = self.usual.clone();
        let change = SettingsChange {
            mode: wish.mode,
            permissions: wish.permissions,
            model: wish.model.clone(),
            effort: wish.effort.clone().map(Some),
        };
        self.choose(&mut settings, &change)?;
        if wish.model.is_some() {
            let suited = settings::model_tools(self.edits, &self.chosen, &settings.model);
            settings.tools.clone_from(&self.tools);
            suited.choose(&mut settings.tools);
        }
        self.programs(&mut settings, wish)?;
        if let Some(limits) = &wish.limits {
            settings.limits = limits.within(&settings.limits);
            if settings.limits.cost_micros > 0 && settings.price.is_none() {
                let words = "a limit of money needs prices, and none are configured here";
                return Err(Refusal(words.to_owned()));
            }
        }
        programs::runtimes().write_guide(&mut settings);
        Ok(settings)
    }

    fn current_settings(&self, recorded: &Settings) -> Result<Settings, Refusal> {
        let Some(base_url) = self.chosen.base_urls.get(&recorded.provider) else {
            let known: Vec<&str> = self.chosen.base_urls.keys().map(String::as_str).collect();
            return Err(Refusal(format!(
                "the session's provider {:?} is not configured here; there are: {}",
                recorded.provider,
                known.join(", ")
            )));
        };
        let mut tools = self.tools.clone();
        settings::model_tools(self.edits, &self.chosen, &recorded.model).choose(&mut tools);
        let offered = AvailableExtensions {
            tools: match recorded.tool(GOAL_TOOL) {
                Some(_) => with_goal(tools),
                None => tools,
            },
            hooks: self.usual.hooks.clone(),
            redaction: self.usual.redaction.clone(),
            // The ceiling adds those that narrow.
            rules: Vec::new(),
        };
        Ok(settings::current_settings(recorded, base_url.clone(), offered))
    }

    fn changed_settings(
        &self,
        recorded: &Settings,
        change: &SettingsChange,
    ) -> Result<Settings, Refusal> {
        let mut settings = recorded.clone();
        self.choose(&mut settings, change)?;
        self.current_settings(&settings)
    }

    fn models(&self) -> Vec<String> {
        self.models.clone()
    }

    fn list_models(&self) -> Pin<Box<dyn Future<Output = ModelList> + Send + '_>> {
        Box::pin(async {
            let (mut names, mut fault) = (self.models.clone(), None);
            if self.any_model {
                match provider_models(&self.chosen).await {
                    Ok(listed) => names.extend(listed),
                    Err(failure) => fault = Some(failure.message),
                }
            }
            let names = once_each(names.into_iter()).into_iter().take(MAX_MODELS);
            ModelList { models: names.map(|name| self.offered(name)).collect(), fault }
        })
    }

    fn context(&self) -> Vec<ContextPart> {
        let Some(workspace) = &self.workspace else {
            return Vec::new();
        };
        let mut parts = session_context(&workspace.folder, clock().now());
        parts.extend(self.instructions(&workspace.folder, workspace.agents));
        parts
    }

    fn is_context(&self, from: &str) -> bool {
        is_session_context(from) || is_project_file(from) || is_skill_context(from)
    }
}

fn once_each(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut each = Vec::new();
    for name in names {
        if !each.contains(&name) {
            each.push(name);
        }
    }
    each
}
