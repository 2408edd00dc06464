//! What each server takes, as data: its protocol, and how it differs from the protocol's owner.

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

/// The ids of calls that a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIds {
    /// Up to so many characters, of any kind.
    UpTo(usize),
    /// Up to so many of `a-z A-Z 0-9 _ -`.
    Plain(usize),
    /// Exactly so many of `a-z A-Z 0-9`.
    Exactly(usize),
}

/// What a server refuses, or asks for, that its protocol does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// It knows no role `developer`.
    NoDeveloper,
    /// It takes words only.
    NoImages,
    /// Messages have no `name`.
    NoNames,
    /// Messages of the system stand before all others.
    SystemFirst,
    /// After the results of calls the model speaks, not the user.
    ModelAfterResults,
    /// The last message is the user's, or a result.
    EndsWithUser,
    /// A message of the model has a `content`, if only null.
    ContentAlways,
    /// Where a model thinks, its calls come back with the thought in this field, if only empty.
    ThoughtReturns(&'static str),
    /// The calls since the last words of the user come back signed, where the model is one of
    /// those whose name holds this.
    CallsSigned(&'static str),
    /// It takes no `json_schema` as the format of an answer.
    NoAnswerSchema,
    /// A tool cannot be chosen by its name.
    NoChoiceByName,
    /// Reasoning goes back as it can be read, too.
    PlainReasoning,
}

/// What a server takes.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// Its name in faults.
    pub name: &'static str,
    /// Its protocol.
    pub grammar: Grammar,
    /// Fields that it takes beyond those of the protocol.
    pub also: &'static [&'static str],
    /// Fields of the protocol that it refuses, or does not heed: who sends one is not served.
    pub without: &'static [&'static str],
    /// Fields of a message of the model beyond those of the protocol.
    pub said: &'static [&'static str],
    /// Fields of a call beyond those of the protocol.
    pub called: &'static [&'static str],
    /// The ids of calls.
    pub call_ids: CallIds,
    /// The words for the choice of tools.
    pub choices: &'static [&'static str],
    /// The efforts; none here means any word.
    pub efforts: &'static [&'static str],
    /// Its own rules.
    pub rules: &'static [Rule],
}

impl Profile {
    /// Returns true if it has a rule.
    #[must_use]
    pub fn has(&self, rule: Rule) -> bool {
        self.rules.contains(&rule)
    }
}

/// All profiles of this kit.
pub const PROFILES: &[&Profile] = &[
    &CHAT,
    &OPENAI_CHAT,
    &OPENAI_RESPONSES,
    &ANTHROPIC,
    &AZURE,
    &MISTRAL,
    &DEEPSEEK,
    &GROQ,
    &GEMINI,
    &OLLAMA,
    &VLLM,
    &LLAMA_CPP,
    &LM_STUDIO,
    &OPENROUTER,
];

const CHOICES: &[&str] = &["none", "auto", "required"];
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];

/// Chat Completions at a server of which nothing else is known. The ids of calls are as short as
/// the strictest of OpenAI's models want them.
pub const CHAT: Profile =
    Profile { name: "Chat Completions", without: &[], efforts: &[], ..OPENAI_CHAT };

/// OpenAI Chat Completions. It refuses `max_tokens` for models that reason; `max_completion_tokens`
/// is taken for all. Ids of calls are held to 40 characters, by some of its models to 64.
pub const OPENAI_CHAT: Profile = Profile {
    name: "OpenAI Chat Completions",
    grammar: Grammar::Chat,
    also: &[],
    without: &["max_tokens"],
    said: &[],
    called: &[],
    call_ids: CallIds::UpTo(40),
    choices: CHOICES,
    efforts: EFFORTS,
    rules: &[],
};

/// OpenAI Responses.
pub const OPENAI_RESPONSES: Profile = Profile {
    name: "OpenAI Responses",
    grammar: Grammar::Responses,
    call_ids: CallIds::UpTo(64),
    without: &[],
    ..OPENAI_CHAT
};

/// Anthropic Messages.
pub const ANTHROPIC: Profile = Profile {
    name: "Anthropic Messages",
    grammar: Grammar::Messages,
    without: &[],
    call_ids: CallIds::Plain(64),
    choices: &["auto", "any", "tool", "none"],
    efforts: &["low", "medium", "high", "xhigh", "max"],
    ..OPENAI_CHAT
};

/// OpenAI's models at Azure, by Chat Completions.
pub const AZURE: Profile = Profile {
    name: "Azure OpenAI",
    also: &["data_sources", "user_security_context"],
    ..OPENAI_CHAT
};

/// What compatible servers do not heed, mostly: storage, caches and tiers that are OpenAI's own.
const OPENAIS_OWN: &[&str] = &[
    "audio",
    "max_completion_tokens",
    "metadata",
    "modalities",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "verbosity",
    "web_search_options",
];

