//! Flags that `run`, `resume` and `doctor` share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use windlass_engine::core::{
    CompactionStrategy, EditTools, Mode, Permissions, Price, ProgramTransport,
};

use super::parse::{
    CallPattern, age, amount, duration, edit_tools, mode, pattern, permissions, price, size,
    strategy, temperature, transport, words,
};
use super::sandbox::{EscalationMode, SandboxFlag};
use super::{ProcessLimitArgs, ProgramLimitArgs, TimeoutArgs, WebSearchArgs};
use crate::config::Usual;

/// Workspace and store of a command.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct LocationArgs {
    /// Folder that the tools work in [default: the current one].
    ///
    /// A session of another folder continues in this one only if it is named here.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Store of the logs [default: file:STATE/store in your state folder].
    ///
    /// The state folder is WINDLASS_HOME, else XDG_STATE_HOME/windlass, else ~/.local/state/windlass.
    /// One of file:PATH, sled:PATH, sqlite:PATH, postgres://HOST/DATABASE, nats://HOST/PLACE and memory:. Use the
    /// variable for a URL with a password.
    #[arg(long, value_name = "URL", env = "WINDLASS_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// Source of the master key that encrypts the store: env:NAME, file:PATH or command:LINE
    /// [default: the one in windlass/encryption.toml in your configuration folder, else none].
    ///
    /// For stores in a folder. The first open of a new store decides: an encrypted store needs its key, and a
    /// plain one takes none. With none, nothing is encrypted.
    #[arg(long, value_name = "SOURCE", env = "WINDLASS_ENCRYPT_KEY")]
    pub(crate) encrypt_key: Option<String>,
    /// Profile of your config.toml, whose defaults precede the others.
    #[arg(long = "profile", value_name = "NAME", env = "WINDLASS_PROFILE")]
    pub(crate) config_profile: Option<String>,
    /// Reason why the configuration is not used, for a command that works without it.
    #[arg(skip)]
    pub(crate) config_fault: Option<String>,
}

