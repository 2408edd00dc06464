//! Lowers the parts of a conversation that a provider does not accept, in the same way for all
//! protocols, and reports each of them for the log. Pure.

use std::borrow::Cow;
use std::sync::Arc;

use windlass_core::{
    CallItem, Image, LoweredPart, LoweringAction, LoweringReason, LoweringRecord, Observation,
    Opaque, ReasoningItem, result_text,
};

use crate::images::{EncodedImage, EncodedImages};
use crate::request::result_image_placeholder;

/// Target of a request. Opaque items are sent back only to the target that produced them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTarget<'a> {
    /// Dialect that reads these payloads, as in [`Opaque::provider`].
    pub dialect: &'a str,
    /// Endpoint, as in [`Opaque::endpoint`].
    pub endpoint: &'a str,
    /// Requested model.
    pub model: &'a str,
}

impl RequestTarget<'_> {
    /// Returns true if this target produced an opaque item.
    #[must_use]
    pub fn produced(&self, opaque: &Opaque) -> bool {
        opaque.provider == self.dialect
            && opaque.endpoint == self.endpoint
            && opaque.model == self.model
    }

    /// Creates an opaque item of this target.
    #[must_use]
    pub fn opaque(&self, payload: impl Into<String>) -> Opaque {
        Opaque {
            provider: self.dialect.to_owned(),
            endpoint: self.endpoint.to_owned(),
            model: self.model.to_owned(),
            payload: payload.into(),
        }
    }
}

/// Returns the payload of a reasoning item to send back, or the reason why it is dropped.
/// `is_whole` checks that a payload of this target is complete.
///
/// # Errors
/// `Unsupported` when the reasoning has only its readable text, `Foreign` when another target
/// produced it, `Invalid` when it is incomplete.
pub fn reasoning<'a>(
    item: &'a ReasoningItem,
    here: &RequestTarget<'_>,
    is_whole: impl FnOnce(&str) -> bool,
) -> Result<&'a str, LoweringReason> {
    let opaque = item.opaque.as_ref().ok_or(LoweringReason::Unsupported)?;
    own(opaque, here, is_whole)
}

/// Returns the opaque part of a call to send back, if it has one, or the reason why it is dropped,
/// as [`reasoning`].
///
/// # Errors
/// `Foreign` or `Invalid`. The call itself is always sent.
pub fn call_opaque<'a>(
    call: &'a CallItem,
    here: &RequestTarget<'_>,
    is_whole: impl FnOnce(&str) -> bool,
) -> Result<Option<&'a str>, LoweringReason> {
    let opaque = call.opaque.as_ref();
    opaque.map(|opaque| own(opaque, here, is_whole)).transpose()
}

fn own<'a>(
    opaque: &'a Opaque,
    here: &RequestTarget<'_>,
    is_whole: impl FnOnce(&str) -> bool,
) -> Result<&'a str, LoweringReason> {
    if !here.produced(opaque) {
        return Err(LoweringReason::Foreign);
    }
    if !is_whole(&opaque.payload) {
        return Err(LoweringReason::Invalid);
    }
    Ok(&opaque.payload)
}

/// Returns the bytes of an image in base64, or the reason why a text replaces it. `taken` is true
/// if the server accepts images.
///
/// # Errors
/// `Unsupported` or `Missing`.
pub fn image(picture: EncodedImage, taken: bool) -> Result<Arc<str>, LoweringReason> {
    if !taken {
        return Err(LoweringReason::Unsupported);
    }
    picture.ok_or(LoweringReason::Missing)
}

/// Result of a call as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredResult<'a> {
    /// Its text, which also names the images that are not sent.
    pub text: Cow<'a, str>,
    /// Its images that are sent, each with its bytes in base64.
    pub images: Vec<(&'a Image, Arc<str>)>,
}

/// Returns the result of a call as it is sent. `taken` returns the bytes of an image in base64, or the
/// reason why a text replaces it.
pub fn result<'a>(
    observation: &'a Observation,
    edited: Option<&str>,
    pictures: &EncodedImages,
    taken: impl Fn(&Image, EncodedImage) -> Result<Arc<str>, LoweringReason>,
    report: &mut LoweringReport,
) -> LoweredResult<'a> {
    let mut text = result_text(observation, edited);
    let mut images = Vec::new();
    for image in &observation.images {
        match taken(image, pictures.get(image)) {
            Ok(data) => images.push((image, data)),
            Err(why) => {
                report.downgraded(LoweredPart::Image, why);
                let text = text.to_mut();
                text.push('\n');
                text.push_str(&result_image_placeholder(image));
            }
        }
    }
    LoweredResult { text, images }
}

/// Collects lowered parts while a request is encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoweringReport {
    closed: Vec<LoweringRecord>,
    open: Vec<LoweringRecord>,
}

impl LoweringReport {
    /// Records that a part was dropped.
    pub fn dropped(&mut self, what: LoweredPart, why: LoweringReason) {
        self.note(what, LoweringAction::Dropped, why);
    }

