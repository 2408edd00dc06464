//! The file's keys are the flags of a turn, and each problem is reported with its position.

use std::path::Path;

use clap::{Args as _, Command, FromArgMatches as _};
use windlass_engine::core::Settings;
use windlass_terminal::{Key, KeyCode};

use super::keys::{Keys, NO_KEYS, OF_MODEL, OF_PROCESS};
use super::terminal::{ACTIONS, TERMINAL_KEYS};
use super::*;
use crate::args::{ProgramSharingArgs, SettingsArgs};

const GUIDE: &str = include_str!("../../../../docs/config.md");

fn load(text: &str, profile: Option<&str>) -> Result<Config, String> {
    Config::parse(text, Path::new("/etc/w/config.toml"), profile)
}

fn problems(text: &str) -> Vec<String> {
    file::parse(text, Path::new("config.toml"), &Keys::new()).1
}

/// Applies a file to a command with these flags.
fn applied(text: &str, profile: Option<&str>, flags: &[&str]) -> SettingsArgs {
    let command = ProgramSharingArgs::augment_args(SettingsArgs::augment_args(Command::new("x")));
    let words = std::iter::once("x").chain(flags.iter().copied());
    let given = command.get_matches_from(words);
    let mut shape = SettingsArgs::from_arg_matches(&given).unwrap();
    let config = load(text, profile).unwrap();
    apply(&config, &given, &mut shape, &mut ProgramSharingArgs::default()).unwrap();
    shape
}

#[test]
fn each_flag_of_a_turn_is_a_key_and_the_guide_names_it() {
    let keys = Keys::new();
    for arg in SettingsArgs::augment_args(Command::new("x")).get_arguments() {
        let name = arg.get_long().unwrap();
        let key = keys.find(name);
        assert_eq!(key.is_some(), !NO_KEYS.contains(&name), "{name}");
    }
    for name in OF_PROCESS.iter().chain(&OF_MODEL) {
        assert!(keys.find(name).is_some(), "{name}");
    }
    for key in keys.all() {
        let row = format!("| `{}` |", key.written());
        assert!(GUIDE.contains(&row), "docs/config.md has no row {row}");
    }
    for key in TERMINAL_KEYS {
        assert!(GUIDE.contains(&format!("| `{key}` |")), "{key}");
    }
}

#[test]
fn the_file_of_the_guide_is_one() {
    let (_, text) = GUIDE.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    assert_eq!(problems(text), Vec::<String>::new());
    let config = load(text, Some("careful")).unwrap();
    assert_eq!(config.terminal().theme, Theme::Dark);
}

#[test]
fn a_flag_precedes_the_model_the_profile_and_the_file() {
    let text = r#"
        model = "m-1"
        provider = "anthropic"
        max-samples = 5
        max_tokens = 70
        deny = ["shell"]
        price = [1, 0.5, 2]

        [profiles.fast]
        max_samples = 6
        deny = ["fetch"]

        [models."m-2"]
        provider = "gemini"
        window = 9000
    "#;
    let of_file = applied(text, None, &[]).for_session(None);
    assert_eq!((of_file.max_samples, of_file.max_tokens), (Some(5), Some(70)));
    assert_eq!((of_file.provider.as_deref(), of_file.window), (Some("anthropic"), None));
    assert_eq!(of_file.price.unwrap().cached_input_micros, 500_000);
    let flags = ["--model", "m-2", "--max-tokens", "80", "--deny", "grep"];
    let all = applied(text, Some("fast"), &flags).for_session(None);
    assert_eq!((all.max_samples, all.max_tokens), (Some(6), Some(80)));
    assert_eq!((all.provider.as_deref(), all.window), (Some("gemini"), Some(9_000)));
    assert_eq!(all.deny.len(), 3, "rules add up");
    let none = applied(text, None, &["--no-rules"]);
    assert!(none.for_session(None).deny.is_empty() && none.usual.rules().is_empty());
}

#[test]
fn an_existing_session_takes_what_is_of_the_process_alone() {
    let text = "model = \"m\"\nsandbox = \"read-only\"\ntools = \"t.json\"\nmax_samples = 3\n\
                base_url = \"http://gateway/v1\"\ninstructions = \"@i.md\"\n\
                max_answer_tokens = 99\n";
    let shape = applied(text, None, &[]);
    let recorded =
        |url: &str| Settings::new("openai", "m").with(|it| it.base_url = Some(url.to_owned()));
    let existing = shape.for_session(Some(&recorded("http://other/v1")));
    assert_eq!((existing.model, existing.max_samples, existing.base_url), (None, None, None));
    assert_eq!(existing.sandbox.profile.as_deref(), Some("read-only"));
    assert_eq!(existing.tools.as_deref(), Some(Path::new("/etc/w/t.json")));
    let own = shape.for_session(Some(&recorded("http://gateway/v1")));
    assert_eq!(own.base_url.as_deref(), Some("http://gateway/v1"));
    let new = shape.for_session(None);
    assert_eq!(new.instructions.as_deref(), Some("@/etc/w/i.md"));
    assert_eq!(new.max_output_tokens, Some(99), "by its earlier name");
    // The flags alone stay as they were given.
    assert_eq!((shape.sandbox.profile, shape.tools), (None, None));
}

