//! Values of the monitored program's variables and arguments, as read from it and written to it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Representation of a value in the program's memory or registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum ValueType {
    /// Signed, 8 bits.
    I8 = 1,
    /// Signed, 16 bits.
    I16 = 2,
    /// Signed, 32 bits.
    I32 = 3,
    /// Signed, 64 bits.
    I64 = 4,
    /// Unsigned, 8 bits.
    U8 = 5,
    /// Unsigned, 16 bits.
    U16 = 6,
    /// Unsigned, 32 bits.
    U32 = 7,
    /// Unsigned, 64 bits; also pointers.
    U64 = 8,
    /// IEEE 754, 32 bits.
    F32 = 9,
    /// IEEE 754, 64 bits.
    F64 = 10,
    /// Boolean of one byte, 0 or 1.
    Bool = 11,
}

/// A number of the program, wide enough for every [`ValueType`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum Value {
    /// Signed integers, unsigned integers up to 2^63 - 1, and booleans.
    Int(i64),
    /// Unsigned integers from 2^63 on.
    Uint(u64),
    /// Floating-point numbers.
    Float(f64),
}

impl ValueType {
    /// All types, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F32,
        Self::F64,
        Self::Bool,
    ];

    /// Returns the type with this number, if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Size in memory, in bytes.
    pub fn n_bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Returns whether the type is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Name of the type in application descriptions and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::Bool => "bool",
        }
    }

    /// Returns the value whose bytes in memory are the lowest bytes of `bits`.
    #[expect(clippy::cast_possible_truncation, reason = "takes the lowest bytes")]
    pub fn value(self, bits: u64) -> Value {
        match self {
            Self::I8 => Value::Int((bits as u8).cast_signed().into()),
            Self::I16 => Value::Int((bits as u16).cast_signed().into()),
            Self::I32 => Value::Int((bits as u32).cast_signed().into()),
            Self::I64 => Value::Int(bits.cast_signed()),
            Self::U8 => Value::from(u64::from(bits as u8)),
            Self::U16 => Value::from(u64::from(bits as u16)),
            Self::U32 => Value::from(u64::from(bits as u32)),
            Self::U64 => Value::from(bits),
            Self::F32 => Value::Float(f32::from_bits(bits as u32).into()),
            Self::F64 => Value::Float(f64::from_bits(bits)),
            Self::Bool => Value::Int(i64::from(bits as u8 != 0)),
        }
    }

    /// Returns the bytes in memory of `value`, the first byte lowest; `None` if the type cannot hold
    /// it exactly (a float only rounds).
    pub fn bits(self, value: Value) -> Option<u64> {
        match self {
            Self::F64 => Some(value.as_f64().to_bits()),
            #[expect(clippy::cast_possible_truncation, reason = "rounds, as a program would")]
            Self::F32 => {
                let wide = value.as_f64();
                let narrow = wide as f32;
                (narrow.is_finite() || !wide.is_finite()).then(|| narrow.to_bits().into())
            }
            _ => {
                let whole = value.as_integer()?;
                let (low, high) = self.integer_range()?;
                #[expect(clippy::cast_possible_truncation, reason = "inside the type's range")]
                #[expect(clippy::cast_sign_loss, reason = "its bits are wanted")]
                (low <= whole && whole <= high).then_some(whole as u64 & self.mask())
            }
        }
    }

    fn mask(self) -> u64 {
        if self.n_bytes() == 8 { u64::MAX } else { (1 << (8 * self.n_bytes())) - 1 }
    }

    /// Returns the smallest and largest value of an integer type; `None` for a floating-point type.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        let n_bits = 8 * self.n_bytes();
        match self {
            Self::F32 | Self::F64 => None,
            Self::Bool => Some((0, 1)),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => {
                Some((-(1 << (n_bits - 1)), (1 << (n_bits - 1)) - 1))
            }
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Some((0, (1 << n_bits) - 1)),
        }
    }
}

impl Value {
    /// Returns the value as a floating-point number, rounded where necessary.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(whole) => whole as f64,
            Self::Uint(whole) => whole as f64,
            Self::Float(number) => number,
        }
    }

    /// Returns the value as an integer, if it is one.
    pub fn as_integer(self) -> Option<i128> {
        match self {
            Self::Int(whole) => Some(whole.into()),
            Self::Uint(whole) => Some(whole.into()),
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            Self::Float(number) => {
                let is_whole = number.fract() == 0.0 && number.abs() < 1e18;
                is_whole.then_some(number as i128)
            }
        }
    }
}

impl From<u64> for Value {
    fn from(whole: u64) -> Self {
        i64::try_from(whole).map_or(Self::Uint(whole), Self::Int)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(whole) => whole.fmt(f),
            Self::Uint(whole) => whole.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: ValueType, value: Value, expected: Option<u64>) {
        let bits = kind.bits(value);
        assert_eq!(bits, expected);
        if let (Some(bits), false) = (bits, kind.is_float()) {
            assert_eq!(kind.value(bits).as_integer(), value.as_integer());
        }
    }

    #[test]
    fn a_value_fits_its_type_or_has_no_bytes_in_it() {
        check(ValueType::I8, Value::Int(-128), Some(0x80));
        check(ValueType::I8, Value::Int(128), None);
        check(ValueType::U8, Value::Int(255), Some(0xff));
        check(ValueType::U8, Value::Int(-1), None);
        check(ValueType::I32, Value::Float(3.0), Some(3));
        check(ValueType::I32, Value::Float(3.5), None);
        check(ValueType::U64, Value::Uint(u64::MAX), Some(u64::MAX));
        check(ValueType::I64, Value::Uint(u64::MAX), None);
        check(ValueType::Bool, Value::Int(2), None);
        check(ValueType::F64, Value::Int(1), Some(1.0_f64.to_bits()));
        check(ValueType::F32, Value::Float(1e300), None);
        check(ValueType::F32, Value::Float(0.5), Some(0.5_f32.to_bits().into()));
        check(ValueType::I32, Value::Float(f64::NAN), None);
    }
}
