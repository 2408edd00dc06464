//! The tool calls of a Chat Completions answer while they stream.
//!
//! A call is known by its `index`. Servers leave the index out, repeat the id, send the id late,
//! or use one index twice; each of these has its rule here.

use windlass_core::StreamEvent;

use super::wire::ToolDelta;
use windlass_kit_http::json::{is_json, non_empty};

/// The calls of one answer, in the order in which they appeared.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct StreamedCalls(Vec<StreamedCall>);

#[derive(Debug, Clone, PartialEq)]
struct StreamedCall {
    slot: u32,
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Fields that came beside the protocol's own; empty if there were none.
    extra: String,
    /// True once the start of the call was published; its arguments are held back until then.
    opened: bool,
}

impl StreamedCalls {
    /// Takes a delta. A call that begins with it gets the slot `next`.
    pub(super) fn push(
        &mut self,
        delta: ToolDelta<'_>,
        next: &mut u32,
        out: &mut Vec<StreamEvent>,
    ) {
        let id = non_empty(delta.id).unwrap_or_default();
        let (name, arguments) = delta.function.map_or((None, None), |function| {
            (non_empty(function.name), non_empty(function.arguments))
        });
        let name = name.unwrap_or_default();
        let at = self.find(delta.index, &id, !name.is_empty()).unwrap_or_else(|| {
            self.0.push(StreamedCall::new(*next, delta.index));
            *next = next.saturating_add(1);
            self.0.len() - 1
        });
        let Some(call) = self.0.get_mut(at) else {
            return;
        };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        if let Some(extra) = delta.extra_content.filter(|_| call.extra.is_empty()) {
            call.extra = extra.get().to_owned();
        }
        if let Some(text) = arguments {
            call.arguments.push_str(&text);
            if call.opened {
                out.push(StreamEvent::CallArguments { slot: call.slot, text });
            }
        }
        if !call.id.is_empty() && !call.name.is_empty() {
            call.open(out);
        }
    }

    /// Gives out what was held back, and the slots of the calls that are whole, each with what it
    /// came with beside the protocol.
    ///
    /// `cut` says that the answer may end in the middle of a call: then only calls whose
    /// arguments are whole JSON count.
    pub(super) fn finish(self, cut: bool, out: &mut Vec<StreamEvent>) -> Vec<(u32, String)> {
        let mut whole = Vec::new();
        for mut call in self.0 {
            call.open(out);
            if cut && !is_json(&call.arguments) {
                continue;
            }
            whole.push((call.slot, call.extra));
        }
        whole
    }

    /// Gives out what was held back of the calls of an answer that breaks off.
    pub(super) fn show(&mut self, out: &mut Vec<StreamEvent>) {
        let named = |call: &&mut StreamedCall| !call.name.is_empty();
        let calls = self.0.iter_mut().filter(named);
        calls.for_each(|call| call.open(out));
    }

    /// A call without a name, which nobody could run or send back.
    pub(super) fn nameless(&self) -> bool {
        self.0.iter().any(|call| call.name.is_empty())
    }

    /// The call that a delta belongs to, unless it begins one.
    fn find(&self, index: Option<u64>, id: &str, named: bool) -> Option<usize> {
        let latest = |fits: &dyn Fn(&StreamedCall) -> bool| self.0.iter().rposition(fits);
        let Some(index) = index else {
            if id.is_empty() {
                return self.0.len().checked_sub(1);
            }
            return latest(&|call| call.id == id)
                .or_else(|| self.0.len().checked_sub(1).filter(|_| !named));
        };
        let same = |call: &StreamedCall| call.index == Some(index);
        if let Some(at) = latest(&|call| same(call) && !id.is_empty() && call.id == id) {
            return Some(at);
        }
        let at = latest(&same)?;
        let other = self
            .0
            .get(at)
            .is_some_and(|call| !id.is_empty() && !call.id.is_empty() && call.id != id && named);
        (!other).then_some(at)
    }
}

impl StreamedCall {
    fn new(slot: u32, index: Option<u64>) -> Self {
        Self {
            slot,
            index,
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
            extra: String::new(),
            opened: false,
        }
    }

    fn open(&mut self, out: &mut Vec<StreamEvent>) {
        if self.opened {
            return;
        }
        self.opened = true;
        out.push(StreamEvent::CallOpened {
            slot: self.slot,
            id: self.id.clone(),
            name: self.name.clone(),
        });
        if !self.arguments.is_empty() {
            let text = self.arguments.clone();
            out.push(StreamEvent::CallArguments { slot: self.slot, text });
        }
    }
}
