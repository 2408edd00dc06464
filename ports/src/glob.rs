//! Patterns with `*`, as rules, routes and tables of models use them.

/// Returns true if a text matches a pattern in which `*` matches any characters, including none.
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    // The latest star and its text position: on a mismatch the star matches one more byte.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match (pattern.get(at), star) {
            (Some(b'*'), _) => {
                star = Some((at, seen));
                at += 1;
            }
            (byte, _) if byte.is_some() && byte == text.get(seen) => {
                at += 1;
                seen += 1;
            }
            (_, Some((place, taken))) => {
                star = Some((place, taken + 1));
                (at, seen) = (place + 1, taken + 1);
            }
            (_, None) => return false,
        }
    }
    let rest = pattern.get(at..).unwrap_or_default();
    rest.iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "anything"),
            ("rm", "rm"),
            ("rm *", "rm -rf /"),
            ("*secret*", "a secret here"),
            ("a*b*c", "aXXbYYbZc"),
            ("*ab", "aab"),
            ("**x**", "x"),
            ("*ü*", "grün"),
        ] {
            assert!(glob(pattern, text), "{pattern} is like {text}");
        }
        for (pattern, text) in [
            ("", "x"),
            ("rm", "rmdir"),
            ("rm", "RM"),
            ("rm *", "rm"),
            ("a*b", "abc"),
            ("a?c", "abc"),
            ("*ab*ab", "ab"),
        ] {
            assert!(!glob(pattern, text), "{pattern} is not like {text}");
        }
    }
}
