//! Prompts from the command line and standard input, with their images.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::FileType;
use windlass_engine::NewInput;
use windlass_engine::core::{Image, ImageMedia};

use crate::exit::Failure;
use crate::present::print_notice;
use crate::signals::Signals;
use crate::wiring::PromptText;

/// Longest prompt, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// What surrounds piped text below the words of a prompt.
const BEGIN: &str = "\n\n<stdin>\n";
const END: &str = "</stdin>";

/// Time that standard input may be silent before the user is told of the wait.
const SILENCE: Duration = Duration::from_secs(2);

/// Prompt of a command.
#[derive(Clone)]
pub(crate) struct Prompt {
    /// Words of the user, which may name skills and resources.
    pub(crate) words: String,
    /// Text that was piped into the command beside its words. It names nothing.
    piped: Option<String>,
}

impl Prompt {
    /// Returns the prompt of a command: the given words and what is piped into it, or what is piped
    /// alone. `-` reads standard input whatever it is.
    pub(crate) async fn read(words: Option<&str>, signals: &mut Signals) -> Result<Self, Failure> {
        let prompt = match words.filter(|words| *words != "-") {
            None if words.is_none() && !is_piped() => return Err(missing()),
            None => Self { words: standard_input(signals).await?, piped: None },
            Some(words) => {
                let piped = match is_piped() {
                    true => Some(standard_input(signals).await?),
                    false => None,
                };
                let piped = piped.filter(|text| !text.trim().is_empty());
                Self { words: words.to_owned(), piped }
            }
        };
        check_text(&prompt.words)?;
        Ok(prompt)
    }

    /// Returns a prompt as it was sent, with what was piped into its command apart.
    pub(crate) fn recorded(text: &str) -> Self {
        let piped = text.strip_suffix(END).and_then(|text| text.split_once(BEGIN));
        match piped {
            Some((words, piped)) => Self { words: words.to_owned(), piped: Some(piped.to_owned()) },
            None => Self { words: text.to_owned(), piped: None },
        }
    }

    /// Adds what was piped to the words as the model is given them, and checks the whole.
    pub(crate) fn complete(&self, mut given: PromptText) -> Result<PromptText, Failure> {
        if let Some(piped) = &self.piped {
            let end = if piped.ends_with('\n') { "" } else { "\n" };
            given.text.push_str(&format!("{BEGIN}{piped}{end}{END}"));
        }
        check_text(&given.text)?;
        Ok(given)
    }
}

/// Returns the text of an argument. `-` reads standard input.
pub(crate) async fn text(argument: &str, signals: &mut Signals) -> Result<String, Failure> {
    let text = match argument {
        "-" => standard_input(signals).await?,
        text => text.to_owned(),
    };
    check_text(&text)?;
    Ok(text)
}

/// Returns true if something may be piped into the command: standard input is a pipe, a socket or a
/// file, and no terminal and no device. A closed one is `/dev/null` by now.
fn is_piped() -> bool {
    rustix::fs::fstat(std::io::stdin()).is_ok_and(|about| {
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Fifo | FileType::Socket | FileType::RegularFile => true,
            FileType::Directory
            | FileType::Symlink
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => false,
        }
    })
}

/// Reads standard input to its end. The wait has no time-out; a signal ends it, and a long one is
/// told.
async fn standard_input(signals: &mut Signals) -> Result<String, Failure> {
    let came = Arc::new(AtomicBool::new(false));
    let tell = came.clone();
    let mut read = tokio::task::spawn_blocking(move || input(&tell));
    let silence = tokio::time::sleep(SILENCE);
    tokio::pin!(silence);
    loop {
        tokio::select! {
            read = &mut read => return read.map_err(|error| unreadable(&error))?,
            came = signals.next() => {
                let words = format!("{} was received before a prompt was read", came.name);
                return Err(Failure::new(came.exit, words));
            }
            () = &mut silence, if !silence.is_elapsed() => {
                if !came.load(Ordering::Relaxed) {
                    print_notice(
                        "waiting for standard input, which is open and silent: end it, or start \
                         the command with </dev/null if nothing is piped into it",
                    );
                }
            }
        }
    }
}

fn check_text(text: &str) -> Result<(), Failure> {
    if text.len() as u64 > LONGEST {
        return Err(too_long("the prompt"));
    }
    match text.trim().is_empty() {
        true => Err(missing()),
        false => Ok(()),
    }
}

/// Reads standard input up to one byte more than a prompt may have, and notes that something came.
fn input(came: &AtomicBool) -> Result<String, Failure> {
    let mut stdin = std::io::stdin().lock();
    let mut bytes = Vec::new();
    let mut part = [0; 8192];
    while bytes.len() as u64 <= LONGEST {
        match stdin.read(&mut part) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(part.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(&error)),
        }
        came.store(true, Ordering::Relaxed);
    }
    if bytes.len() as u64 > LONGEST {
        return Err(too_long("standard input"));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) | Err(_) => Err(Failure::usage(
            "standard input is not UTF-8 text: save it as a file of the workspace and name the \
             file, or attach an image with --image",
        )),
    }
}

fn too_long(what: &str) -> Failure {
    let words =
        format!("{what} is longer than {LONGEST} bytes: put it into a file of the workspace");
    Failure::usage(words)
}

fn unreadable(error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("cannot read standard input: {error}"))
}

/// Creates the failure of a missing prompt.
fn missing() -> Failure {
    Failure::usage("there is no prompt: give one as an argument, or pipe it into the command")
}

/// Reads and checks the images.
pub(crate) fn images(files: &[PathBuf]) -> Result<Vec<Vec<u8>>, Failure> {
    if files.len() > Image::MAX_PER_INPUT {
        return Err(Failure::usage(format!(
            "{} images are more than the {} that one prompt may have: send some of them later",
            files.len(),
            Image::MAX_PER_INPUT
        )));
    }
    files.iter().map(|file| image(file)).collect()
}

fn image(path: &Path) -> Result<Vec<u8>, Failure> {
    let refused = |what: String| {
        let name = path.display();
        Failure::usage(format!("the image {name} {what}"))
    };
    let unreadable = |error: std::io::Error| refused(format!("cannot be read: {error}"));
    let about = std::fs::metadata(path).map_err(unreadable)?;
    if !about.is_file() {
        return Err(refused(String::from("is not a file")));
    }
    let most = NewInput::IMAGE_BYTES;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    let read = file.take(most as u64 + 1).read_to_end(&mut bytes);
    if read.map_err(unreadable)? > most {
        let what = format!("has more than {most} bytes: make it smaller");
        return Err(refused(what));
    }
    match ImageMedia::of(&bytes) {
        Some(_) => Ok(bytes),
        None => Err(refused(String::from("is not a PNG, JPEG, GIF or WebP: convert it"))),
    }
}
