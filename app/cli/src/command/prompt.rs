//! Prompts: from the command line, or from standard input.

use std::io::Read as _;

use crate::exit::Failure;

/// The longest prompt, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// The prompt's text. `-` reads standard input.
pub(crate) fn read(prompt: &str) -> Result<String, Failure> {
    let text = if prompt == "-" {
        let mut bytes = Vec::new();
        let mut input = std::io::stdin().take(LONGEST + 1);
        input
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
        String::from_utf8(bytes)
            .map_err(|_| Failure::usage("the prompt on standard input is not UTF-8 text"))?
    } else {
        prompt.to_owned()
    };
    if text.len() as u64 > LONGEST {
        let words = format!(
            "the prompt is longer than {LONGEST} bytes: put it into a file of the workspace"
        );
        return Err(Failure::usage(words));
    }
    if text.trim().is_empty() {
        return Err(missing());
    }
    Ok(text)
}

/// There is no prompt.
pub(crate) fn missing() -> Failure {
    Failure::usage(
        "there is no prompt: give one as an argument, or - to read it from standard input",
    )
}
