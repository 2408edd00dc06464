//! Prompts from the command line or standard input, with their images.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use windlass_engine::NewInput;
use windlass_engine::core::{Image, ImageMedia};

use crate::exit::Failure;
use crate::signals::Signals;
use crate::wiring::PromptText;

/// Longest prompt, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// Returns the prompt's text. `-` reads standard input.
///
/// The wait for a person's input has no time-out; a signal ends it.
pub(crate) async fn read(prompt: &str, signals: &mut Signals) -> Result<String, Failure> {
    let text = if prompt == "-" {
        tokio::select! {
            read = tokio::task::spawn_blocking(input) => {
                read.map_err(|error| unreadable(&error))??
            }
            came = signals.next() => {
                let words = format!("{} was received before a prompt was read", came.name);
                return Err(Failure::new(came.exit, words));
            }
        }
    } else {
        prompt.to_owned()
    };
    check_text(&text)?;
    Ok(text)
}

/// Checks a prompt whose text may come from a server.
pub(crate) fn check(prompt: PromptText) -> Result<PromptText, Failure> {
    check_text(&prompt.text)?;
    Ok(prompt)
}

fn check_text(text: &str) -> Result<(), Failure> {
    if text.len() as u64 > LONGEST {
        let words = format!(
            "the prompt is longer than {LONGEST} bytes: put it into a file of the workspace"
        );
        return Err(Failure::usage(words));
    }
    match text.trim().is_empty() {
        true => Err(missing()),
        false => Ok(()),
    }
}

fn input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage("the prompt on standard input is not UTF-8 text"))
}

fn unreadable(error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("cannot read standard input: {error}"))
}

/// Creates the failure of a missing prompt.
pub(crate) fn missing() -> Failure {
    Failure::usage(
        "there is no prompt: give one as an argument, or - to read it from standard input",
    )
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