/// Settings of turns. A session keeps its settings until a flag changes them.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct SettingsArgs {
    /// Provider: openai, openai-chat, anthropic, demo, azure, bedrock, gemini, ollama, openrouter, or a
    /// name from the providers file.
    ///
    /// openai uses the Responses API, openai-chat Chat Completions, anthropic Messages, gemini its native
    /// API; demo is a script and needs no key. azure and bedrock use Responses, ollama and openrouter Chat Completions;
    /// azure-chat, bedrock-chat, bedrock-messages, ollama-messages and openrouter-messages use the other
    /// protocols there. The providers file names providers, chains and routes. The default is openai if
    /// OPENAI_API_KEY or OPENAI_BASE_URL is set, else anthropic if ANTHROPIC_API_KEY is set, else demo.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Providers file, in TOML [default: windlass/providers.toml in your configuration folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) providers: Option<PathBuf>,
    /// Base URL of the provider, for example http://127.0.0.1:8080/v1.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Name of the model.
    #[arg(long, value_name = "M", env = "WINDLASS_MODEL")]
    pub(crate) model: Option<String>,
    /// Reasoning effort, in a word of the provider: none, minimal, low, medium, high, xhigh or max.
    ///
    /// With default, the provider chooses again.
    #[arg(long, value_name = "LEVEL", value_parser = words)]
    pub(crate) effort: Option<String>,
    /// Sampling temperature, 0 to 2, where the provider and the model take one.
    ///
    /// With default, the provider chooses again.
    #[arg(long, value_name = "T", value_parser = temperature)]
    pub(crate) temperature: Option<String>,
    /// Add instructions for the model, or those of a file with @FILE.
    ///
    /// They take the place of those that an earlier command added; an empty text removes them.
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) instructions: Option<String>,
    /// Mode of the turns: build, or plan (only read-only tools run).
    #[arg(long, value_parser = mode)]
    pub(crate) mode: Option<Mode>,
    /// Permissions of tools: auto runs them, ask asks before effects, read-only forbids effects.
    ///
    /// The default of a new session is auto with a sandbox, and ask with --sandbox off.
    #[arg(long, value_parser = permissions, value_name = "auto|ask|read-only")]
    pub(crate) permissions: Option<Permissions>,
    /// Run matching calls without asking: `tool` or `tool(argument=pattern)`.
    ///
    /// `*` matches any characters. Can be repeated.
    #[arg(long, value_name = "RULE", value_parser = pattern)]
    pub(crate) allow: Vec<CallPattern>,
    /// Ask a person about matching calls, as in --allow.
    #[arg(long, value_name = "RULE", value_parser = pattern)]
    pub(crate) ask: Vec<CallPattern>,
    /// Deny matching calls, as in --allow. Deny beats ask, ask beats allow.
    #[arg(long, value_name = "RULE", value_parser = pattern)]
    pub(crate) deny: Vec<CallPattern>,
    /// Remove the session's rules before the given ones are added.
    #[arg(long)]
    pub(crate) no_rules: bool,
    /// Most samples (model calls) of a turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_samples: Option<u32>,
    /// Longest duration of a turn, for example 90s or 5m.
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) deadline: Option<Duration>,
    /// Most tokens of a turn, requests and answers together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Most tokens of an answer. With --max-tokens or --max-cost, at most what they leave.
    #[arg(long, alias = "max-answer-tokens", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(16..))]
    pub(crate) max_output_tokens: Option<u64>,
    /// Highest cost of a turn, in the currency of --price.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub(crate) max_cost: Option<u64>,
    /// Ask an expired question again if nothing happened for longer before, for example 12h
    /// [default: 1day].
    ///
    /// Nobody could answer, or the clock was set forward. With 0s its call is denied.
    #[arg(long, value_name = "DUR", value_parser = age)]
    pub(crate) reask_after: Option<Duration>,
    /// Most bytes of a session, with the outputs that it names, for example 512MiB [default: 1GiB].
    ///
    /// A session that has reached it takes no more input; a turn that reaches it ends.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_session_bytes: Option<u64>,
    /// Prices of a million tokens: of requests, of cached requests, of answers.
    #[arg(long, value_name = "IN,CACHED,OUT", value_parser = price)]
    pub(crate) price: Option<Price>,
    /// Context window of the model; the conversation is compacted before it exceeds it.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) window: Option<u64>,
    /// Way to compact the conversation [default: summary].
    ///
    /// summary replaces the oldest parts with a summary by the model, slide with a plain list, and
    /// clear drops old results of tools first.
    #[arg(long, value_name = "clear|slide|summary", value_parser = strategy)]
    pub(crate) compaction: Option<CompactionStrategy>,
    /// Tool that edits files [default: apply_patch for models that are trained on it, else edit_file].
    #[arg(long, value_name = "apply_patch|edit_file|both", value_parser = edit_tools)]
    pub(crate) edit_tool: Option<EditTools>,
    /// File with the JSON Schema that the answer must fit.
    ///
    /// The file's name is the schema's name. An answer that does not fit is not printed.
    #[arg(long, value_name = "FILE")]
    pub(crate) answer_schema: Option<PathBuf>,
    /// Type that the answer must fit, in PtcRunner's notation.
    ///
    /// For example '{total :float, names [:string]}'. Parameters before an arrow are ignored.
    #[arg(long, value_name = "SIGNATURE", conflicts_with = "answer_schema")]
    pub(crate) answer_signature: Option<String>,
    #[command(flatten)]
    pub(crate) process_limits: ProcessLimitArgs,
    /// Most retries after an answer that does not fit [default: 2].
    #[arg(long, value_name = "N")]
    pub(crate) answer_retries: Option<u32>,
    /// Remove the session's answer schema.
    #[arg(long, conflicts_with_all = ["answer_schema", "answer_signature", "answer_retries"])]
    pub(crate) no_answer_schema: bool,
    #[command(flatten)]
    pub(crate) web_search: WebSearchArgs,
    /// Have the model write programs that call the tools.
    #[arg(long, value_name = "ptclisp|javascript", value_parser = ["ptclisp", "javascript"])]
    pub(crate) program: Option<String>,
    /// Transport of programs: a call, or the text of the answer [default: call].
    #[arg(long, value_name = "call|text", value_parser = transport)]
    pub(crate) program_transport: Option<ProgramTransport>,
    /// File with the inputs of programs: one JSON object.
    #[arg(long, value_name = "FILE")]
    pub(crate) program_data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) program_limits: ProgramLimitArgs,
    #[command(flatten)]
    pub(crate) timeouts: TimeoutArgs,
    /// Have the model call the tools itself again.
    #[arg(long, conflicts_with_all = ["program", "program_transport", "program_data"])]
    pub(crate) no_program: bool,
    /// File of command tools [default: windlass/tools.json in your configuration folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// File of hooks [default: windlass/hooks.json in your configuration folder].
    ///
    /// The format is that of Claude Code's settings file.
    #[arg(long, value_name = "FILE")]
    pub(crate) hooks: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sandbox: SandboxFlag,
    /// Calls outside of the sandbox: ask lets the model request one, and a person decides each time.
    ///
    /// The default is ask at a terminal, and never without one and for a server.
    #[arg(long, value_name = "ask|never", value_enum, hide_possible_values = true)]
    pub(crate) escalation: Option<EscalationMode>,
    /// Print one envelope a line instead of the answer.
    ///
    /// The last line is always a TurnSettled.
    #[arg(long)]
    pub(crate) json: bool,
    /// These arguments with the user's defaults.
    #[arg(skip)]
    pub(crate) usual: Usual,
}

/// Recording and replaying of the traffic with the provider.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct RecordingArgs {
    /// Record the traffic with the provider into this cassette, without keys.
    ///
    /// `run` creates the file, `resume` appends to it.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Answer from this cassette; needs no key and no network.
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Remove the value of this environment variable from the recording.
    ///
    /// It is removed from requests before they are compared, too. Can be repeated.
    #[arg(long, value_name = "VAR")]
    pub(crate) hide: Vec<String>,
}

/// Prompt with its attachments.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct InputArgs {
    /// Goal of the session: turns continue until the model declares it met.
    ///
    /// It is also the prompt if none is given.
    #[arg(long, value_name = "TEXT", value_parser = words)]
    pub(crate) goal: Option<String>,
    /// Most turns that are opened for the goal.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "goal")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) goal_turns: u32,
    /// Attach an image to the prompt: PNG, JPEG, GIF or WebP. Can be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Remove the session's goal.
    #[arg(long, conflicts_with = "goal")]
    pub(crate) no_goal: bool,
    /// Leave AGENTS.md files out.
    #[arg(long)]
    pub(crate) no_agents: bool,
}
