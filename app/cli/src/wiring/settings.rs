//! Settings of a new session, and changes of a command to an existing one.

use windlass_engine::core::{
    Ceiling, CompactionStrategy, ContextWindow, EditTools, HookSpec, Limits, Mode, ModelTools,
    OfferedTools, Permissions, Price, Rule, RuleVerdict, Settings, ToolSpec, Widening,
};

use super::provider::{ProviderChoice, no_model};
use super::{instructions, output_schema, programs, rules};
use crate::args::{DEFAULT, SettingsArgs};
use crate::config;
use crate::exit::Failure;
use crate::present::print_notice;

/// Mode of a process that names none.
const MODE: Mode = Mode::Build;

/// Tools and hooks that the adapters offer.
pub(crate) struct AvailableExtensions {
    /// Tools for the model.
    pub(crate) tools: Vec<ToolSpec>,
    /// Hooks that run.
    pub(crate) hooks: Vec<HookSpec>,
    /// Name of the redactor of the model's text.
    pub(crate) redaction: Option<String>,
    /// Rules that the user's configuration has for single tools.
    pub(crate) rules: Vec<Rule>,
}

/// Returns the settings of a new session. It has these permissions unless the command names others.
pub(crate) fn new_settings(
    shape: &SettingsArgs,
    chosen: &ProviderChoice,
    offered: AvailableExtensions,
    permissions: Permissions,
) -> Result<Settings, Failure> {
    let model = model(shape, chosen)?;
    let price = known_price(chosen, &model);
    let settings = Settings::new(chosen.name.clone(), model).with(|it| {
        it.price = price;
        it.instructions = instructions::INSTRUCTIONS.to_owned();
        it.mode = MODE;
        it.permissions = permissions;
        it.hooks = offered.hooks;
        it.redaction = offered.redaction;
        // Without a usable answer of the model, a plain list takes the summary's place.
        it.window = ContextWindow { strategy: CompactionStrategy::Summary, ..Default::default() };
        it.tools = offered.tools;
        it.base_url = chosen.base_url.clone();
    });
    let mut settings = with(settings, shape)?;
    rules::warn_of_misspelt(&settings.rules, &settings.tools);
    let suited = model_tools(shape.edit_tool, chosen, &settings.model);
    suited.choose(&mut settings.tools);
    add_rules(&mut settings.rules, &offered.rules);
    if shape.window.is_none() {
        // Known capabilities of the model are used; unknown ones show by a rejection.
        let known = chosen.port.model(&settings.model);
        settings.window.tokens = known.window.unwrap_or(0);
    }
    warn_of_window(&settings, chosen);
    programs::runtimes().write_guide(&mut settings);
    check_options(&settings, chosen)?;
    Ok(settings)
}

/// Returns the settings of an existing session with the command's explicit changes. They have these
/// permissions at most unless the command names others.
pub(crate) fn changed_settings(
    recorded: &Settings,
    shape: &SettingsArgs,
    chosen: &ProviderChoice,
    offered: AvailableExtensions,
    permissions: Permissions,
) -> Result<Settings, Failure> {
    let mut settings = current_settings(recorded, chosen.base_url.clone(), offered);
    settings.permissions = settings.permissions.min(permissions);
    if settings.provider != chosen.name {
        settings.provider.clone_from(&chosen.name);
        settings.model = model(shape, chosen)?;
    }
    let mut settings = with(settings, shape)?;
    let suited = model_tools(shape.edit_tool, chosen, &settings.model);
    suited.choose(&mut settings.tools);
    if settings.model != recorded.model && shape.window.is_none() {
        // The window of a model that nobody knows stays as it was set.
        let known = chosen.port.model(&settings.model).window;
        settings.window.tokens = known.unwrap_or(settings.window.tokens);
        warn_of_window(&settings, chosen);
    }
    if settings.model != recorded.model && shape.price.is_none() {
        settings.price = known_price(chosen, &settings.model).or(settings.price);
    }
    programs::runtimes().write_guide(&mut settings);
    check_options(&settings, chosen)?;
    Ok(settings)
}

