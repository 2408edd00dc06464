//! Compression of the facts in a unit: an LZ4 block whose dictionary has the words of many facts.
//!
//! Facts that are not compressed begin with `{`, so the first byte tells which they are. No encoded
//! fact has a zero byte, so a block has fewer than eight in a row: offsets of matches and lengths
//! are all that can be zero. A sector of zeros is never a part of it.

use std::borrow::Cow;

use lz4_flex::block::{compress_into_with_dict, decompress_with_dict, get_maximum_output_size};

/// First byte of compressed facts: this, and the number of zeros behind the block, at most 3.
const MARK: u8 = 0x10;
/// Bytes before the block: the mark, and 4 of the length of the facts.
const HEAD: usize = 5;
/// Fewest and most bytes of facts to compress. A single small fact saves less than it costs. The most
/// bounds the memory that a read takes.
const LEAST: usize = 384;
const MOST: usize = 1024 * 1024;

/// Most bytes that one byte of a block can stand for, and those of its last literals.
const EXPANSION: usize = 255;
const SLACK: usize = 32;

/// Most bytes before the facts of a unit to look for a block in, and most places to try there. They
/// bound the work on a planted file.
const MOST_OPENING: usize = 4 * 1024;
const PLACES: usize = 4;

/// Words of many facts. Blocks refer to them by their offset from the end, so that this file never
/// changes: another dictionary takes another mark.
const DICTIONARY: &[u8] = include_bytes!("dictionary-1.txt");

/// Compresses the facts from `start` on in place, unless that saves nothing. `unit` is the start of
/// their unit.
pub(super) fn compress(out: &mut Vec<u8>, unit: usize, start: usize) {
    let Some(facts) = out.get(start..).filter(|facts| (LEAST..=MOST).contains(&facts.len())) else {
        return;
    };
    let mut block = vec![0; HEAD + get_maximum_output_size(facts.len())];
    let len = u32::try_from(facts.len()).unwrap_or(u32::MAX);
    let to = block.get_mut(HEAD..).unwrap_or_default();
    let Ok(size) = compress_into_with_dict(facts, to, DICTIONARY) else {
        return;
    };
    block.truncate(HEAD + size);
    if block.len() >= facts.len() {
        return;
    }
    let used = start - unit + block.len();
    let filling = used.next_multiple_of(4) - used;
    let mark = MARK | u8::try_from(filling).unwrap_or_default();
    let head = std::iter::once(mark).chain(len.to_le_bytes());
    block.iter_mut().zip(head).for_each(|(to, from)| *to = from);
    out.truncate(start);
    out.append(&mut block);
}

/// Returns the facts of a unit with the zeros behind them, decompressed if need be; `None` if they
/// are no valid block.
pub(super) fn decompress(facts: &[u8]) -> Option<Cow<'_, [u8]>> {
    if facts.first().is_none_or(|mark| mark & !3 != MARK) {
        return Some(Cow::Borrowed(facts));
    }
    let (block, len) = split(facts)?;
    let facts = decompress_with_dict(block, len, DICTIONARY).ok()?;
    (facts.len() == len).then_some(Cow::Owned(facts))
}

/// Splits marked facts into their block and the length of their text; `None` if they cannot be so.
fn split(facts: &[u8]) -> Option<(&[u8], usize)> {
    let (mark, rest) = facts.split_first().filter(|(mark, _)| **mark & !3 == MARK)?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    let len = u32::from_le_bytes(*len) as usize;
    let (block, filling) = rest.split_at_checked(rest.len().checked_sub(usize::from(mark & 3))?)?;
    let most = MOST.min(block.len().saturating_mul(EXPANSION) + SLACK);
    (len <= most && filling.iter().all(|byte| *byte == 0)).then_some((block, len))
}

