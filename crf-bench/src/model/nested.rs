//! Reading postcard's format with a bound on nesting.

use std::cell::Cell;
use std::thread;

use postcard::Deserializer;
use postcard::de_flavors::Flavor;
use serde::de::DeserializeOwned;

/// The stack of the thread that reads, and the part of it that values within each other may use.
///
/// A level takes some ten kilobytes, so that hundreds of levels can be read. What is read is used
/// on smaller stacks, but takes far less of them.
const STACK: usize = 16 << 20;
const MAX_USED: usize = 8 << 20;

/// Reads a value, and returns also the number of bytes that follow it.
///
/// Values within each other are read by recursion. Plugins within each other are counted; this
/// bounds the rest, whatever it is, so that a small file cannot overflow the stack, which would end
/// the program.
pub(crate) fn read_nested<T: DeserializeOwned + Send>(bytes: &[u8]) -> Result<(T, usize), String> {
    let read = || {
        let too_deep = Cell::new(false);
        let mut from = Deserializer::from_flavor(Measured { bytes, base: address(), too_deep: &too_deep });
        let value = T::deserialize(&mut from);
        let rest = from.finalize().map_err(|error| error.to_string())?;
        // On its way through plugins the error loses what it was.
        value.map(|value| (value, rest)).map_err(|error| match too_deep.get() {
            true => "its parts are nested too deeply".to_owned(),
            false => error.to_string(),
        })
    };
    thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read);
        let reader = reader.map_err(|error| format!("no thread can be started: {error}"))?;
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Bytes whose reader is asked at every step how much stack it uses.
struct Measured<'de> {
    bytes: &'de [u8],
    base: usize,
    too_deep: &'de Cell<bool>,
}

impl Measured<'_> {
    fn require_stack(&self) -> postcard::Result<()> {
        if address().abs_diff(self.base) <= MAX_USED {
            return Ok(());
        }
        self.too_deep.set(true);
        Err(postcard::Error::SerdeDeCustom)
    }
}

impl<'de> Flavor<'de> for Measured<'de> {
    type Remainder = usize;
    type Source = &'de [u8];

    fn pop(&mut self) -> postcard::Result<u8> {
        self.require_stack()?;
        let (&first, rest) = self.bytes.split_first().ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.bytes = rest;
        Ok(first)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.bytes.len())
    }

    fn try_take_n(&mut self, n: usize) -> postcard::Result<&'de [u8]> {
        self.require_stack()?;
        let taken = self.bytes.split_at_checked(n).ok_or(postcard::Error::DeserializeUnexpectedEnd)?;
        self.bytes = taken.1;
        Ok(taken.0)
    }

    fn finalize(self) -> postcard::Result<usize> {
        Ok(self.bytes.len())
    }
}

/// The address of a local variable: the end of the stack so far.
#[inline(never)]
fn address() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize)]
    struct Nested(Option<Box<Nested>>);

    #[test]
    fn a_million_levels_are_an_error_and_a_hundred_are_none() {
        let levels = |n: usize| [vec![1; n], vec![0, 7, 7]].concat();
        let (_, rest) = read_nested::<Nested>(&levels(100)).expect("a hundred levels");
        assert_eq!(rest, 2);
        let error = read_nested::<Nested>(&levels(1_000_000)).expect_err("a million levels");
        assert_eq!(error, "its parts are nested too deeply");
        assert!(read_nested::<Nested>(&[1, 1]).is_err());
    }
}
