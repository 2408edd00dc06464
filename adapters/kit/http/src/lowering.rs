//! Lowers the parts of a conversation that a provider does not accept, the same way for all
//! protocols, and reports each for the log. Pure.

use std::borrow::Cow;

use windlass_core::{
    CallItem, Lowered, LoweredBecause, LoweredPart, Lowering, Opaque, ReasoningItem,
};

use crate::pictures::Picture;

/// Target of a request. Opaque items of a provider are sent back to the same place only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The dialect that reads such forms, as in [`Opaque::provider`].
    pub dialect: &'a str,
    /// The endpoint, as in [`Opaque::endpoint`].
    pub endpoint: &'a str,
    /// The model that is asked.
    pub model: &'a str,
}

impl Place<'_> {
    /// Returns true if an opaque item was made here.
    #[must_use]
    pub fn made(&self, opaque: &Opaque) -> bool {
        opaque.provider == self.dialect
            && opaque.endpoint == self.endpoint
            && opaque.model == self.model
    }

    /// A form that was made here.
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

/// The payload of a reasoning that goes back, or why it is dropped. `is_whole` says whether a
/// payload that was made here can stand by itself.
///
/// # Errors
/// `NoPlace` when the reasoning has only its readable text, `Foreign` when another place made it,
/// `Unfit` when it is not whole.
pub fn reasoning<'a>(
    item: &'a ReasoningItem,
    here: &Place<'_>,
    is_whole: impl FnOnce(&str) -> bool,
) -> Result<&'a str, LoweredBecause> {
    let opaque = item.opaque.as_ref().ok_or(LoweredBecause::NoPlace)?;
    own(opaque, here, is_whole)
}

/// The opaque part of a call that goes back, if it has one, or why that is dropped: as
/// [`reasoning`].
///
/// # Errors
/// `Foreign` or `Unfit`. The call itself is sent in any case.
pub fn call_opaque<'a>(
    call: &'a CallItem,
    here: &Place<'_>,
    is_whole: impl FnOnce(&str) -> bool,
) -> Result<Option<&'a str>, LoweredBecause> {
    let opaque = call.opaque.as_ref();
    opaque.map(|opaque| own(opaque, here, is_whole)).transpose()
}

fn own<'a>(
    opaque: &'a Opaque,
    here: &Place<'_>,
    is_whole: impl FnOnce(&str) -> bool,
) -> Result<&'a str, LoweredBecause> {
    if !here.made(opaque) {
        return Err(LoweredBecause::Foreign);
    }
    if !is_whole(&opaque.payload) {
        return Err(LoweredBecause::Unfit);
    }
    Ok(&opaque.payload)
}

/// The bytes of an image in base64, or why words stand in its place. `taken` says whether the
/// server takes images.
///
/// # Errors
/// `NoPlace` or `Missing`.
pub fn image(picture: Picture, taken: bool) -> Result<std::sync::Arc<str>, LoweredBecause> {
    if !taken {
        return Err(LoweredBecause::NoPlace);
    }
    picture.ok_or(LoweredBecause::Missing)
}

/// Gathers what is lowered while a request is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    closed: Vec<Lowered>,
    open: Vec<Lowered>,
}

impl Report {
    /// A part was left out.
    pub fn dropped(&mut self, what: LoweredPart, why: LoweredBecause) {
        self.note(what, Lowering::Dropped, why);
    }

    /// A part was sent in a lesser form.
    pub fn downgraded(&mut self, what: LoweredPart, why: LoweredBecause) {
        self.note(what, Lowering::Downgraded, why);
    }

    /// Passes a text on; one that had to be written anew to fit is downgraded.
    pub fn fitted<'a>(&mut self, what: LoweredPart, text: Cow<'a, str>) -> Cow<'a, str> {
        if let Cow::Owned(_) = text {
            self.downgraded(what, LoweredBecause::Unfit);
        }
        text
    }

    /// All that was noted belongs to items that nothing later can change.
    pub fn close(&mut self) {
        add(&mut self.closed, &self.open);
        self.open.clear();
    }

    /// Splits the lowered parts by closed and open items, as in [`Encoded`](crate::Encoded).
    #[must_use]
    pub fn into_parts(self) -> (Vec<Lowered>, Vec<Lowered>) {
        (self.closed, self.open)
    }

    fn note(&mut self, what: LoweredPart, how: Lowering, why: LoweredBecause) {
        let one = Lowered {
            what,
            how,
            why,
            count: 1,
        };
        add(&mut self.open, &[one]);
    }
}

