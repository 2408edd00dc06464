//! Text of a dry run: the description of a call without its effects.

use std::borrow::Cow;

use windlass_core::{Observation, ObservationStatus};

use crate::fault::bounded;
use crate::tools_file::CommandLine;

/// The observation that says what a call would do. At most `room` bytes of it are shown.
pub(crate) fn planned(would: &str, room: usize) -> Observation {
    let text = format!("Not run: this is a dry run. It would {would}");
    bounded(ObservationStatus::NotStarted, &text, room)
}

/// A command line as one would type it.
pub(crate) fn typed(line: &CommandLine) -> String {
    let program = line.program.to_string_lossy();
    let words = std::iter::once(&*program).chain(line.arguments.iter().map(String::as_str));
    let quoted: Vec<_> = words.map(quoted).collect();
    quoted.join(" ")
}

fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:=,+@%".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_typed_command_line_is_what_a_shell_would_split_again() {
        let line = CommandLine {
            program: PathBuf::from("/bin/my tool"),
            arguments: ["-a=1", "", "it's", "*", "a\nb"].map(String::from).to_vec(),
        };
        assert_eq!(typed(&line), "'/bin/my tool' -a=1 '' 'it'\\''s' '*' 'a\nb'");
    }

    #[test]
    fn a_long_plan_is_bounded_with_its_true_size() {
        let plan = planned(&"x".repeat(10_000), 1_000);
        assert!(plan.output.len() < 1_200, "{}", plan.output.len());
        assert!(plan.output.starts_with("Not run: this is a dry run."));
        assert!(plan.output_bytes > 10_000 && plan.omitted_bytes > 9_000);
    }
}