/// Returns the price of a model by the built-in list.
pub(super) fn known_price(chosen: &ProviderChoice, model: &str) -> Option<Price> {
    let listed = config::list_price(&chosen.name, chosen.base_url.as_deref(), model);
    listed.map(|(price, _)| price)
}

/// Rejects options of requests that the provider or the model does not have.
fn check_options(settings: &Settings, chosen: &ProviderChoice) -> Result<(), Failure> {
    let check = |change: &dyn Fn(&mut Settings)| {
        chosen.port.check_settings(&settings.clone().with(|it| change(it)))
    };
    let plain = |it: &mut Settings| {
        it.effort = None;
        it.temperature = None;
        it.options.web_search = None;
    };
    // What fails without them as well shows when it is asked for.
    if check(&plain).is_err() {
        return Ok(());
    }
    let alone = |flag: &str, keep: &dyn Fn(&mut Settings)| {
        let only = |it: &mut Settings| {
            plain(it);
            keep(it);
        };
        check(&only).map_err(|error| Failure::usage(format!("{flag}: {}", error.context)))
    };
    let (effort, search) = (&settings.effort, &settings.options.web_search);
    alone("--web-search", &|it| it.options.web_search.clone_from(search))?;
    alone("--effort", &|it| it.effort.clone_from(effort))?;
    // Last, since a model may take it only without an effort.
    check(&|_| {}).map_err(|error| Failure::usage(format!("--temperature: {}", error.context)))
}

/// Returns the tools that suit a model, with those for edits that a command names.
pub(super) fn model_tools(
    named: Option<EditTools>,
    chosen: &ProviderChoice,
    model: &str,
) -> ModelTools {
    let known = chosen.port.model(model);
    let trained = if known.patches { EditTools::Patch } else { EditTools::Text };
    ModelTools { edits: named.unwrap_or(trained), images: known.images }
}

/// Returns the calls that the command permits at most, whatever the log of a session says. It has
/// these permissions unless it names others.
pub(crate) fn permitted_calls(
    shape: &SettingsArgs,
    offered: &AvailableExtensions,
    permissions: Permissions,
) -> Result<Ceiling, Failure> {
    let mut said = Vec::new();
    rules::add(&mut said, shape, &offered.tools)?;
    add_rules(&mut said, &offered.rules);
    Ok(Ceiling {
        mode: shape.mode.unwrap_or(MODE),
        permissions: shape.permissions.unwrap_or(permissions),
        rules: said,
        hooks: offered.hooks.clone(),
        effects: offered.tools.iter().map(|tool| (tool.name.clone(), tool.effect)).collect(),
        hold_recovered: false,
    })
}

