//! Variables in texts of a configuration: `${NAME}` and `${NAME:-default}`.

/// Failure to expand the variables of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// The variable is not set, and the text has no default for it.
    #[error("the variable {0} is not set: set it, or write ${{{0}:-default}}")]
    Unset(String),
    /// A `${` has no `}`, or no name between them.
    #[error("{0:?} has a `${{` without a name and a `}}`")]
    Malformed(String),
}

/// Replaces each `${NAME}` by the value of that variable, and each `${NAME:-default}` by its value or
/// the default. A value is used as it is: variables in it are not expanded.
///
/// # Errors
/// [`ExpandError`] when a variable without a default is not set, or a `${` is not closed.
pub fn expand(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, ExpandError> {
    let malformed = || ExpandError::Malformed(text.to_owned());
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let (inside, behind) = after.split_once('}').ok_or_else(malformed)?;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) {
            return Err(malformed());
        }
        // As in a shell, `:-` takes an empty value for none.
        let value = lookup(name).filter(|value| default.is_none() || !value.is_empty());
        match (value, default) {
            (Some(value), _) => expanded.push_str(&value),
            (None, Some(default)) => expanded.push_str(default),
            (None, None) => return Err(ExpandError::Unset(name.to_owned())),
        }
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn is_name(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<String, ExpandError> {
        expand(text, |name| match name {
            "HOME" => Some("/home/a".into()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${HOME}".into()),
            _ => None,
        })
    }

    #[test]
    fn variables_and_their_defaults_are_replaced() {
        for (text, expanded) in [
            ("plain $HOME {HOME}", "plain $HOME {HOME}"),
            ("${HOME}/x", "/home/a/x"),
            ("a${EMPTY}b${EMPTY:-c}", "abc"),
            ("${NONE:-}", ""),
            ("${NONE:-a:-b}", "a:-b"),
            ("${NESTED}", "${HOME}"),
        ] {
            assert_eq!(told(text).unwrap(), expanded, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_an_error() {
        assert_eq!(told("${NONE}"), Err(ExpandError::Unset("NONE".into())));
        for text in ["${", "${HOME", "${}", "${1A}", "${A B}", "${:-x}"] {
            assert_eq!(told(text), Err(ExpandError::Malformed(text.into())), "{text}");
        }
    }
}
