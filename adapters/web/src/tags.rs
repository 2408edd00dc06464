//! Tags: whether a parser can build a page's tree in proportion to the page, and the text without
//! them where it cannot.
//!
//! A tree may nest as deeply as there are open tags, and formatting tags that stay open are repeated
//! in each block after them. So a page of a megabyte can ask for a stack, or a tree, of gigabytes.

/// Most elements that may be open at a time, not counting those that end by themselves.
const DEPTH: usize = 2_000;
/// Most formatting elements that may be open at a time.
const FORMATTING: usize = 200;

/// Elements without content, and those that the next of their kind ends.
const UNCOUNTED: &[&str] = &[
    "area", "base", "br", "col", "colgroup", "dd", "dt", "embed", "hr", "img", "input", "li",
    "link", "meta", "option", "p", "param", "rp", "rt", "source", "tbody", "td", "tfoot", "th",
    "thead", "tr", "track", "wbr",
];
/// Elements that the parser opens again in each block where they stay open.
const REOPENED: &[&str] = &[
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

/// Returns true if the tree of a page is in proportion to the page.
pub(crate) fn are_tame(html: &str) -> bool {
    let (mut depth, mut formatting) = (0_usize, 0_usize);
    let mut at = 0;
    while let Some(tag) = next_tag(html, at) {
        at = tag.after;
        let name = tag.name.to_ascii_lowercase();
        if !tag.ends && HIDDEN.contains(&name.as_str()) {
            at = after_end(html, at, &name);
            continue;
        }
        if UNCOUNTED.contains(&name.as_str()) {
            continue;
        }
        let step = |count: usize| match tag.ends {
            true => count.saturating_sub(1),
            false => count.saturating_add(1),
        };
        depth = step(depth);
        if REOPENED.contains(&name.as_str()) {
            formatting = step(formatting);
        }
        if depth > DEPTH || formatting > FORMATTING {
            return false;
        }
    }
    true
}

/// Returns the text of a page without its tags.
pub(crate) fn without_tags(html: &str) -> String {
    let (mut text, mut at) = (String::with_capacity(html.len() / 2), 0);
    while let Some(tag) = next_tag(html, at) {
        text.push_str(html.get(at..tag.start).unwrap_or_default());
        // Words on both sides of a formatting tag may be one word.
        if !REOPENED.contains(&tag.name.to_ascii_lowercase().as_str()) {
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
        from += found;
        match next_tag(html, from) {
            Some(tag) if tag.start == from && tag.name.eq_ignore_ascii_case(name) => {
                return tag.after;
            }
            Some(_) | None => from += 2,
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
    fn ordinary_pages_are_tame_and_hostile_ones_are_not() {
        let list = "<ul><li>one<li>two</ul><p>a<p>b<br>".repeat(10_000);
        assert!(are_tame(&list));
        assert!(are_tame(&"<div><a href='x'>y</a></div>".repeat(10_000)));
        assert!(are_tame("a < b && c > d <3"));
        assert!(!are_tame(&"<div>".repeat(3_000)));
        assert!(!are_tame(&"<b x=1><i>".repeat(300)));
        assert!(!are_tame(&"<table><td>".repeat(3_000)));
    }

    #[test]
    fn text_is_left_of_what_tags_were() {
        let page = "<script>if (a<b) x()</script><div>One <b>two</b> 1 < 2<style>p{}</style> end";
        assert_eq!(without_tags(page), "One two 1 < 2 end");
        assert_eq!(without_tags("<svg><p>x"), "");
    }
}
