//! Parts of a request around the conversation: before it the parts that are equal in every request
//! of a session, after it the parts that may differ.

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_core::{FailureKind, Retry, Settings, Temperature, ToolChoice, ToolSpec};
use windlass_kit_http::misconfigured;
use windlass_kit_http::request::{schema, write};
use windlass_ports::{ProviderError, SampleRequest};

use super::shape;
use crate::config::Caching;
use crate::model::{ModelTraits, Thinking};

/// The least budget of thinking that is accepted, in tokens.
const LEAST_BUDGET: u64 = 1_024;

#[derive(Serialize)]
struct RequestHead<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OfferedTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[SystemBlock<'a>; 1]>,
}

/// Up to here the request is to be kept for the next one.
#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OfferedTool<'a> {
    Own(ToolDefinition<'a>),
    Search(SearchTool<'a>),
}

/// The search, which the server runs itself.
#[derive(Serialize)]
struct SearchTool<'a> {
    r#type: &'static str,
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_uses: Option<u32>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    allowed_domains: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocked_domains: &'a [String],
}

#[derive(Serialize)]
struct ToolDefinition<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Default, Serialize)]
struct RequestTail<'a> {
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Temperature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "OutputConfig::is_empty")]
    output_config: OutputConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoiceConfig<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ThinkingConfig {
    Enabled {
        budget_tokens: u64,
    },
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        block_binding: Option<BlockBinding>,
    },
}

#[derive(Serialize)]
struct BlockBinding {
    prefix_mismatch_behavior: &'static str,
}

#[derive(Default, Serialize)]
struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat>,
}

impl OutputConfig {
    fn is_empty(&self) -> bool {
        self.effort.is_none() && self.format.is_none()
    }
}

#[derive(Serialize)]
struct OutputFormat {
    r#type: &'static str,
    schema: Box<RawValue>,
}

#[derive(Serialize)]
struct ToolChoiceConfig<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable_parallel_tool_use: bool,
}

