//! Prices of keys that collide in the engine's hash tables.
//!
//! QuickJS hashes texts and numbers without a secret, so a program or the answer of a tool can have
//! keys that all stand in one chain, of which each lookup goes through all. Here the chains are
//! counted with the same hashes, over all tables of a program together, and a use of a key costs steps
//! by the length of its chain. Counts depend on the program alone.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Keys of a chain for which a lookup costs one step.
const KEYS_A_STEP: u32 = 16;

/// Most indexes in one chain. A property that is named in the source is looked up for next to nothing.
const MAX_INDEXES: u32 = 1_000;

/// Smallest index that is counted: of those below it few are in one chain.
const SMALLEST_INDEX: u32 = 1 << 20;

/// Bits of a hash by which chains are told apart: at first, and at most.
const BITS: (u32, u32) = (10, 16);

/// Steps that a use of keys costs, or `None` if too many indexes are in one chain.
pub(crate) type KeyPrice = Option<u64>;

/// Keys of a program, by the tables in which they are looked up.
#[derive(Debug, Default)]
pub(crate) struct KeyLedger {
    names: Chains,
    indexes: Chains,
    texts: Chains,
    numbers: Chains,
    /// Tells texts apart. Its secret is of no consequence for the counts.
    identities: RandomState,
}

impl KeyLedger {
    /// Counts the key of a property.
    pub(crate) fn property(&mut self, key: &str) -> KeyPrice {
        if let Some(index) = index(key) {
            if index < SMALLEST_INDEX {
                return Some(0);
            }
            let chain = self.indexes.add(index.into(), index_hash(index));
            return (chain <= MAX_INDEXES).then_some(price(chain));
        }
        let chain = self.names.add(self.identities.hash_one(key), text_hash(1, key));
        Some(price(chain))
    }

    /// Counts a text as the key of a map or set.
    pub(crate) fn text(&mut self, key: &str) -> u64 {
        price(self.texts.add(self.identities.hash_one(key), text_hash(0, key)))
    }

    /// Counts a number as the key of a map or set.
    pub(crate) fn number(&mut self, key: f64) -> u64 {
        let bits = key.to_bits();
        let hash = (bits as u32 ^ (bits >> 32) as u32).wrapping_mul(3_163);
        price(self.numbers.add(bits, hash))
    }

    /// Counts a key of which the text cannot be read: all of them are one chain.
    pub(crate) fn unreadable(&mut self) -> u64 {
        let identity = self.texts.hashes.len() as u64;
        price(self.texts.add(identity, 0))
    }

    /// Counts the keys of all objects in a text of JSON.
    pub(crate) fn json(&mut self, text: &str) -> KeyPrice {
        let (mut rest, mut steps) = (text, 0_u64);
        while let Some((_, begun)) = rest.split_once('"') {
            let Some(end) = string_end(begun) else { break };
            let Some((string, behind)) = begun.split_at_checked(end) else { break };
            rest = behind.get(1..).unwrap_or_default();
            if !rest.trim_start_matches([' ', '\t', '\n', '\r']).starts_with(':') {
                continue;
            }
            let price = match string.contains('\\') {
                false => self.property(string)?,
                true => match serde_json::from_str::<String>(&format!("\"{string}\"")) {
                    Ok(key) => self.property(&key)?,
                    Err(_) => self.unreadable(),
                },
            };
            steps = steps.saturating_add(price);
        }
        Some(steps)
    }
}

/// Keys in the chains of one kind of table.
#[derive(Debug)]
struct Chains {
    /// Hash of each known key.
    hashes: HashMap<u64, u32>,
    /// Number of keys by the last bits of their hash.
    counts: Vec<u32>,
}

impl Default for Chains {
    fn default() -> Self {
        Self { hashes: HashMap::new(), counts: vec![0; 1 << BITS.0] }
    }
}

impl Chains {
    /// Adds a key, unless it is known, and returns the number of keys in its chain.
    fn add(&mut self, identity: u64, hash: u32) -> u32 {
        let new = self.hashes.insert(identity, hash).is_none();
        if new && self.hashes.len() > 2 * self.counts.len() && self.counts.len() < 1 << BITS.1 {
            self.counts = vec![0; 2 * self.counts.len()];
            let hashes: Vec<u32> = self.hashes.values().copied().collect();
            hashes.into_iter().for_each(|hash| self.count(hash, 1));
        } else if new {
            self.count(hash, 1);
        }
        self.counts.get(self.place(hash)).copied().unwrap_or_default()
    }

    fn count(&mut self, hash: u32, more: u32) {
        let place = self.place(hash);
        if let Some(count) = self.counts.get_mut(place) {
            *count += more;
        }
    }

    /// Returns the place of a hash: the engine, too, takes the last bits.
    fn place(&self, hash: u32) -> usize {
        hash as usize & (self.counts.len() - 1)
    }
}

fn price(chain: u32) -> u64 {
    u64::from(chain / KEYS_A_STEP)
}

/// Returns the number of a key that the engine takes for an index.
fn index(key: &str) -> Option<u32> {
    let digits = key.len() <= 10 && key.bytes().all(|b| b.is_ascii_digit());
    let number: u32 = key.parse().ok().filter(|_| digits)?;
    (number < 1 << 31 && (key == "0" || !key.starts_with('0'))).then_some(number)
}

/// Hash of a text in the engine, from its units of UTF-16.
fn text_hash(begin: u32, text: &str) -> u32 {
    let step = |(hash, count): (u32, u32), unit: u16| {
        (hash.wrapping_mul(263).wrapping_add(unit.into()), count + 1)
    };
    let (hash, count) = text.encode_utf16().fold((begin, 0), step);
    hash ^ count.wrapping_mul(0x61c8_8647)
}

/// Hash of an index in the engine, of which it takes the first bits; here the last ones are.
fn index_hash(index: u32) -> u32 {
    let product = (u64::from(index) | 1 << 31).wrapping_mul(0x61c8_8646_80b5_83eb);
    ((product >> 32) as u32).reverse_bits()
}

/// Returns the place of the quotation mark that ends a string.
fn string_end(string: &str) -> Option<usize> {
    let mut escaped = false;
    string.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })
}
