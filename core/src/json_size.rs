//! JSON size: the bytes of a value as JSON without white space, counted without writing it.

use core::fmt;

use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};
use serde::{Serialize, Serializer};

/// Bytes that the escape of each byte of a text adds.
static ESCAPES: [u8; 256] = {
    let mut added = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        added[byte] = 5;
        byte += 1;
    }
    [added[0x08], added[0x09], added[0x0a], added[0x0c], added[0x0d]] = [1; 5];
    [added[b'"' as usize], added[b'\\' as usize]] = [1; 2];
    added
};

/// Powers of 10, of which the first counts the one digit of 0.
static POWERS: [u64; 20] = {
    let mut powers = [0; 20];
    let mut power = 1;
    while power < powers.len() {
        powers[power] = 10_u64.pow(power as u32);
        power += 1;
    }
    powers
};

/// Most bytes of a floating-point number.
const FLOAT: u64 = 24;

/// Returns the bytes of a value as JSON without white space.
pub(crate) fn json_size<T: Serialize + ?Sized>(value: &T) -> u64 {
    let mut bytes = 0;
    // Counting has no errors of its own. What precedes one of the value counts.
    let _ = value.serialize(Counter(&mut bytes));
    bytes
}

/// Counts the bytes of one value.
struct Counter<'a>(&'a mut u64);

/// Counts the bytes of an object or an array.
struct Parts<'a> {
    bytes: &'a mut u64,
    empty: bool,
    /// Bytes behind the last part.
    end: u64,
}

impl<'a> Counter<'a> {
    fn add(self, bytes: u64) -> Result<(), fmt::Error> {
        *self.0 = self.0.wrapping_add(bytes);
        Ok(())
    }

    fn unsigned(self, number: u64) -> Result<(), fmt::Error> {
        self.add(digits(number))
    }

    fn signed(self, number: i64) -> Result<(), fmt::Error> {
        *self.0 = self.0.wrapping_add(u64::from(number < 0));
        self.unsigned(number.unsigned_abs())
    }

    /// Counts `[` or `{`, and the name of an enum's variant with its braces before it.
    fn parts(self, variant: Option<&'static str>) -> Parts<'a> {
        let key = variant.map_or(0, |variant| name(variant).wrapping_add(2));
        *self.0 = self.0.wrapping_add(key).wrapping_add(1);
        Parts { bytes: self.0, empty: true, end: if variant.is_some() { 2 } else { 1 } }
    }
}

impl Parts<'_> {
    /// Counts a part, with the comma before it and its key.
    fn part<T: Serialize + ?Sized>(&mut self, key: u64, part: &T) -> Result<(), fmt::Error> {
        let comma = u64::from(!self.empty);
        self.empty = false;
        *self.bytes = self.bytes.wrapping_add(comma).wrapping_add(key);
        part.serialize(Counter(self.bytes))
    }

    fn end(self) -> Result<(), fmt::Error> {
        Counter(self.bytes).add(self.end)
    }
}

/// Returns the number of a number's decimal digits.
fn digits(number: u64) -> u64 {
    // 1,233 of 4,096 is the logarithm of 2 to the base 10, as closely as 64 bits need it.
    let bits = 64_u32.saturating_sub((number | 1).leading_zeros());
    let power = bits.saturating_mul(1_233) >> 12;
    let more = POWERS.get(power as usize).is_some_and(|least| number >= *least);
    u64::from(power).wrapping_add(more.into())
}

/// Returns the bytes of a text with its quotation marks.
fn text(text: &str) -> u64 {
    // Most texts have nothing to escape, which many bytes at a time can be asked.
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().fold(true, |all, byte| all & plain(byte)) {
        return name(text);
    }
    let added = |byte: u8| ESCAPES.get(usize::from(byte)).copied().map_or(0, u64::from);
    name(text).wrapping_add(text.bytes().map(added).sum())
}

/// Returns the bytes of a name with its quotation marks. Names in the code have nothing to escape.
fn name(name: &str) -> u64 {
    (name.len() as u64).wrapping_add(2)
}

/// Implements the methods for numbers, by the number that each is widened to.
macro_rules! numbers {
    ($($method:ident($number:ty) as $how:ident)*) => {$(
        fn $method(self, number: $number) -> Result<(), fmt::Error> {
            self.$how(number.into())
        }
    )*};
}

impl<'a> Serializer for Counter<'a> {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    numbers! {
        serialize_i8(i8) as signed
        serialize_i16(i16) as signed
        serialize_i32(i32) as signed
        serialize_i64(i64) as signed
        serialize_u8(u8) as unsigned
        serialize_u16(u16) as unsigned
        serialize_u32(u32) as unsigned
        serialize_u64(u64) as unsigned
    }

    fn serialize_bool(self, value: bool) -> Result<(), fmt::Error> {
        self.add(if value { 4 } else { 5 })
    }

    fn serialize_f32(self, _: f32) -> Result<(), fmt::Error> {
        self.add(FLOAT)
    }

    fn serialize_f64(self, _: f64) -> Result<(), fmt::Error> {
        self.add(FLOAT)
    }

    fn serialize_char(self, value: char) -> Result<(), fmt::Error> {
        self.add(text(value.encode_utf8(&mut [0; 4])))
    }

    fn serialize_str(self, value: &str) -> Result<(), fmt::Error> {
        self.add(text(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), fmt::Error> {
        self.add(4)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), fmt::Error> {
        self.add(4)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), fmt::Error> {
        self.add(4)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), fmt::Error> {
        self.add(name(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        let mut parts = self.parts(None);
        parts.part(name(variant).wrapping_add(1), value)?;
        parts.end()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, fmt::Error> {
        Ok(self.parts(None))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>, fmt::Error> {
        Ok(self.parts(None))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, fmt::Error> {
        Ok(self.parts(None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, fmt::Error> {
        Ok(self.parts(Some(variant)))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, fmt::Error> {
        Ok(self.parts(None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, fmt::Error> {
        Ok(self.parts(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, fmt::Error> {
        Ok(self.parts(Some(variant)))
    }
}

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), fmt::Error> {
        // With the colon behind it.
        self.part(1, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        value.serialize(Counter(self.bytes))
    }

    fn end(self) -> Result<(), fmt::Error> {
        Parts::end(self)
    }
}

/// Implements the traits for arrays, by their methods.
macro_rules! arrays {
    ($($of:ident::$method:ident)*) => {$(
        impl $of for Parts<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
                self.part(0, value)
            }

            fn end(self) -> Result<(), fmt::Error> {
                Parts::end(self)
            }
        }
    )*};
}

arrays! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

/// Implements the traits for objects with known keys.
macro_rules! objects {
    ($($of:ident)*) => {$(
        impl $of for Parts<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), fmt::Error> {
                self.part(name(key).wrapping_add(1), value)
            }

            fn end(self) -> Result<(), fmt::Error> {
                Parts::end(self)
            }
        }
    )*};
}

objects! { SerializeStruct SerializeStructVariant }

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn a_number_has_as_many_digits_as_are_written() {
        let powers = (0..20).map(|power| 10_u64.pow(power));
        let bits = (0..64).map(|bit| 1_u64 << bit);
        for number in powers.chain(bits).chain([0, u64::MAX]) {
            for near in [number.wrapping_sub(1), number, number.wrapping_add(1)] {
                assert_eq!(digits(near), near.to_string().len() as u64, "{near}");
            }
        }
    }
}