/// Writes all of a body that comes before the conversation, up to the opening of its list.
pub(super) fn head(
    settings: &Settings,
    caching: Caching,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let mark = |here: bool| here.then_some(CacheControl { r#type: "ephemeral" });
    let marks = caching != Caching::Off;
    let last = settings.tools.len();
    let tool = |(number, tool): (usize, _)| {
        let tool: &ToolSpec = tool;
        Ok(OfferedTool::Own(ToolDefinition {
            name: &tool.name,
            description: &tool.description,
            input_schema: schema(tool)?,
            cache_control: mark(marks && number == last),
        }))
    };
    // Before the others, so that the mark of the cache stays on the last one.
    let search = settings.options.web_search.iter().map(|search| {
        Ok(OfferedTool::Search(SearchTool {
            r#type: "web_search_20250305",
            name: "web_search",
            max_uses: search.max_searches,
            allowed_domains: &search.allowed_domains,
            blocked_domains: &search.blocked_domains,
        }))
    });
    let own = (1..).zip(&settings.tools).map(tool);
    let instructions = settings.instructions.as_str();
    let head = RequestHead {
        model: &settings.model,
        stream: true,
        cache_control: mark(caching == Caching::Automatic),
        tools: search.chain(own).collect::<Result<_, ProviderError>>()?,
        system: (!instructions.trim().is_empty()).then(|| {
            [SystemBlock { r#type: "text", text: instructions, cache_control: mark(marks) }]
        }),
    };
    write(out, &head)?;
    // The list of messages is the last field that can grow.
    out.pop();
    out.extend_from_slice(br#","messages":["#);
    Ok(())
}

/// Writes what comes after the conversation, from behind the closing of its list on.
pub(super) fn tail(
    request: &SampleRequest,
    traits: &ModelTraits,
    drop_stale_thinking: bool,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let settings = &request.prompt.settings;
    let forced = match &request.choice {
        ToolChoice::Required | ToolChoice::Tool(_) => !settings.tools.is_empty(),
        ToolChoice::Auto | ToolChoice::None => false,
    };
    if forced && traits.binds {
        return Err(unsupported(
            settings,
            "it cannot be made to call a tool; leave the choice to it, or take another model",
        ));
    }
    let effort = effort(settings, traits)?;
    let mut tail = RequestTail {
        max_tokens: max_tokens(request, traits),
        temperature: temperature(settings, traits)?,
        tool_choice: choice(request),
        ..RequestTail::default()
    };
    match (traits.thinking, effort) {
        (Thinking::None, _) => {}
        // A model that is made to call a tool cannot think before.
        (Thinking::Budget, Some(effort)) if !forced => {
            let budget_tokens = budget(request, traits, effort)?;
            tail.thinking =
                budget_tokens.map(|budget_tokens| ThinkingConfig::Enabled { budget_tokens });
        }
        (Thinking::Budget, _) => {}
        (Thinking::Adaptive, effort) => {
            let display = settings.options.reasoning_summary.as_ref().map(|_| "summarized");
            let binds = traits.binds && drop_stale_thinking;
            if !forced && (effort.is_some() || display.is_some() || binds) {
                tail.thinking = Some(ThinkingConfig::Adaptive {
                    display,
                    block_binding: binds
                        .then_some(BlockBinding { prefix_mismatch_behavior: "drop_block" }),
                });
            }
            tail.output_config.effort = effort.map(Effort::word);
        }
    }
    tail.output_config.format = format(settings, traits);
    let from = out.len();
    write(out, &tail)?;
    // The object goes on where the list of messages has ended.
    match out.get_mut(from..) {
        Some([_, b'}']) => drop(out.drain(from..=from)),
        Some([first, ..]) => *first = b',',
        Some([]) | None => {}
    }
    Ok(())
}

fn max_tokens(request: &SampleRequest, traits: &ModelTraits) -> u64 {
    request.max_output_tokens(Some(traits.max_tokens)).unwrap_or(traits.max_tokens)
}

fn choice(request: &SampleRequest) -> Option<ToolChoiceConfig<'_>> {
    let settings = &request.prompt.settings;
    if settings.tools.is_empty() {
        return None;
    }
    let one = settings.options.parallel_calls == Some(false);
    let (r#type, name) = match &request.choice {
        ToolChoice::Auto if !one => return None,
        ToolChoice::Auto => ("auto", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::Tool(name) => ("tool", Some(name.as_str())),
    };
    Some(ToolChoiceConfig {
        r#type,
        name,
        disable_parallel_tool_use: one && request.choice != ToolChoice::None,
    })
}

/// Reasoning effort that the model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effort {
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The same as a budget, in tokens.
    fn budget(self) -> u64 {
        match self {
            Self::Low => 4_096,
            Self::Medium => 10_000,
            Self::High => 20_000,
            Self::XHigh | Self::Max => 28_000,
        }
    }
}

/// Accepts an effort and a temperature of the settings that the model takes.
pub(super) fn check(settings: &Settings, traits: &ModelTraits) -> Result<(), ProviderError> {
    effort(settings, traits)?;
    temperature(settings, traits).map(drop)
}

/// The temperature of the settings. This protocol takes at most 1, and a model that thinks takes
/// only 1.
fn temperature(
    settings: &Settings,
    traits: &ModelTraits,
) -> Result<Option<Temperature>, ProviderError> {
    let Some(asked) = settings.temperature else {
        return Ok(None);
    };
    let effort = effort(settings, traits)?.is_some();
    let thinks = match traits.thinking {
        Thinking::None => false,
        Thinking::Budget => effort,
        Thinking::Adaptive => {
            effort || traits.binds || settings.options.reasoning_summary.is_some()
        }
    };
    let why = match asked.thousandths() {
        1_000 => return Ok(Some(asked)),
        1_001.. => "it takes a temperature of 0 to 1",
        _ if thinks => "a model that thinks takes no temperature but 1: leave out one of the two",
        _ => return Ok(Some(asked)),
    };
    Err(unsupported(settings, why))
}

/// The effort of the settings; `None` where none is asked for.
fn effort(settings: &Settings, traits: &ModelTraits) -> Result<Option<Effort>, ProviderError> {
    let Some(word) = settings.effort.as_deref() else {
        return Ok(None);
    };
    let effort = match word.trim() {
        "none" => return Ok(None),
        // What others call their least effort.
        "minimal" | "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::XHigh,
        "max" => Effort::Max,
        _ => {
            let named: String = word.chars().take(40).collect();
            return Err(misconfigured(format!(
                "the effort {named:?} is not known to this provider: say none, low, medium, high, \
                 xhigh or max"
            )));
        }
    };
    if traits.thinking == Thinking::None {
        return Err(unsupported(
            settings,
            "it is not known to take an effort; leave the effort out, or say how its models \
             think by `thinking` in the configuration of the provider",
        ));
    }
    Ok(Some(effort))
}

/// The budget of an effort, which must leave room for an answer. `None` where the turn's budget
/// leaves too few tokens for it.
fn budget(
    request: &SampleRequest,
    traits: &ModelTraits,
    effort: Effort,
) -> Result<Option<u64>, ProviderError> {
    let settings = &request.prompt.settings;
    let leaves = |all: u64| all.saturating_sub(all / 4);
    let most = leaves(max_tokens(request, traits));
    if most < LEAST_BUDGET
        && leaves(settings.max_output_tokens.unwrap_or(traits.max_tokens)) >= LEAST_BUDGET
    {
        return Ok(None);
    }
    if most < LEAST_BUDGET {
        return Err(misconfigured(format!(
            "with an effort {} needs at least {} output tokens: raise max_output_tokens, or leave \
             the effort out",
            settings.model,
            LEAST_BUDGET * 4 / 3 + 1
        )));
    }
    Ok(Some(effort.budget().min(most)))
}

/// The shape that the provider is to hold an answer to: only where it is asked for, where the
/// model can, and where the schema says nothing that it refuses. The answer is checked in any
/// case, so all else is left to the instructions.
fn format(settings: &Settings, traits: &ModelTraits) -> Option<OutputFormat> {
    let shape = settings.options.output_schema.as_ref()?;
    let holds = shape.strict && traits.shapes && shape::can_hold(&shape.schema);
    let schema = RawValue::from_string(shape.schema.trim().to_owned()).ok()?;
    holds.then_some(OutputFormat { r#type: "json_schema", schema })
}

fn unsupported(settings: &Settings, why: &str) -> ProviderError {
    let context = format!("asking {} of anthropic: {why}", settings.model);
    ProviderError::new(FailureKind::Unsupported, Retry::Never, context)
}
