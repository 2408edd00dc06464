//! Measure of the tree that a page asks for, by the parser that would build it: nothing of the tree is
//! kept.
//!
//! A tree may nest as deeply as there are open tags, and formatting elements that stay open are repeated
//! in each block after them (HTML, 13.2.4.3). So a page of a megabyte can ask for a stack, or a tree,
//! of gigabytes.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, local_name, ns, parse_document};

/// Most elements of a tree.
const ELEMENTS: usize = 100_000;
/// Deepest element of a tree.
const DEPTH: usize = 2_000;
/// Bytes between two looks at the measure: few enough that they cannot ask for much.
const STEP: usize = 256;

/// Returns true if the tree of a page is small and shallow enough to be built.
pub(crate) fn is_tame(html: &str) -> bool {
    let measure = Rc::new(Measure::default());
    let sink = MeasuringSink::new(measure.clone());
    let mut parser = parse_document(sink, ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() {
        let (next, after) = rest.split_at(rest.ceil_char_boundary(STEP.min(rest.len())));
        parser.process(StrTendril::from(next));
        if measure.is_exceeded() {
            return false;
        }
        rest = after;
    }
    true
}

/// Size of a tree so far.
#[derive(Debug, Default)]
struct Measure {
    elements: Cell<usize>,
    deepest: Cell<usize>,
    /// Times that the children of an element moved below another one. Each may add a level.
    moves: Cell<usize>,
}

impl Measure {
    fn is_exceeded(&self) -> bool {
        let depth = self.deepest.get().saturating_add(self.moves.get());
        self.elements.get() > ELEMENTS || depth > DEPTH
    }
}

/// Element, comment or document.
#[derive(Debug)]
struct Node {
    name: QualName,
    depth: Cell<usize>,
}

struct MeasuringSink {
    measure: Rc<Measure>,
    document: Rc<Node>,
}

impl MeasuringSink {
    fn new(measure: Rc<Measure>) -> Self {
        let name = QualName::new(None, ns!(), local_name!(""));
        Self { measure, document: Rc::new(Node { name, depth: Cell::new(0) }) }
    }

    fn node(&self, name: QualName) -> Rc<Node> {
        Rc::new(Node { name, depth: Cell::new(0) })
    }

    fn place(&self, child: NodeOrText<Rc<Node>>, depth: usize) {
        if let NodeOrText::AppendNode(node) = child {
            node.depth.set(depth);
            self.measure.deepest.set(self.measure.deepest.get().max(depth));
        }
    }
}

impl TreeSink for MeasuringSink {
    type Handle = Rc<Node>;
    type Output = ();
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) {}

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Rc<Node> {
        self.document.clone()
    }

    fn elem_name<'a>(&'a self, target: &'a Rc<Node>) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, _: Vec<Attribute>, _: ElementFlags) -> Rc<Node> {
        self.measure.elements.set(self.measure.elements.get().saturating_add(1));
        self.node(name)
    }

    fn create_comment(&self, _: StrTendril) -> Rc<Node> {
        self.node(self.document.name.clone())
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Rc<Node> {
        self.node(self.document.name.clone())
    }

    fn append(&self, parent: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.place(child, parent.depth.get().saturating_add(1));
    }

    fn append_based_on_parent_node(
        &self,
        element: &Rc<Node>,
        previous: &Rc<Node>,
        child: NodeOrText<Rc<Node>>,
    ) {
        let depth = element.depth.get().max(previous.depth.get().saturating_add(1));
        self.place(child, depth);
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Rc<Node>) -> Rc<Node> {
        target.clone()
    }

    fn same_node(&self, one: &Rc<Node>, other: &Rc<Node>) -> bool {
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        self.place(child, sibling.depth.get());
    }

    fn add_attrs_if_missing(&self, _: &Rc<Node>, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, _: &Rc<Node>) {}

    fn reparent_children(&self, _: &Rc<Node>, _: &Rc<Node>) {
        self.measure.moves.set(self.measure.moves.get().saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_pages_are_tame() {
        let row = "<tr><td><a href='x'>y</a><td><b>z</b></td></tr>";
        assert!(is_tame(&format!("<table>{}</table>", row.repeat(10_000))));
        assert!(is_tame(&"<ul><li>one<li><i>two</i></ul><p>a<p>b<br>".repeat(8_000)));
        assert!(is_tame(&"<svg><path d='M0'/><g><use/></g></svg>".repeat(8_000)));
        assert!(is_tame("a < b && c > d <3 <script>if (a<b) {}</script>"));
        assert!(is_tame(""));
    }

    /// Each page hides its open tags from a look at the tags alone in a way of its own.
    #[test]
    fn hostile_pages_are_not() {
        let numbered = |tags: &str, times: usize| -> String {
            (0..times).map(|n| tags.replace('#', &n.to_string())).collect()
        };
        let blocks = "<p>x".repeat(5_000);
        for (name, page) in [
            ("nested blocks", "<div>".repeat(3_000)),
            ("nested tables", "<table><td>".repeat(3_000)),
            ("other end tags", "<div></span>".repeat(3_000)),
            ("comments", "<div><!-- </div> -->".repeat(3_000)),
            ("attributes", "<div x='></div>'>".repeat(3_000)),
            ("open fonts", numbered("<p><font x=#>", 1_000)),
            (
                "end tags out of scope",
                format!("<table>{}</table>{blocks}", numbered("<b x=#><td></b></td>", 1_000)),
            ),
            ("breaking out of a drawing", format!("<svg>{}", numbered("<p><b x=#>", 1_000))),
            ("misnested", "<b><div></b>".repeat(3_000)),
        ] {
            assert!(!is_tame(&page), "{name}");
        }
    }
}
