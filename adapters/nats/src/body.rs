//! The body of an append: for each fact a line with the length of its text form in bytes, then the
//! text form and a line end. Text forms may hold line ends of their own.

/// The texts as one body.
pub(crate) fn join(texts: &[Vec<u8>]) -> Vec<u8> {
    let bytes: usize = texts.iter().map(|text| text.len() + 12).sum();
    let mut body = Vec::with_capacity(bytes);
    for text in texts {
        body.extend_from_slice(text.len().to_string().as_bytes());
        body.push(b'\n');
        body.extend_from_slice(text);
        body.push(b'\n');
    }
    body
}

/// The texts of a body; `None` when it is none.
pub(crate) fn split(mut body: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    while !body.is_empty() {
        // A length has at most ten digits.
        let digits = body.iter().take(11).position(|byte| *byte == b'\n')?;
        let (length, rest) = body.split_at_checked(digits)?;
        let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
        let (text, rest) = rest.get(1..)?.split_at_checked(length)?;
        texts.push(text.to_vec());
        body = rest.strip_prefix(b"\n")?;
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for texts in [vec![], vec![""], vec!["{}"], vec!["a\nb", "", "\n", "ü"]] {
            let texts: Vec<Vec<u8>> = texts.into_iter().map(|text| text.into()).collect();
            assert_eq!(split(&join(&texts)), Some(texts));
        }
        assert_eq!(join(&[b"{}".to_vec()]), b"2\n{}\n");
    }

    #[test]
    fn what_was_cut_or_changed_is_none() {
        let body = join(&[b"one".to_vec(), b"two".to_vec()]);
        for end in 1..body.len() {
            assert!(end == 6 || split(&body[..end]).is_none(), "{end}");
        }
        for body in ["3\none", "x\none\n", "4\none\n", "99999999999\n\n", "-1\n\n"] {
            assert_eq!(split(body.as_bytes()), None, "{body}");
        }
    }
}