/// Mistral: refuses every field that it does not know, takes nine letters and digits for an id,
/// and holds the roles to an order (its errors 3230 and 3280).
pub const MISTRAL: Profile = Profile {
    name: "Mistral",
    also: &["random_seed", "safe_prompt", "prompt_mode", "guardrails"],
    without: &[
        "audio",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "modalities",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "seed",
        "service_tier",
        "store",
        "top_logprobs",
        "user",
        "verbosity",
        "web_search_options",
    ],
    said: &["prefix"],
    call_ids: CallIds::Exactly(9),
    choices: &["none", "auto", "any", "required"],
    efforts: &[],
    rules: &[
        Rule::NoDeveloper,
        Rule::NoNames,
        Rule::SystemFirst,
        Rule::ModelAfterResults,
        Rule::EndsWithUser,
    ],
    ..OPENAI_CHAT
};

/// `DeepSeek`: reads strictly what stands in a message, and asks for the thought back with the
/// calls of a model that thinks.
pub const DEEPSEEK: Profile = Profile {
    name: "DeepSeek",
    also: &["thinking", "user_id"],
    without: OPENAIS_OWN,
    said: &["reasoning_content", "prefix"],
    efforts: &[],
    rules: &[
        Rule::NoDeveloper,
        Rule::NoImages,
        Rule::ContentAlways,
        Rule::NoAnswerSchema,
        Rule::ThoughtReturns("reasoning_content"),
    ],
    ..OPENAI_CHAT
};

/// Groq: refuses every field of a message that it does not know.
pub const GROQ: Profile = Profile {
    name: "Groq",
    also: &["include_reasoning", "reasoning_format"],
    without: &[
        "audio",
        "logit_bias",
        "logprobs",
        "modalities",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "top_logprobs",
        "verbosity",
        "web_search_options",
    ],
    said: &["reasoning"],
    efforts: &[],
    rules: &[Rule::NoNames],
    ..OPENAI_CHAT
};

/// Gemini, by the protocol of OpenAI: refuses fields that it does not know, and asks for the
/// signature of calls back, on the call itself.
pub const GEMINI: Profile = Profile {
    name: "Gemini",
    also: &["extra_body", "cached_content"],
    without: &[
        "audio",
        "logit_bias",
        "metadata",
        "modalities",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "verbosity",
        "web_search_options",
    ],
    said: &["extra_content"],
    called: &["extra_content"],
    efforts: &[],
    rules: &[Rule::CallsSigned("gemini-3")],
    ..OPENAI_CHAT
};

/// Ollama, by the protocol of OpenAI: heeds the fields of a short list.
pub const OLLAMA: Profile = Profile {
    name: "Ollama",
    also: &["reasoning"],
    without: &[
        "audio",
        "logit_bias",
        "max_completion_tokens",
        "metadata",
        "modalities",
        "n",
        "parallel_tool_calls",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "user",
        "verbosity",
        "web_search_options",
    ],
    said: &["reasoning", "reasoning_content"],
    efforts: &[],
    ..OPENAI_CHAT
};

/// vLLM.
pub const VLLM: Profile = Profile {
    name: "vLLM",
    also: &["chat_template_kwargs", "min_p", "repetition_penalty", "top_k"],
    without: &[
        "audio",
        "metadata",
        "modalities",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "verbosity",
        "web_search_options",
    ],
    said: &["reasoning", "reasoning_content"],
    efforts: &[],
    ..OPENAI_CHAT
};

/// llama.cpp's server, with the templates that its users have most trouble with: those of Qwen and
/// Mistral refuse a system message that is not the first.
pub const LLAMA_CPP: Profile = Profile {
    name: "llama.cpp",
    also: &["cache_prompt", "chat_template_kwargs", "min_p", "reasoning_format", "top_k"],
    without: &[
        "audio",
        "metadata",
        "modalities",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "verbosity",
        "web_search_options",
    ],
    said: &["reasoning_content"],
    efforts: &[],
    rules: &[Rule::NoDeveloper, Rule::SystemFirst, Rule::NoChoiceByName],
    ..OPENAI_CHAT
};

/// LM Studio: refuses the choice of a tool by its name, and has the templates of llama.cpp.
pub const LM_STUDIO: Profile =
    Profile { name: "LM Studio", also: &["min_p", "repeat_penalty", "top_k"], ..LLAMA_CPP };

/// `OpenRouter`: the protocol of OpenAI with fields of its own; the servers behind it are held to
/// the shortest ids among them.
pub const OPENROUTER: Profile = Profile {
    name: "OpenRouter",
    also: &[
        "include_reasoning",
        "min_p",
        "models",
        "plugins",
        "provider",
        "reasoning",
        "repetition_penalty",
        "route",
        "top_a",
        "top_k",
        "transforms",
        "usage",
    ],
    without: &[],
    said: &["reasoning", "reasoning_content", "reasoning_details"],
    efforts: &[],
    ..OPENAI_CHAT
};