/// Adds the rules that are not there yet.
fn add_rules(rules: &mut Vec<Rule>, more: &[Rule]) {
    for rule in more {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
}

/// Warns of an unknown window if the server cuts what exceeds it without a word.
fn warn_of_window(settings: &Settings, chosen: &ProviderChoice) {
    if let Some(words) = chosen.window_warning.filter(|_| settings.window.tokens == 0) {
        print_notice(&format!("warning: {words}"));
    }
}

/// Returns the settings of an existing session with the current tools and hooks of the adapters.
pub(super) fn current_settings(
    recorded: &Settings,
    base_url: Option<String>,
    offered: AvailableExtensions,
) -> Settings {
    let mut settings = recorded.clone().with(|it| {
        it.tools = offered.tools;
        it.hooks = offered.hooks;
        it.redaction = offered.redaction;
        it.base_url = base_url;
        // A rule that allows widens the session, which a file alone does not.
        let narrowing = offered.rules.into_iter().filter(|rule| rule.verdict != RuleVerdict::Allow);
        add_rules(&mut it.rules, &narrowing.collect::<Vec<_>>());
    });
    settings.options.offered = OfferedTools::Allowed;
    programs::runtimes().write_guide(&mut settings);
    settings
}

/// Returns true if the command explicitly states permissions or limits of turns: then it may allow
/// more than the session did. Changes through a file alone are checked first.
pub(crate) fn widening(shape: &SettingsArgs) -> Widening {
    match says_what_calls_may_do(shape) || says_what_turns_may_take(shape) {
        true => Widening::Allowed,
        false => Widening::Forbidden,
    }
}

fn says_what_calls_may_do(shape: &SettingsArgs) -> bool {
    let rules = [&shape.allow, &shape.ask, &shape.deny];
    shape.mode.is_some()
        || shape.permissions.is_some()
        || shape.tools.is_some()
        || shape.hooks.is_some()
        || shape.no_rules
        || rules.iter().any(|rules| !rules.is_empty())
}

fn says_what_turns_may_take(shape: &SettingsArgs) -> bool {
    shape.max_samples.is_some()
        || shape.max_tokens.is_some()
        || shape.max_cost.is_some()
        || shape.max_session_bytes.is_some()
        || shape.reask_after.is_some()
        || shape.program_limits.any()
        || shape.timeouts.any()
        || shape.deadline.is_some()
        || shape.price.is_some()
        || shape.window.is_some()
        || shape.compaction.is_some()
}

fn with(mut settings: Settings, shape: &SettingsArgs) -> Result<Settings, Failure> {
    if let Some(model) = &shape.model {
        settings.model.clone_from(model);
    }
    settings.mode = shape.mode.unwrap_or(settings.mode);
    settings.permissions = shape.permissions.unwrap_or(settings.permissions);
    rules::add(&mut settings.rules, shape, &settings.tools)?;
    if let Some(tokens) = shape.window {
        settings.window.tokens = tokens;
    }
    settings.window.strategy = shape.compaction.unwrap_or(settings.window.strategy);
    settings.price = shape.price.or(settings.price);
    settings.max_output_tokens = shape.max_output_tokens.or(settings.max_output_tokens);
    if let Some(effort) = &shape.effort {
        settings.effort = Some(effort.clone()).filter(|effort| effort != DEFAULT);
    }
    if let Some(temperature) = &shape.temperature {
        settings.temperature = temperature.parse().ok();
    }
    if let Some(text) = &shape.instructions {
        instructions::set(&mut settings.instructions, text)?;
    }
    output_schema::set(&mut settings.options.output_schema, shape)?;
    programs::set(&mut settings.options.program, shape)?;
    shape.web_search.set(&mut settings.options.web_search).map_err(Failure::usage)?;
    limits(&mut settings.limits, shape);
    if settings.limits.cost_micros > 0 && settings.price.is_none() {
        return Err(Failure::usage(
            "--max-cost needs prices: give them with --price IN,CACHED,OUT, for a million tokens \
             each",
        ));
    }
    Ok(settings)
}

fn limits(limits: &mut Limits, shape: &SettingsArgs) {
    if let Some(samples) = shape.max_samples {
        limits.samples = samples;
    }
    if let Some(deadline) = shape.deadline {
        limits.turn_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
    }
    if let Some(tokens) = shape.max_tokens {
        limits.tokens = tokens;
    }
    if let Some(micros) = shape.max_cost {
        limits.cost_micros = micros;
    }
    if let Some(bytes) = shape.max_session_bytes {
        limits.session_bytes = bytes;
    }
    if let Some(time) = shape.reask_after {
        limits.reask_after_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    }
    shape.timeouts.apply(limits);
}

/// Returns the limits of a process whose command or configuration names these.
pub(crate) fn ceiling(named: &Limits) -> Limits {
    let default = Limits::default();
    default.with(|it| {
        it.samples = named.samples.max(default.samples);
        it.session_bytes = named.session_bytes;
        it.reask_after_ms = named.reask_after_ms;
        it.retry_after_ms = named.retry_after_ms;
        it.connect_ms = named.connect_ms.max(default.connect_ms);
        it.first_byte_ms = named.first_byte_ms.max(default.first_byte_ms);
        it.idle_ms = named.idle_ms.max(default.idle_ms);
        it.sample_ms = named.sample_ms.max(default.sample_ms);
    })
}

/// Returns the command's model, else the provider's default one.
fn model(shape: &SettingsArgs, chosen: &ProviderChoice) -> Result<String, Failure> {
    let named = shape.model.as_ref().or(chosen.model.as_ref());
    named.cloned().ok_or_else(|| no_model(chosen, &[]))
}