    /// Records that a part was sent in a reduced form.
    pub fn downgraded(&mut self, what: LoweredPart, why: LoweringReason) {
        self.note(what, LoweringAction::Downgraded, why);
    }

    /// Returns a text, and records it as downgraded if it was rewritten to be valid.
    pub fn checked_text<'a>(&mut self, what: LoweredPart, text: Cow<'a, str>) -> Cow<'a, str> {
        if let Cow::Owned(_) = text {
            self.downgraded(what, LoweringReason::Invalid);
        }
        text
    }

    /// Closes the items so far: no later item can change them.
    pub fn close(&mut self) {
        add(&mut self.closed, &self.open);
        self.open.clear();
    }

    /// Splits the lowered parts by closed and open items, as in
    /// [`EncodedItems`](crate::EncodedItems).
    #[must_use]
    pub fn into_parts(self) -> (Vec<LoweringRecord>, Vec<LoweringRecord>) {
        (self.closed, self.open)
    }

    fn note(&mut self, what: LoweredPart, how: LoweringAction, why: LoweringReason) {
        let one = LoweringRecord { part: what, action: how, reason: why, count: 1 };
        add(&mut self.open, &[one]);
    }
}

/// Adds lowered parts to a list, with one entry for each kind.
pub(crate) fn add(list: &mut Vec<LoweringRecord>, new: &[LoweringRecord]) {
    for one in new {
        let same = |known: &&mut LoweringRecord| {
            (known.part, known.action, known.reason) == (one.part, one.action, one.reason)
        };
        match list.iter_mut().find(same) {
            Some(known) => known.count = known.count.saturating_add(one.count),
            None => list.push(*one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: RequestTarget<'_> =
        RequestTarget { dialect: "d", endpoint: "http://host/v1", model: "m" };

    fn of(opaque: Option<Opaque>) -> ReasoningItem {
        let text = String::from("hm");
        ReasoningItem { text, opaque, ..Default::default() }
    }

    #[test]
    fn reasoning_goes_back_only_to_the_place_that_made_it() {
        let mine = of(Some(HERE.opaque("{}")));
        assert_eq!(reasoning(&mine, &HERE, |_| true), Ok("{}"));
        let others = [
            RequestTarget { dialect: "e", ..HERE },
            RequestTarget { endpoint: "http://other/v1", ..HERE },
            RequestTarget { model: "n", ..HERE },
        ];
        for other in others {
            let why = Err(LoweringReason::Foreign);
            assert_eq!(reasoning(&mine, &other, |_| true), why, "{other:?}");
        }
    }

    #[test]
    fn reasoning_that_is_not_whole_or_only_words_does_not_go_back() {
        let mine = of(Some(HERE.opaque("{}")));
        let whole = |payload: &str| payload.contains("signature");
        assert_eq!(reasoning(&mine, &HERE, whole), Err(LoweringReason::Invalid));
        let words = of(None);
        let words = reasoning(&words, &HERE, |_| true);
        assert_eq!(words, Err(LoweringReason::Unsupported));
    }

    #[test]
    fn a_call_without_an_opaque_part_lacks_nothing() {
        let mut call = CallItem {
            provider_id: "c".into(),
            name: "n".into(),
            arguments: "{}".into(),
            fault: None,
            rules: Vec::new(),
            possible_rules: Vec::new(),
            outside_sandbox: false,
            sha256: None,
            opaque: None,
            inline: false,
        };
        assert_eq!(call_opaque(&call, &HERE, |_| false), Ok(None));
        call.opaque = Some(HERE.opaque("s"));
        assert_eq!(call_opaque(&call, &HERE, |_| true), Ok(Some("s")));
        let other = RequestTarget { model: "n", ..HERE };
        let why = Err(LoweringReason::Foreign);
        assert_eq!(call_opaque(&call, &other, |_| true), why);
    }

    #[test]
    fn words_stand_for_an_image_that_is_not_kept_or_not_taken() {
        assert_eq!(image(None, true), Err(LoweringReason::Missing));
        assert_eq!(image(Some("x".into()), false), Err(LoweringReason::Unsupported));
        assert_eq!(image(Some("x".into()), true), Ok("x".into()));
    }

    #[test]
    fn a_report_counts_by_kind_and_tells_open_from_closed() {
        let mut report = LoweringReport::default();
        report.dropped(LoweredPart::Reasoning, LoweringReason::Foreign);
        report.dropped(LoweredPart::Reasoning, LoweringReason::Foreign);
        assert_eq!(report.checked_text(LoweredPart::CallId, "a".into()), "a");
        report.close();
        report.dropped(LoweredPart::Reasoning, LoweringReason::Foreign);
        let owned = Cow::Owned(String::from("b"));
        assert_eq!(report.checked_text(LoweredPart::CallId, owned), "b");
        let (closed, open) = report.clone().into_parts();
        let counts = |list: &[LoweringRecord]| list.iter().map(|one| one.count).collect::<Vec<_>>();
        assert_eq!((counts(&closed), counts(&open)), (vec![2], vec![1, 1]));
        report.close();
        assert_eq!(counts(&report.into_parts().0), [3, 1]);
    }
}
