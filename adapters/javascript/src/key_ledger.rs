//! Prices of keys that collide in the engine's hash tables.
//!
//! QuickJS hashes texts and numbers without a secret, so a program or the answer of a tool can have
//! keys that all stand in one chain, of which each lookup goes through all. Here the chains are
//! counted with the same hashes, over all tables of a program together, and a use of a key costs steps
//! by the length of its chain. Counts depend on the program alone.

//!
//! What is known of keys counts as memory of the program, with a share of its limit.

use std::collections::HashSet;
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

/// Bytes of a key in a set, which is filled to seven eighths at most.
const KEY_BYTES: usize = 11;

/// Longest key of JSON with escapes that is read, in bytes.
const MOST_ESCAPED: usize = 64 << 10;

/// Part of a program's memory that its keys may take here, and the least for any program, in bytes.
const SHARE: (u64, u64) = (4, 1 << 20);

/// Steps that a use of keys costs.
pub(crate) type KeyPrice = Result<u64, KeyFault>;

/// Reason why keys cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyFault {
    /// Too many indexes are in one chain.
    LongChain,
    /// There is no memory for more keys.
    NoMemory,
}

/// Keys of a program, by the tables in which they are looked up.
#[derive(Debug)]
pub(crate) struct KeyLedger {
    names: Chains,
    indexes: Chains,
    texts: Chains,
    numbers: Chains,
    /// Tells keys apart. Its secret is of no consequence for the counts.
    identities: RandomState,
    /// Most bytes for all keys.
    most: usize,
}

impl KeyLedger {
    /// Creates the ledger of a program that may have this much memory.
    pub(crate) fn new(memory_bytes: u64) -> Self {
        Self {
            names: Chains::default(),
            indexes: Chains::default(),
            texts: Chains::default(),
            numbers: Chains::default(),
            identities: RandomState::new(),
            most: usize::try_from((memory_bytes / SHARE.0).max(SHARE.1)).unwrap_or(usize::MAX),
        }
    }

    /// Counts the key of a property.
    pub(crate) fn property(&mut self, key: &str) -> KeyPrice {
        let left = self.left();
        if let Some(index) = index(key) {
            if index < SMALLEST_INDEX {
                return Ok(0);
            }
            let identity = self.identities.hash_one(index);
            let chain = self.indexes.add(identity, index_hash(index), left)?;
            let counted = (chain <= MAX_INDEXES).then_some(price(chain));
            return counted.ok_or(KeyFault::LongChain);
        }
        let identity = self.identities.hash_one(key);
        self.names.add(identity, text_hash(1, key), left).map(price)
    }

    /// Counts a text as the key of a map or set.
    pub(crate) fn text(&mut self, key: &str) -> KeyPrice {
        let left = self.left();
        self.texts.add(self.identities.hash_one(key), text_hash(0, key), left).map(price)
    }

    /// Counts a number as the key of a map or set.
    pub(crate) fn number(&mut self, key: f64) -> KeyPrice {
        let left = self.left();
        let bits = key.to_bits();
        let hash = (bits as u32 ^ (bits >> 32) as u32).wrapping_mul(3_163);
        self.numbers.add(self.identities.hash_one(bits), hash, left).map(price)
    }

    /// Counts a key of which the text cannot be read: all of them are one chain.
    pub(crate) fn unreadable(&mut self) -> KeyPrice {
        let left = self.left();
        let identity = self.identities.hash_one(self.texts.keys.len());
        self.texts.add(identity, 0, left).map(price)
    }

    /// Returns the bytes by which the ledger may grow.
    fn left(&self) -> usize {
        let all = [&self.names, &self.indexes, &self.texts, &self.numbers];
        self.most.saturating_sub(all.map(Chains::bytes).into_iter().sum())
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
                true if string.len() > MOST_ESCAPED => self.unreadable()?,
                true => match serde_json::from_str::<String>(&format!("\"{string}\"")) {
                    Ok(key) => self.property(&key)?,
                    Err(_) => self.unreadable()?,
                },
            };
            steps = steps.saturating_add(price);
        }
        Ok(steps)
    }
}

/// Keys in the chains of one kind of table.
#[derive(Debug)]
struct Chains {
    /// Known keys: the last bits of each one's hash, and before them what tells it from others.
    keys: HashSet<u64>,
    /// Number of keys by the last bits of their hash.
    counts: Vec<u32>,
}

impl Default for Chains {
    fn default() -> Self {
        Self { keys: HashSet::new(), counts: vec![0; 1 << BITS.0] }
    }
}

impl Chains {
    /// Returns the bytes that the keys take.
    fn bytes(&self) -> usize {
        self.keys.capacity() * KEY_BYTES + self.counts.len() * size_of::<u32>()
    }

    /// Adds a key, unless it is known, and returns the number of keys in its chain. The table may grow by
    /// this many bytes.
    fn add(&mut self, identity: u64, hash: u32, left: usize) -> Result<u32, KeyFault> {
        let last = hash & ((1 << BITS.1) - 1);
        let key = identity << BITS.1 | u64::from(last);
        // A full set doubles.
        let full = self.keys.len() == self.keys.capacity();
        if full && self.bytes() > left && !self.keys.contains(&key) {
            return Err(KeyFault::NoMemory);
        }
        let new = self.keys.insert(key);
        if new && self.keys.len() > 2 * self.counts.len() && self.counts.len() < 1 << BITS.1 {
            self.counts = vec![0; 2 * self.counts.len()];
            let places = self.counts.len() as u64 - 1;
            for key in &self.keys {
                count(&mut self.counts, key & places);
            }
        } else if new {
            let places = self.counts.len() as u64 - 1;
            count(&mut self.counts, key & places);
        }
        // The engine, too, takes the last bits.
        let place = last as usize & (self.counts.len() - 1);
        Ok(self.counts.get(place).copied().unwrap_or_default())
    }
}

fn count(counts: &mut [u32], place: u64) {
    let place = usize::try_from(place).unwrap_or_default();
    if let Some(count) = counts.get_mut(place) {
        *count += 1;
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
