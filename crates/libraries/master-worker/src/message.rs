//! Conversion of values to and from the bytes of a message.

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::Deref;

/// A value that can be sent.
///
/// Every type that serde can serialize and deserialize is a message. For many numbers use [`Plain`]:
/// they are sent from where they lie, and read where they arrived.
pub trait Message: Sized {
    /// Returns the bytes of the value; they are put into `scratch` unless memory holds them as they are
    /// sent.
    ///
    /// # Errors
    /// If the type cannot be serialized.
    fn bytes<'a>(&'a self, scratch: &'a mut Vec<u8>) -> Result<&'a [u8], MessageError>;

    /// Reads the value whose bytes begin at `start` of `buffer`. May take the buffer and leave another.
    ///
    /// # Errors
    /// If the bytes are not those of such a value.
    fn from_bytes(buffer: &mut Vec<u8>, start: usize) -> Result<Self, MessageError>;
}

/// Error from sending or reading a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The type cannot be serialized.
    #[error("a message of type `{type_name}` cannot be written; see its `Serialize`")]
    Write {
        /// Rust type of the value.
        type_name: &'static str,
        /// Error of the encoder.
        source: postcard::Error,
    },
    /// The bytes are not a value of this type.
    #[error(
        "a message of type `{type_name}` cannot be read; run the same program on all ranks, and see that `Deserialize` reads what `Serialize` writes"
    )]
    Read {
        /// Rust type of the value.
        type_name: &'static str,
        /// Error of the decoder.
        source: postcard::Error,
    },
    /// The length of the bytes is not a multiple of this type's size.
    #[error(
        "a message of {n_bytes} bytes does not hold whole values of type `{type_name}`; run the same program on all ranks"
    )]
    Length {
        /// Rust type of the value.
        type_name: &'static str,
        /// Length of the message, in bytes.
        n_bytes: usize,
    },
}

impl<T: Serialize + DeserializeOwned> Message for T {
    fn bytes<'a>(&'a self, scratch: &'a mut Vec<u8>) -> Result<&'a [u8], MessageError> {
        scratch.clear();
        let written = postcard::to_extend(self, std::mem::take(scratch));
        let type_name = std::any::type_name::<T>();
        *scratch = written.map_err(|source| MessageError::Write { type_name, source })?;
        Ok(scratch)
    }

    fn from_bytes(buffer: &mut Vec<u8>, start: usize) -> Result<Self, MessageError> {
        let bytes = buffer.get(start..).unwrap_or_default();
        let type_name = std::any::type_name::<T>();
        match postcard::take_from_bytes(bytes) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(MessageError::Length { type_name, n_bytes: rest.len() }),
            Err(source) => Err(MessageError::Read { type_name, source }),
        }
    }
}

/// Returns the bytes of a value, as a checkpoint needs them; see [`crate::Program::save`].
///
/// # Errors
/// If the type cannot be serialized.
pub fn to_bytes<M: Message>(value: &M) -> Result<Vec<u8>, MessageError> {
    let mut scratch = Vec::new();
    Ok(value.bytes(&mut scratch)?.to_vec())
}

/// Reads a value from the bytes that [`to_bytes`] returned.
///
/// # Errors
/// If the bytes are not those of such a value.
pub fn from_bytes<M: Message>(bytes: &[u8]) -> Result<M, MessageError> {
    M::from_bytes(&mut bytes.to_vec(), 0)
}

/// Many values of a plain-old-data type: numbers, arrays of them, structs that are [`bytemuck::Pod`].
///
/// It dereferences to a slice. A large one that was received stays in the buffer in which it arrived.
///
/// ```
/// use master_worker::Plain;
///
/// let halves: Plain<f64> = (0..4).map(|i| f64::from(i) / 2.0).collect();
/// assert_eq!(halves[3], 1.5);
/// assert_eq!(halves.into_vec(), [0.0, 0.5, 1.0, 1.5]);
/// ```
#[derive(Clone)]
pub struct Plain<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Own(Vec<T>),
    /// Buffer, and the position in it from which length and alignment are those of whole values.
    Received(Vec<u8>, usize),
}

/// Size in bytes below which copying is cheaper than keeping the buffer.
const TAKEN_BYTES_MIN: usize = 4096;

impl<T: Pod> Message for Plain<T> {
    fn bytes<'a>(&'a self, _scratch: &'a mut Vec<u8>) -> Result<&'a [u8], MessageError> {
        Ok(bytemuck::cast_slice(self))
    }

    fn from_bytes(buffer: &mut Vec<u8>, start: usize) -> Result<Self, MessageError> {
        let bytes = buffer.get(start..).unwrap_or_default();
        let n_bytes = bytes.len();
        if n_bytes != 0 && (size_of::<T>() == 0 || n_bytes % size_of::<T>() != 0) {
            return Err(MessageError::Length { type_name: std::any::type_name::<T>(), n_bytes });
        }
        if n_bytes < TAKEN_BYTES_MIN || bytemuck::try_cast_slice::<u8, T>(bytes).is_err() {
            return Ok(Self(Storage::Own(bytemuck::pod_collect_to_vec(bytes))));
        }
        Ok(Self(Storage::Received(std::mem::take(buffer), start)))
    }
}

impl<T: Pod> Deref for Plain<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Own(values) => values,
            Storage::Received(buffer, start) => bytemuck::cast_slice(&buffer[*start..]),
        }
    }
}

impl<T: Pod> Plain<T> {
    /// Returns the values as a vector.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Storage::Own(values) => values,
            Storage::Received(..) => self.to_vec(),
        }
    }
}

impl<T> Default for Plain<T> {
    fn default() -> Self {
        Self(Storage::Own(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Plain<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Storage::Own(values))
    }
}

impl<T: Clone> From<&[T]> for Plain<T> {
    fn from(values: &[T]) -> Self {
        values.to_vec().into()
    }
}

impl<T> FromIterator<T> for Plain<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<'a, T: Pod> IntoIterator for &'a Plain<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Pod + PartialEq> PartialEq for Plain<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Plain<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<M: Message + PartialEq + fmt::Debug>(value: M) {
        for start in [0, 3, 64] {
            let mut buffer = vec![7; start];
            buffer.extend(to_bytes(&value).unwrap());
            assert_eq!(M::from_bytes(&mut buffer, start).unwrap(), value);
        }
    }

    #[test]
    fn what_was_sent_arrives_wherever_it_lies_in_the_buffer() {
        check(());
        check(2.5);
        check(("name".to_owned(), vec![Some(1u64), None]));
        check(Plain::<f64>::default());
        check((0..100).map(f64::from).collect::<Plain<f64>>());
        check((0..5000).map(f64::from).collect::<Plain<f64>>());
        check(Plain::from(vec![[1u8, 2, 3]; 5000]));
    }

    #[test]
    fn large_slices_stay_where_they_arrived() {
        let mut buffer = to_bytes(&Plain::from(vec![1u64; 1000])).unwrap();
        let place = buffer.as_ptr().addr();
        let received = Plain::<u64>::from_bytes(&mut buffer, 0).unwrap();
        assert_eq!((received.as_ptr().addr(), buffer.len()), (place, 0));
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(matches!(from_bytes::<Plain<u64>>(&[1; 9]), Err(MessageError::Length { .. })));
        assert!(matches!(from_bytes::<Plain<()>>(&[1]), Err(MessageError::Length { .. })));
        assert!(matches!(from_bytes::<String>(&[9, 1]), Err(MessageError::Read { .. })));
        assert!(matches!(from_bytes::<u8>(&[9, 1]), Err(MessageError::Length { .. })));
    }
}
