//! Tags: the text of a page without them, for a page whose tree is not built.

/// Elements within words.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// Elements whose content is no text of the page. In that of the first ones a `<` begins no tag.
const HIDDEN: &[&str] = &["script", "style", "iframe", "noscript", "template", "svg"];

/// A tag of a page.
struct Tag<'a> {
    name: &'a str,
    ends: bool,
    /// Position of the tag.
    start: usize,
    /// Position after the tag.
    after: usize,
}

/// Returns the text of a page without its tags.
pub(crate) fn without_tags(html: &str) -> String {
    let (mut text, mut at) = (String::with_capacity(html.len() / 2), 0);
    while let Some(tag) = next_tag(html, at) {
        text.push_str(html.get(at..tag.start).unwrap_or_default());
        // Words on both sides of a formatting tag may be one word.
        if !FORMATTING.contains(&tag.name.to_ascii_lowercase().as_str()) {
            text.push(' ');
        }
        at = tag.after;
        let name = tag.name.to_ascii_lowercase();
        if !tag.ends && HIDDEN.contains(&name.as_str()) {
            at = after_end(html, at, &name);
        }
    }
    text.push_str(html.get(at..).unwrap_or_default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the position after the end tag of an element, or the end of the page. What looks like a tag
/// within it is none.
fn after_end(html: &str, at: usize, name: &str) -> usize {
    let mut from = at;
    while let Some(found) = html.get(from..).and_then(|rest| rest.find("</")) {
        from += found + 2;
        let rest = html.get(from..).unwrap_or_default();
        if rest.get(..name.len()).is_some_and(|own| own.eq_ignore_ascii_case(name)) {
            return rest.find('>').map_or(html.len(), |end| from + end + 1);
        }
    }
    html.len()
}

/// Returns the next tag from a position on.
fn next_tag(html: &str, mut at: usize) -> Option<Tag<'_>> {
    loop {
        let open = at + html.get(at..)?.find('<')?;
        let inner = html.get(open + 1..)?;
        let (ends, name) = match inner.strip_prefix('/') {
            Some(name) => (true, name),
            None => (false, inner),
        };
        let length = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
        if length > 0 && name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            let after = name.find('>').map_or(html.len(), |end| html.len() - name.len() + end + 1);
            return Some(Tag { name: name.get(..length)?, ends, start: open, after });
        }
        at = open + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_left_of_what_tags_were() {
        let page = "<script>if (a<b) x()</script><div>One <b>two</b> 1 < 2<style>p{}</style> end";
        assert_eq!(without_tags(page), "One two 1 < 2 end");
        assert_eq!(without_tags("<svg><p>x"), "");
        // In time that grows with the page.
        assert_eq!(without_tags(&format!("<script>{}", "</a".repeat(1_000_000))), "");
    }
}
