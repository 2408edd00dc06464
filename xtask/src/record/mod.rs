//! `cargo xtask record`: makes the README's recording of a conversation, an animated SVG.
//!
//! A script is typed into the built command in tmux. A frame is what the screen shows once it has come to
//! rest, so the same script gives the same file: times are replaced, and the pace is the script's.

mod screen;
mod svg;
mod tmux;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use screen::Screen;
use svg::Frame;
use tmux::Tmux;
use xtask::say::say;
use xtask::step::{cargo, root, step};

/// Steps of the recording.
const SCRIPT: &str = include_str!("script.txt");

/// Recording, from the root of the workspace.
const FILE: &str = "docs/terminal.svg";

/// Files of the workspace that is shown.
const FILES: [(&str, &str); 3] = [
    ("README.md", "# Tide tables\nHigh and low water for three harbours, by hand.\n"),
    ("harbours.csv", "harbour,high_m,low_m\nDover,6.7,0.8\nBrest,6.9,1.1\nLeith,5.6,0.7\n"),
    ("notes/next.txt", "Add Cherbourg.\nCheck the reading for Brest.\n"),
];

/// Name of the folder that is shown in place of the temporary one.
const FOLDER: &str = "~/tides";

/// Characters typed between two frames: three at once may be a paste.
const AT_ONCE: usize = 2;

/// Time of a frame while the person types.
const TYPING: Duration = Duration::from_millis(80);

/// Step of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Type(String),
    Press(String),
    Wait(String),
    Rest(Duration),
}

/// Makes the recording.
///
/// # Errors
/// When tmux is missing, the command does not build, or the screen does not become what the script waits for.
pub(crate) fn run() -> anyhow::Result<()> {
    let steps = parse(SCRIPT)?;
    let installed = Command::new("tmux").arg("-V").output().is_ok();
    anyhow::ensure!(installed, "tmux is not installed: the recording is made in it");
    step("build", cargo().args(["build", "--package", "windlass-cli"]))?;
    let folder = tempfile::tempdir().context("making a folder to show")?;
    for (name, text) in FILES {
        let path = folder.path().join("tides").join(name);
        fs::create_dir_all(path.parent().context("a file without a folder")?)?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    let frames = play(&steps, folder.path())?;
    let image = svg::draw(&frames)?;
    fs::write(root().join(FILE), &image).with_context(|| format!("writing {FILE}"))?;
    say(format_args!("{FILE}: {} frames, {} KiB", frames.len(), image.len() / 1024));
    Ok(())
}

/// Plays the script and returns its frames.
fn play(steps: &[Step], folder: &Path) -> anyhow::Result<Vec<Frame>> {
    let program = std::env::current_exe()?.with_file_name("windlass");
    let work = folder.join("tides");
    let tmux = Tmux::start(&program, folder, &work)?;
    let shown = |tmux: &Tmux, is: &dyn Fn(&Screen) -> bool| {
        tmux.settled(|screen| screen.replace(&work.display().to_string(), FOLDER), is)
    };
    let mut frames: Vec<Frame> = Vec::new();
    for step in steps {
        match step {
            Step::Type(text) => {
                let letters: Vec<char> = text.chars().collect();
                let mut typed = String::new();
                for part in letters.chunks(AT_ONCE) {
                    let part: String = part.iter().collect();
                    tmux.types(&part)?;
                    typed += &part;
                    let screen = shown(&tmux, &|screen| screen.has(typed.trim_end()))?;
                    frames.push(Frame { screen, time: TYPING });
                }
            }
            Step::Press(key) => tmux.press(key)?,
            Step::Wait(text) => {
                let screen = shown(&tmux, &|screen| screen.has(text) && screen.waits());
                let screen = screen.with_context(|| format!("waiting for {text:?}"))?;
                frames.push(Frame { screen, time: TYPING });
            }
            Step::Rest(time) => match frames.last_mut() {
                Some(frame) => frame.time += *time,
                None => bail!("the script rests before it waits for a screen"),
            },
        }
    }
    Ok(frames)
}

/// Reads a script.
fn parse(script: &str) -> anyhow::Result<Vec<Step>> {
    let lines = script.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            Ok(match word {
                "type" => Step::Type(rest.to_owned()),
                "press" => Step::Press(rest.to_owned()),
                "wait" => Step::Wait(rest.to_owned()),
                "rest" => Step::Rest(Duration::from_millis(rest.parse()?)),
                _ => bail!("{line:?} is no step of a recording"),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All sources below a folder, in one text.
    fn sources(folder: &Path) -> String {
        let mut all = String::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            all += &match path.is_dir() {
                true => sources(&path),
                false => fs::read_to_string(path).unwrap_or_default(),
            };
        }
        all
    }

    #[test]
    fn keys_and_texts_of_the_script_exist() {
        let root = root();
        let keys = fs::read_to_string(root.join("docs/terminal.md")).unwrap();
        let prompts = fs::read_to_string(root.join("adapters/demo/README.md")).unwrap();
        let shown =
            sources(&root.join("app/cli/src/chat")) + &sources(&root.join("adapters/demo/src"));
        for step in parse(SCRIPT).unwrap() {
            match step {
                Step::Type(text) => {
                    let word = text.split([' ', ':']).next().unwrap();
                    let question =
                        text.ends_with('?') && prompts.contains("a question about the folder");
                    assert!(question || prompts.contains(&format!("| `{word}")), "{text}");
                }
                Step::Press(key) => {
                    let number = key.parse::<u8>().is_ok() && keys.contains("A number chooses");
                    assert!(number || keys.contains(&format!("| {key} |")), "{key}");
                }
                Step::Wait(text) => assert!(shown.contains(&text), "{text}"),
                Step::Rest(time) => assert!(!time.is_zero()),
            }
        }
        assert!(parse("sing loudly").is_err());
    }

    #[test]
    fn the_recording_is_small_and_runs_nothing() {
        let image = fs::read_to_string(root().join(FILE)).unwrap();
        assert!(image.len() < 200 * 1024, "{} bytes", image.len());
        for foreign in ["<script", "@import", "@font-face", "url("] {
            assert!(!image.contains(foreign), "{foreign}");
        }
        for step in parse(SCRIPT).unwrap() {
            if let Step::Wait(text) = step {
                assert!(image.contains(&text), "{text}: cargo xtask record makes it again");
            }
        }
    }
}
