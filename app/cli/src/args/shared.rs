//! Flags that `run`, `resume` and `doctor` share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use windlass_engine::core::{CompactionStrategy, Mode, Permissions, Price, ProgramTransport};

use super::parse::{
    CallPattern, amount, duration, mode, pattern, permissions, price, strategy, transport, words,
};

/// Workspace and store of a command.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct LocationArgs {
    /// The folder that the tools work in.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) workspace: PathBuf,
    /// Store of the logs: file:PATH, sled:PATH, postgres://HOST/DATABASE, nats://HOST/PLACE or
    /// memory: [default: file:.windlass in the workspace]. Use the variable for a URL with a
    /// password.
    #[arg(
        long,
        value_name = "URL",
        env = "WINDLASS_STORE",
        hide_env_values = true
    )]
    pub(crate) store: Option<String>,
}

/// Settings of turns. A session keeps those that it was opened with unless they are changed here.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct SettingsArgs {
    /// Provider: openai (Responses), openai-chat (Chat Completions), anthropic (Messages), demo (a
    /// script, which needs no key), or a provider, a chain or the routes of the providers file
    /// [default: openai when OPENAI_API_KEY or OPENAI_BASE_URL is set, else anthropic when
    /// ANTHROPIC_API_KEY is, else demo].
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// A file of providers, in TOML [default: windlass/providers.toml in your configuration
    /// folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) providers: Option<PathBuf>,
    /// The provider's endpoint, for example http://127.0.0.1:8080/v1.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Name of the model.
    #[arg(long, value_name = "M", env = "WINDLASS_MODEL")]
    pub(crate) model: Option<String>,
    /// Mode of the turns: build, or plan (only read-only tools run).
    #[arg(long, value_parser = mode)]
    pub(crate) mode: Option<Mode>,
    /// Permissions of tools: auto runs them, ask asks before effects, read-only forbids effects.
    #[arg(long, value_parser = permissions, value_name = "auto|ask|read-only")]
    pub(crate) permissions: Option<Permissions>,
    /// Calls that need no asking: `tool` or `tool(argument=pattern)`, where * stands for any
    /// characters. May be given again.
    #[arg(long, value_name = "RULE", value_parser = pattern)]
    pub(crate) allow: Vec<CallPattern>,
    /// Calls that a person is asked about, as in --allow.
    #[arg(long, value_name = "RULE", value_parser = pattern)]
    pub(crate) ask: Vec<CallPattern>,
    /// Calls that may not run, as in --allow. Deny beats ask, ask beats allow.
    #[arg(long, value_name = "RULE", value_parser = pattern)]
    pub(crate) deny: Vec<CallPattern>,
    /// Take back the rules that the session has, before those given here are added.
    #[arg(long)]
    pub(crate) no_rules: bool,
    /// The most samples (model calls) of a turn.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_samples: Option<u32>,
    /// The longest a turn may take, for example 90s or 5m.
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(crate) deadline: Option<Duration>,
    /// The most tokens of a turn, requests and answers together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// The most money of a turn, in the currency of --price.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub(crate) max_cost: Option<u64>,
    /// Price of a million tokens each: of requests, of cached requests, of answers.
    #[arg(long, value_name = "IN,CACHED,OUT", value_parser = price)]
    pub(crate) price: Option<Price>,
    /// The model's window in tokens: the conversation is compacted before it goes over.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) window: Option<u64>,
    /// Compaction: clear drops old results of tools, slide drops the oldest parts, summary replaces
    /// them with a summary by the model [default: clear].
    #[arg(long, value_name = "clear|slide|summary", value_parser = strategy)]
    pub(crate) compaction: Option<CompactionStrategy>,
    /// A file with the JSON Schema that the answer must fit; its name names the shape. An answer that
    /// does not fit is not printed.
    #[arg(long, value_name = "FILE")]
    pub(crate) answer_schema: Option<PathBuf>,
    /// The type that the answer must fit, in PtcRunner's notation, for example
    /// '{total :float, names [:string]}'; what stands before an arrow does not count.
    #[arg(long, value_name = "SIGNATURE", conflicts_with = "answer_schema")]
    pub(crate) answer_signature: Option<String>,
    /// Most retries after an answer that does not fit [default: 2].
    #[arg(long, value_name = "N")]
    pub(crate) answer_retries: Option<u32>,
    /// Take back the answer's shape that the session has.
    #[arg(long, conflicts_with_all = ["answer_schema", "answer_signature", "answer_retries"])]
    pub(crate) no_answer_schema: bool,
    /// Have the model write programs that call the tools: in PTC-Lisp, or in JavaScript.
    #[arg(long, value_name = "ptclisp|javascript", value_parser = ["ptclisp", "javascript"])]
    pub(crate) program: Option<String>,
    /// Transport of programs: a call, or the text of the answer [default: call].
    #[arg(long, value_name = "call|text", value_parser = transport)]
    pub(crate) program_transport: Option<ProgramTransport>,
    /// A file with the inputs of programs: one JSON object.
    #[arg(long, value_name = "FILE")]
    pub(crate) program_data: Option<PathBuf>,
    /// Have the model call the tools itself again.
    #[arg(long, conflicts_with_all = ["program", "program_transport", "program_data"])]
    pub(crate) no_program: bool,
    /// A file of command tools [default: windlass/tools.json in your configuration folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// A file of hooks, as Claude Code reads them [default: windlass/hooks.json in your
    /// configuration folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) hooks: Option<PathBuf>,
    /// Print one envelope a line instead of the answer; the last is always the TurnSettled.
    #[arg(long)]
    pub(crate) json: bool,
}

/// True if the traffic with the provider is recorded, or comes from a recording.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct RecordingArgs {
    /// Record the traffic with the provider into this cassette, without keys: run makes it anew,
    /// resume adds to it.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Answer from this cassette instead of asking the provider: needs no key and no network.
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Take the value of this environment variable out of what is recorded, and out of what is
    /// compared with it. May be given again.
    #[arg(long, value_name = "VAR")]
    pub(crate) hide: Vec<String>,
}

/// Prompt with its attachments.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct InputArgs {
    /// Goal of the session: turns continue until the model declares it met. Also the prompt, if
    /// none is given.
    #[arg(long, value_name = "TEXT", value_parser = words)]
    pub(crate) goal: Option<String>,
    /// The most turns that are opened for the goal.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "goal")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) goal_turns: u32,
    /// Show the model this image beside the prompt: PNG, JPEG, GIF or WebP. May be given again.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Take back the goal that the session has.
    #[arg(long, conflicts_with = "goal")]
    pub(crate) no_goal: bool,
    /// Tell the model nothing of AGENTS.md files.
    #[arg(long)]
    pub(crate) no_agents: bool,
}
