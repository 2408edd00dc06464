//! Question: what a model asks a person, and the answers that it offers.

use serde::{Deserialize, Serialize};

use crate::InvalidArguments;

/// Question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Text of the question.
    pub question: String,
    /// Offered answers; empty if the model offers none. Any other text is an answer too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

impl Question {
    /// Reads the arguments of an `ask_user` call.
    ///
    /// # Errors
    /// [`InvalidArguments`] when they do not fit the schema of the tool.
    pub fn parse(arguments: &str) -> Result<Self, InvalidArguments> {
        Ok(serde_json::from_str(arguments)?)
    }

    /// Returns the answer that a typed text stands for: the number of a choice, counted from 1, or
    /// its own words. `None` for a blank text.
    #[must_use]
    pub fn answer<'a>(&'a self, typed: &'a str) -> Option<&'a str> {
        let typed = typed.trim();
        let number: Option<usize> = typed.parse().ok();
        let choice = number.and_then(|number| self.choices.get(number.checked_sub(1)?));
        choice.map(String::as_str).or(Some(typed)).filter(|answer| !answer.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::Question;

    #[test]
    fn a_number_is_a_choice_only_if_there_is_one() {
        let choices = ["tabs", "spaces"].map(str::to_owned).to_vec();
        let asked = Question { question: "Which?".to_owned(), choices };
        assert_eq!(asked.answer("2\n"), Some("spaces"));
        assert_eq!(asked.answer("3"), Some("3"));
        assert_eq!(asked.answer("0"), Some("0"));
        assert_eq!(asked.answer("  both \r\n"), Some("both"));
        assert_eq!(asked.answer(" \n"), None);
    }
}