/// Finds the facts in a damaged unit of which the block is sound, so that only its place is unknown.
pub(crate) fn find(unit: &[u8]) -> Option<Cow<'_, [u8]>> {
    let starts = (0..unit.len().min(MOST_OPENING)).filter_map(|at| unit.get(at..));
    let mut blocks = starts.filter(|from| split(from).is_some()).take(PLACES);
    blocks.find_map(decompress)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(facts: &[u8]) -> Vec<u8> {
        let mut out = b"head".to_vec();
        out.extend_from_slice(facts);
        compress(&mut out, 0, 4);
        out.resize(out.len().next_multiple_of(4), 0);
        out.split_off(4)
    }

    /// Texts without zero bytes, of few letters and of many, with repetitions at all distances.
    fn samples() -> impl Iterator<Item = Vec<u8>> {
        (0..400_u32).map(|seed| {
            let mut state = seed.wrapping_mul(2_654_435_769) | 1;
            let letters = 1 + seed % 90;
            let next = || {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                b'!' + u8::try_from(state % letters).unwrap()
            };
            std::iter::repeat_with(next).take(seed as usize * 40).collect()
        })
    }

    #[test]
    fn facts_are_the_same_afterwards() {
        let mut shorter = 0;
        for facts in samples() {
            let block = block(&facts);
            shorter += usize::from(block.len() < facts.len());
            let read = decompress(&block).unwrap();
            assert_eq!(read.get(..facts.len()), Some(&*facts));
            assert!(read.iter().skip(facts.len()).all(|byte| *byte == 0));
        }
        assert!(shorter > 60, "{shorter}");
    }

    #[test]
    fn a_block_has_no_long_run_of_zeros() {
        for facts in samples() {
            let block = block(&facts);
            let longest = block.split(|byte| *byte != 0).map(<[u8]>::len).max();
            assert!(longest < Some(8), "{longest:?} of {}", facts.len());
        }
    }

    #[test]
    fn facts_of_a_step_take_less_than_a_third() {
        let facts = br#"{"v":1,"session":"a","seq":15006,"turn":3,"ts":1795854564622,"cause":{"input":"sample_event","facts":3},"kind":"ItemAdded","body":{"started":15005,"item":{"type":"text","text":"one word"}}}
{"v":1,"session":"a","seq":15009,"turn":3,"ts":1795854564622,"cause":{"input":"sample_event","facts":1},"kind":"SampleEnded","body":{"started":14999,"stop":"stop","usage":{"input":7,"output":3}}}
"#;
        let block = block(facts);
        assert!(block.len() * 3 < facts.len(), "{} of {}", block.len(), facts.len());
    }

    /// Another dictionary would change what every stored block means.
    #[test]
    fn the_dictionary_is_the_first_one() {
        assert_eq!(format!("{:08x}", crc32c::crc32c(DICTIONARY)), "086185e1");
    }

    #[test]
    fn a_sound_block_is_found_behind_a_few_places_that_look_like_one() {
        let facts = samples().nth(92).unwrap();
        let sound = block(&facts);
        // A block that is a match before anything.
        let false_start = [&[MARK][..], &9_u32.to_le_bytes(), &[0, 0, 0]].concat();
        let unit = |count| [false_start.repeat(count), sound.clone()].concat();
        assert_eq!(find(&unit(PLACES - 1)).as_deref(), Some(&*facts));
        assert_eq!(find(&unit(PLACES)), None);
    }

    #[test]
    fn what_is_no_block_is_none() {
        let large = u32::try_from(MOST + 1).unwrap().to_le_bytes();
        let lying = [[MARK].as_slice(), &large, &[0x10, b'a']].concat();
        assert_eq!(decompress(&lying), None);
        let more = [&[MARK][..], &100_000_u32.to_le_bytes(), &block(&[b'a'; 400])].concat();
        assert_eq!(split(&more), None, "no block of so few bytes stands for so many");
        let facts = samples().nth(92).unwrap();
        let block = block(&facts);
        assert!(block.len() < facts.len());
        for cut in 1..block.len() {
            let read = decompress(&block[..cut]);
            assert!(read.is_none_or(|read| *read != *facts), "{cut}");
        }
        // Whatever a checksum lets through, it ends, within the bound.
        for at in 1..block.len() {
            for bit in 0..8 {
                let mut changed = block.clone();
                changed[at] ^= 1 << bit;
                let read = decompress(&changed);
                assert!(read.is_none_or(|read| read.len() <= MOST));
            }
        }
    }
}
