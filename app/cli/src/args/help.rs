//! Help of the commands that have many flags: groups of flags, one letter for the most used ones, and
//! the few that short help shows. The flags themselves are beside their meaning.

use clap::{Arg, Command};

/// Number of flags from which on a command's help has groups.
const MANY: usize = 20;

/// Groups of flags, in the order of the help, by the ids of their arguments.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Input",
        &[
            "session",
            "continues",
            "last",
            "resume",
            "retry",
            "image",
            "goal",
            "goal_turns",
            "no_goal",
            "no_agents",
            "dry_run",
        ],
    ),
    (
        "Model",
        &[
            "model",
            "provider",
            "effort",
            "temperature",
            "instructions",
            "base_url",
            "providers",
            "config_profile",
            "window",
            "compaction",
            "web_search",
            "web_search_max",
            "web_search_allow",
            "web_search_block",
            "no_web_search",
        ],
    ),
    (
        "Permissions",
        &[
            "permissions",
            "mode",
            "profile",
            "allow",
            "ask",
            "deny",
            "no_rules",
            "escalation",
            "reask_after",
            "recover",
        ],
    ),
    ("Tools", &["tools", "hooks", "edit_tool", "processes", "process_output", "process_life"]),
    (
        "Limits",
        &[
            "deadline",
            "max_cost",
            "price",
            "max_tokens",
            "max_output_tokens",
            "max_samples",
            "max_session_bytes",
            "most_sessions",
            "connect_timeout",
            "header_timeout",
            "first_event_timeout",
            "idle_timeout",
            "sample_timeout",
            "max_retry_after",
        ],
    ),
    (
        "Output",
        &[
            "json",
            "plain",
            "answer_schema",
            "answer_signature",
            "answer_retries",
            "no_answer_schema",
            "record",
            "replay",
            "hide",
        ],
    ),
    (
        "Programs",
        &[
            "program",
            "no_program",
            "program_transport",
            "program_data",
            "program_steps",
            "program_time",
            "program_memory",
            "program_depth",
            "program_rounds",
            "program_source",
            "program_calls",
            "program_kept",
            "program_prints",
            "program_result",
            "programs_at_once",
            "program_idle",
        ],
    ),
    ("Server", &["server", "listen", "config", "token_file", "new_token", "live"]),
    ("Store", &["workspace", "store", "encrypt_key"]),
];

/// Letters of the most used flags, by the ids of their arguments. `-c` is beside its flag.
const LETTERS: &[(&str, char)] = &[
    ("model", 'm'),
    ("provider", 'p'),
    ("effort", 'e'),
    ("session", 's'),
    ("image", 'i'),
    ("goal", 'g'),
    ("allow", 'a'),
    ("json", 'j'),
    ("workspace", 'C'),
];

/// Flags that short help shows, by the ids of their arguments.
const SHORT: &[&str] = &[
    "session",
    "continues",
    "last",
    "resume",
    "retry",
    "image",
    "goal",
    "model",
    "provider",
    "effort",
    "instructions",
    "permissions",
    "profile",
    "allow",
    "deadline",
    "max_cost",
    "json",
    "plain",
    "server",
    "listen",
    "config",
    "workspace",
    "store",
];

/// Groups the flags of the commands that have many, and gives letters to the most used ones.
pub(super) fn with_groups(command: Command) -> Command {
    command.mut_subcommands(|command| {
        let has_many = command.get_arguments().count() > MANY;
        let letter = |arg: Arg| match LETTERS.iter().find(|(id, _)| arg.get_id() == *id) {
            Some((_, letter)) if !arg.is_positional() => arg.short(*letter),
            Some(_) | None => arg,
        };
        command.mut_args(|arg| {
            let arg = letter(arg);
            if arg.is_positional() || !has_many {
                return arg;
            }
            let id = arg.get_id().as_str();
            let is_short = SHORT.contains(&id);
            let place = GROUPS.iter().flat_map(|(_, ids)| *ids).position(|other| *other == id);
            let group = GROUPS.iter().find(|(_, ids)| ids.contains(&id)).map(|(name, _)| *name);
            arg.help_heading(group)
                .hide_short_help(!is_short)
                .display_order(place.unwrap_or(usize::MAX))
        })
    })
}