#[test]
fn a_flag_that_excludes_a_key_turns_it_off() {
    let text = "program = \"javascript\"\nweb_search = true\nweb_search_max = 2\n";
    let on = applied(text, None, &[]).for_session(None);
    assert!(on.web_search.web_search && on.program.is_some());
    let off = applied(text, None, &["--no-program", "--no-web-search"]).for_session(None);
    assert!(off.no_program && off.program.is_none());
    assert!(!off.web_search.web_search && off.web_search.web_search_max.is_none());
}

#[test]
fn each_problem_has_its_position_and_the_nearest_name() {
    for (text, expected) in [
        ("\n\nmodle = \"m\"\n", "config.toml:3:1: unknown key `modle`; did you mean `model`?"),
        (
            "  max_sample = 1\n",
            "config.toml:1:3: unknown key `max_sample`; did you mean `max_samples`?",
        ),
        ("terminl = 1\n", "unknown key `terminl`; did you mean `terminal`?"),
        (
            "[keys]\nA_KEY = \"sk-1\"\n",
            "config.toml:2:9: `A_KEY` is neither \"keyring\" nor \"command:LINE\"",
        ),
        ("zzzzzzzz = 1\n", "config.toml:1:1: unknown key `zzzzzzzz`"),
        ("max_samples = \"3\"\n", "`max_samples` is of type string, and a number is expected"),
        ("model = true\n", "config.toml:1:9: `model` is of type boolean, and a text in quotes"),
        ("web_search = 1\n", "true or false is expected"),
        ("allow = \"shell\"\n", "a list of texts"),
        (
            "deadline = \"soon\"\n",
            "config.toml:1:12: invalid `deadline`: not a duration such as 90s",
        ),
        ("escalation = \"x\"\n", "invalid `escalation`: use one of ask, never"),
        ("max_samples = 0\n", "invalid `max_samples`"),
        (
            "max_samples = 1\nmax-samples = 1\n",
            "config.toml:2:1: the key `max-samples` is there twice",
        ),
        ("model = m\n", "config.toml:1:9: "),
        ("no_rules = true\n", "unknown key `no_rules`"),
        ("workspace = \"/\"\n", "unknown key `workspace`"),
        ("profile = \"fst\"\n[profiles.fast]\n", "unknown profile `fst`; did you mean `fast`?"),
        ("[models.m]\nmode = \"plan\"\n", "config.toml:2:1: unknown key `mode`"),
        ("[profiles.a.b]\n", "unknown key `b`"),
        ("models = 1\n", "`models` is of type integer, and a table is expected"),
        (
            "[terminal]\nthem = \"dark\"\n",
            "config.toml:2:1: unknown key `them`; did you mean `theme`?",
        ),
        ("[terminal]\nstatus = [\"cots\"]\n", "a list of model, mode"),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].contains(expected), "{text}: {found:?}");
    }
    let several = load("a1 = 1\na2 = 1\n", None).unwrap_err();
    assert!(several.contains("(and 1 more: windlass config check)"), "{several}");
    let secret = problems("model = \"m\" sk-s3cret\n");
    assert!(!secret[0].contains("s3cret"), "{secret:?}");
}

#[test]
fn a_key_is_printed_by_a_command_or_the_reason_is_told() {
    let text = "[keys]\nA = \"command:echo sk-1\"\nB = \"command:echo no >&2; exit 3\"\n";
    let config = load(text, None).unwrap();
    let read = |name: &str| config.key_places()[name].read(name);
    assert_eq!(read("A").unwrap(), "sk-1");
    let why = read("B").unwrap_err();
    assert!(why.contains("no key for B") && why.ends_with("no"), "{why}");
}

#[test]
fn the_look_of_the_terminal_is_read_whole() {
    let text = "[terminal]\ntheme = \"light\"\nvim = true\nnotify = false\nstatus = [\"cost\"]\n";
    let config = load(text, None).unwrap();
    let terminal = config.terminal();
    assert_eq!((terminal.theme, terminal.vim), (Theme::Light, true));
    assert_eq!((terminal.notify, terminal.status.len()), (false, 1));
    assert_eq!(load("", None).unwrap().terminal().status.len(), 7);
}

#[test]
fn a_key_of_the_file_does_what_the_key_of_its_action_does() {
    let text =
        "[terminal.keys]\ntranscript = \"ctrl+o\"\nnewline = \"enter\"\nsend = \"alt+enter\"\n";
    let config = load(text, None).unwrap();
    let meant = |name: &str| config.terminal().translate(name.parse().unwrap());
    assert_eq!(meant("ctrl+o"), Key::ctrl('t'));
    assert_eq!(meant("ctrl+t"), Key::ctrl('t'), "its own key stays");
    assert_eq!(meant("enter"), Key::shift(KeyCode::Enter));
    assert_eq!(meant("alt+enter"), Key::plain(KeyCode::Enter));
    assert_eq!(meant("x"), Key::char('x'));
    for (line, why) in [
        ("transcripts = \"ctrl+o\"", "did you mean `transcript`?"),
        ("send = \"x\"", "types a character"),
        ("send = \"hyper+x\"", "names no key"),
        ("send = 1", "names no key"),
    ] {
        let found = problems(&format!("[terminal.keys]\n{line}\n"));
        assert!(found.len() == 1 && found[0].contains(why), "{line}: {found:?}");
        assert!(found[0].starts_with("config.toml:2:"), "{found:?}");
    }
    for (action, _) in ACTIONS {
        assert!(GUIDE.contains(&format!("`{action}`")), "{action}");
    }
}
