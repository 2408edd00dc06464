//! Markdown as lines: golden texts, and streams against whole texts.

use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{MarkdownStream, markdown};
use crate::screen::rows;
use crate::text::{Line, Wrap};
use crate::theme::Theme;

/// Text of the rows at this width.
fn shown(lines: &[Line], columns: u16) -> String {
    let mut text = String::new();
    for line in lines {
        let parts = match line.wrap {
            Wrap::Words { indent } => rows(line, usize::from(columns) - 1, indent.into()),
            Wrap::Terminal => vec![line.spans.clone()],
        };
        for spans in parts {
            let row: String = spans.iter().map(|span| span.text.as_str()).collect();
            text.push_str(row.trim_end());
            text.push('\n');
        }
    }
    text
}

fn check(text: &str, columns: u16, golden: &Expect) {
    golden.assert_eq(&shown(&markdown(text, &Theme::plain(), columns), columns));
}

const TABLE: &str = "\
| name | what it does | n |
|:--|:-:|--:|
| `read` | reads a file, or **part** of it | 1 |
| ⚠️ 漢字 | | 1,000 |
";

const LISTS: &str = "\
Intro with a long line that is broken.
- one
- two has more words than fit
  - inner [link](https://example.com/x) words
    1. deep
    2. deeper words and words
- [x] done

1. first

   second paragraph of the first
2. with code
   ```
   ls -l
   ```
7. third
* other
";

#[test]
fn lists_hang_and_keep_their_numbers() {
    check(
        LISTS,
        40,
        &expect![[r#"
        Intro with a long line that is broken.

        • one
        • two has more words than fit
          • inner link (https://example.com/x)
            words
            1. deep
            2. deeper words and words
        • [x] done

        1. first

           second paragraph of the first
        2. with code
           ls -l
        3. third

        • other
    "#]],
    );
    check(
        LISTS,
        20,
        &expect![[r#"
        Intro with a long
        line that is
        broken.

        • one
        • two has more
          words than fit
          • inner link
            (https://exampl
            e.com/x) words
            1. deep
            2. deeper words
               and words
        • [x] done

        1. first

           second paragraph
           of the first
        2. with code
           ls -l
        3. third

        • other
    "#]],
    );
}

#[test]
fn tables_are_boxed_fitted_or_stacked() {
    check(
        TABLE,
        80,
        &expect![[r#"
        ┌─────────┬─────────────────────────────┬───────┐
        │ name    │        what it does         │     n │
        ├─────────┼─────────────────────────────┼───────┤
        │ read    │ reads a file, or part of it │     1 │
        │ ⚠  漢字 │                             │ 1,000 │
        └─────────┴─────────────────────────────┴───────┘
    "#]],
    );
    check(
        TABLE,
        36,
        &expect![[r#"
        ┌─────────┬───────────────┬───────┐
        │ name    │ what it does  │     n │
        ├─────────┼───────────────┼───────┤
        │ read    │ reads a file, │     1 │
        │         │ or part of it │       │
        │ ⚠  漢字 │               │ 1,000 │
        └─────────┴───────────────┴───────┘
    "#]],
    );
    check(
        TABLE,
        20,
        &expect![[r#"
        name: read
        what it does: reads
        a file, or part of
        it
        n: 1

        name: ⚠  漢字
        n: 1,000
    "#]],
    );
}

#[test]
fn quotes_have_a_bar_on_each_row() {
    let text = "> words that are broken in a quote\n> - item\n> > inner\nlazy\n\nafter";
    check(
        text,
        24,
        &expect![[r#"
        │ words that are broken
        │ in a quote
        │
        │ • item
        │
        │ │ inner lazy

        after
    "#]],
    );
}

#[test]
fn blocks_stand_apart_and_texts_are_whole() {
    let text = "# Title *one*\nA [link](https://a.b), <https://c.d>, ![image](x.png), ~~no~~ `a  b`.\n\
                Hard\\\nbreak[^1] and <b>html</b>\n***\n<div>\nblock\n</div>\n\n    indented\n\n    code\n\
                Set\n===\n[ref]: https://e.f\n\n[^1]: A note.\n~~~\nlet x = 1;\n\n  y\n~~~\nend";
    check(
        text,
        60,
        &expect![[r#"
        Title one

        A link (https://a.b), https://c.d, image (x.png), no a  b.
        Hard
        break[^1] and <b>html</b>

        ───────────────────────────────────────────────────────────

        <div>
        block
        </div>

        indented

        code

        Set

        [ref]: https://e.f

        [^1]: A note.

        let x = 1;

          y

        end
    "#]],
    );
}

#[test]
fn styles_are_those_of_the_theme() {
    let theme = Theme::dark();
    let lines = markdown("# Head `code`\n**bold *both*** [text](url)", &theme, 80);
    let style = |word: &str| {
        let mut spans = lines.iter().flat_map(|line| &line.spans);
        spans.find(|span| span.text == word).unwrap().style
    };
    assert!(style("Head ").bold && style("code").bold);
    assert_eq!(style("code").color, theme.code.color);
    assert!(style("bold ").bold && style("both").italic && style("both").bold);
    assert_eq!((style("text"), style(" (url)")), (theme.link, theme.dim));
}

#[test]
fn blocks_are_committed_as_they_end() {
    let mut stream = MarkdownStream::new(&Theme::plain(), 40);
    let mut push = |text: &str| {
        let lines = shown(&stream.push(text), 40);
        (lines, shown(&stream.preview(3), 40))
    };
    let text = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(push("A par"), text("", "A par\n"));
    assert_eq!(push("agraph\n"), text("", "A paragraph\n"));
    assert_eq!(push("\n- on"), text("A paragraph\n", "\n• on\n"));
    assert_eq!(push("e\n- tw"), text("", "\n• one\n• tw\n"));
    assert_eq!(push("o\n"), text("\n• one\n", "• two\n"));
    assert_eq!(push("```\nfn"), text("• two\n", "fn\n"));
    assert_eq!(push(" main\nsecond\n"), text("\nfn main\nsecond\n", ""));
    assert_eq!(push("``"), text("", "``\n"));
    assert_eq!(
        push("`\n| a | b |\n|--|--|\n| 1 | 2 |"),
        text("", "├───┼───┤\n│ 1 │ 2 │\n└───┴───┘\n")
    );
    assert_eq!(
        shown(&stream.finish(), 40),
        "\n┌───┬───┐\n│ a │ b │\n├───┼───┤\n│ 1 │ 2 │\n└───┴───┘\n"
    );
    assert_eq!(shown(&stream.push("# new\n"), 40), "new\n");
}

/// Pieces that begin, continue and end all kinds of blocks.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "word ",
        "\n",
        "\n\n",
        "- ",
        "  - ",
        "1. ",
        "22) ",
        "> ",
        "```",
        "````\n",
        "~~~\n",
        "    ",
        "\t",
        "# ",
        "---\n",
        "===\n",
        "| a | b |\n",
        "|---|--:|\n",
        "*",
        "**",
        "`",
        "[x](y)",
        "[r]: u\n",
        "<div>\n",
        "<!-- ",
        "\\",
        "\r\n",
        "\r",
        "é漢👩‍👩‍👧",
        "\u{1b}[31m",
        "[ ] ",
        "![",
        "](",
        "  \n",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]
    #[test]
    fn parts_make_the_lines_of_the_whole(text in pieces(), cuts in prop::collection::vec(1..9_usize, 1..50), columns in 1..90_u16) {
        let theme = Theme::dark();
        let mut stream = MarkdownStream::new(&theme, columns);
        let mut lines = Vec::new();
        let (mut rest, mut cuts) = (text.as_str(), cuts.into_iter().cycle());
        while !rest.is_empty() {
            let at = rest.ceil_char_boundary(cuts.next().unwrap().min(rest.len()));
            lines.append(&mut stream.push(&rest[..at]));
            prop_assert!(stream.preview(5).len() <= 5);
            rest = &rest[at..];
        }
        lines.append(&mut stream.finish());
        prop_assert_eq!(&lines, &markdown(&text, &theme, columns));
        // Words are not lost, except those that are the name of a fence's language or a link's title.
        let words = |text: &str| text.matches("漢").count();
        let found: usize = lines.iter().map(|line| words(&line.text())).sum();
        prop_assert!(found <= words(&text));
        prop_assert!(text.contains(['`', '~', '[', '|']) || found == words(&text), "{:?}", lines);
    }
}

/// Well-formed blocks, which are rendered alike in the whole text and one by one.
fn text_of_blocks() -> impl Strategy<Value = String> {
    let block = prop::sample::select(vec![
        "# Heading\n",
        "Under\n---\n",
        "words\nand `words`  \nmore\n\n",
        "- a\n- b\n  - c\n\n    d\n\n",
        "3. a\n4. b\nlazy\n   * c\n5. d\n\n",
        "- a\n\n- b\n\n  ```\n  code\n\n  code\n  ```\n\n",
        "* [x] a\n* [ ] b\n\n",
        "> a\nlazy\n> - b\n>\n> c\n\n",
        "| a | b |\n|---|:-:|\n| c | d |\n\n",
        "```\ncode\n- code\n\n```\n",
        "~~~~\n~~~\n\tcode\n~~~~\n",
        "    code\n\n      code\n\n",
        "***\n",
        "<div>\n- html\n</div>\n\n",
    ]);
    prop::collection::vec(block, 0..8).prop_map(|blocks| blocks.join("Between.\n\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]
    #[test]
    fn blocks_are_those_of_the_whole_text(text in text_of_blocks(), columns in 10..90_u16) {
        let whole = super::render::render(&text, &Theme::plain(), columns, None);
        prop_assert_eq!(markdown(&text, &Theme::plain(), columns), whole);
    }
}

#[test]
fn a_long_stream_costs_no_more_at_its_end() {
    let theme = Theme::plain();
    let start = Instant::now();
    let deltas =
        [("word ", 60_000), ("> quote\n", 2_000), ("- a\n", 1_000), ("| a | b |\n", 1_000)];
    for (delta, count) in deltas {
        let mut stream = MarkdownStream::new(&theme, 80);
        let mut lines = 0;
        for n in 0..count {
            lines += stream.push(delta).len();
            if n % 500 == 0 {
                assert!(stream.preview(20).len() <= 20);
            }
        }
        lines += stream.finish().len();
        assert!(lines > 0);
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn hostile_texts_cost_little_and_yield_little() {
    let start = Instant::now();
    let wide =
        "| a ".repeat(1_000) + "|\n" + &"|-".repeat(1_000) + "|\n" + &"| b |\n".repeat(1_000);
    let long = format!("| {} | b |\n|-|-|\n{}", "name ".repeat(9_000), "| c |\n".repeat(1_000));
    let repeated =
        ["> ", "- ", "1. ", "[", "![", "**a ", "`", "<", "a\n>", "| ", "\\", "***", "- a\n  "];
    let texts = repeated.iter().map(|part| part.repeat(10_000 / part.len()));
    for text in texts.chain([wide, long]) {
        let mut stream = MarkdownStream::new(&Theme::plain(), 40);
        let mut lines = stream.push(&text);
        assert!(stream.preview(10).len() <= 10);
        lines.append(&mut stream.finish());
        let bytes: usize = lines.iter().map(|line| line.text().len() + 1).sum();
        assert!(bytes < 60 * text.len(), "{}: {bytes} of {}", &text[..10], text.len());
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn long_code_streams_line_by_line() {
    let mut stream = MarkdownStream::new(&Theme::plain(), 80);
    stream.push("```\n");
    for n in 0..5_000 {
        assert_eq!(shown(&stream.push(&format!("line {n}\n")), 80), format!("line {n}\n"));
    }
    assert!(stream.finish().is_empty());
}