/// Adds what was lowered to a list, which stays as long as there are kinds of it.
pub(crate) fn add(list: &mut Vec<Lowered>, new: &[Lowered]) {
    for one in new {
        let same = |known: &&mut Lowered| {
            (known.what, known.how, known.why) == (one.what, one.how, one.why)
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

    const HERE: Place<'_> = Place {
        dialect: "d",
        endpoint: "http://host/v1",
        model: "m",
    };

    fn of(opaque: Option<Opaque>) -> ReasoningItem {
        let text = String::from("hm");
        ReasoningItem { text, opaque }
    }

    #[test]
    fn reasoning_goes_back_only_to_the_place_that_made_it() {
        let mine = of(Some(HERE.opaque("{}")));
        assert_eq!(reasoning(&mine, &HERE, |_| true), Ok("{}"));
        let others = [
            Place {
                dialect: "e",
                ..HERE
            },
            Place {
                endpoint: "http://other/v1",
                ..HERE
            },
            Place { model: "n", ..HERE },
        ];
        for other in others {
            let why = Err(LoweredBecause::Foreign);
            assert_eq!(reasoning(&mine, &other, |_| true), why, "{other:?}");
        }
    }

    #[test]
    fn reasoning_that_is_not_whole_or_only_words_does_not_go_back() {
        let mine = of(Some(HERE.opaque("{}")));
        let whole = |payload: &str| payload.contains("signature");
        assert_eq!(reasoning(&mine, &HERE, whole), Err(LoweredBecause::Unfit));
        let words = of(None);
        let words = reasoning(&words, &HERE, |_| true);
        assert_eq!(words, Err(LoweredBecause::NoPlace));
    }

    #[test]
    fn a_call_without_an_opaque_part_lacks_nothing() {
        let mut call = CallItem {
            provider_id: "c".into(),
            name: "n".into(),
            arguments: "{}".into(),
            fault: None,
            rules: Vec::new(),
            opaque: None,
            spoken: false,
        };
        assert_eq!(call_opaque(&call, &HERE, |_| false), Ok(None));
        call.opaque = Some(HERE.opaque("s"));
        assert_eq!(call_opaque(&call, &HERE, |_| true), Ok(Some("s")));
        let other = Place { model: "n", ..HERE };
        let why = Err(LoweredBecause::Foreign);
        assert_eq!(call_opaque(&call, &other, |_| true), why);
    }

    #[test]
    fn words_stand_for_an_image_that_is_not_kept_or_not_taken() {
        assert_eq!(image(None, true), Err(LoweredBecause::Missing));
        assert_eq!(image(Some("x".into()), false), Err(LoweredBecause::NoPlace));
        assert_eq!(image(Some("x".into()), true), Ok("x".into()));
    }

    #[test]
    fn a_report_counts_by_kind_and_tells_open_from_closed() {
        let mut report = Report::default();
        report.dropped(LoweredPart::Reasoning, LoweredBecause::Foreign);
        report.dropped(LoweredPart::Reasoning, LoweredBecause::Foreign);
        assert_eq!(report.fitted(LoweredPart::CallId, "a".into()), "a");
        report.close();
        report.dropped(LoweredPart::Reasoning, LoweredBecause::Foreign);
        let owned = Cow::Owned(String::from("b"));
        assert_eq!(report.fitted(LoweredPart::CallId, owned), "b");
        let (closed, open) = report.clone().into_parts();
        let counts = |list: &[Lowered]| list.iter().map(|one| one.count).collect::<Vec<_>>();
        assert_eq!((counts(&closed), counts(&open)), (vec![2], vec![1, 1]));
        report.close();
        assert_eq!(counts(&report.into_parts().0), [3, 1]);
    }
}
