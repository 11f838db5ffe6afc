//! Serialisation of long lists of numbers: one block of bytes in binary formats, a list in text
//! formats.
//!
//! Serialised one by one, each number of a large model would pass through several virtual calls.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Number of a fixed size, stored in little-endian order.
pub(crate) trait Number: Copy + Serialize + for<'de> Deserialize<'de> {
    /// Bytes of the number.
    type Bytes: AsRef<[u8]> + for<'a> TryFrom<&'a [u8]>;
    /// Converts the number to bytes.
    fn to_bytes(self) -> Self::Bytes;
    /// Converts bytes to the number.
    fn from_bytes(bytes: Self::Bytes) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            type Bytes = [u8; size_of::<$type>()];
            fn to_bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }
            fn from_bytes(bytes: Self::Bytes) -> Self {
                <$type>::from_le_bytes(bytes)
            }
        }
    };
}
number!(u16);
number!(u32);
number!(f64);

pub(crate) fn serialize<T: Number, S: Serializer>(
    numbers: &impl AsRef<[T]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let numbers = numbers.as_ref();
    if serializer.is_human_readable() {
        return serializer.collect_seq(numbers);
    }
    let mut bytes = Vec::with_capacity(size_of_val(numbers));
    numbers.iter().for_each(|number| bytes.extend_from_slice(number.to_bytes().as_ref()));
    serializer.serialize_bytes(&bytes)
}

pub(crate) fn deserialize<'de, T: Number, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Numbers<T>(PhantomData<T>);
    impl<'de, T: Number> Visitor<'de> for Numbers<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("numbers")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
            let each = bytes.chunks_exact(size_of::<T>());
            if !each.remainder().is_empty() {
                return Err(E::custom("a list of numbers ends within a number"));
            }
            let number = |bytes| T::Bytes::try_from(bytes).map(T::from_bytes);
            each.map(|bytes| number(bytes).map_err(|_| E::custom("a number of another size"))).collect()
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut numbers = Vec::new();
            while let Some(number) = seq.next_element()? {
                numbers.push(number);
            }
            Ok(numbers)
        }
    }
    if deserializer.is_human_readable() {
        deserializer.deserialize_seq(Numbers(PhantomData))
    } else {
        deserializer.deserialize_bytes(Numbers(PhantomData))
    }
}
