//! Values of a metric (`ID.index`, `ID.data`): a row for each call path of the index, with a value for each location.
//!
//! The index begins with `CUBEX.INDEX`, a one whose bytes show their order, a version, a kind and the number of rows. The
//! data begin with `CUBEX.DATA`; or with `ZCUBEX.DATA`, the number of rows and three numbers for each, the last of which is the
//! length of the row in the format of zlib.

use super::anchor::{Anchor, Metric};
use super::archive::read_up_to;
use super::{BYTES_MAX, CubeFault};
use flate2::read::ZlibDecoder;
use std::borrow::Cow;

const OF_INDEX: &[u8] = b"CUBEX.INDEX";
const OF_DATA: &[u8] = b"CUBEX.DATA";
const OF_PACKED_DATA: &[u8] = b"ZCUBEX.DATA";
/// Largest whole number that Cube keeps: larger ones are zeros that became negative.
const WHOLE_MAX: u64 = 0xffff_ffff_ffff_fbff;

/// Positions in the call tree that have values.
pub(super) struct Index {
    pub(super) rows: Vec<usize>,
    is_little_endian: bool,
}

impl Index {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, CubeFault> {
        let rest = bytes.strip_prefix(OF_INDEX).ok_or(CubeFault::UnknownBeginning)?;
        let (one, rest) = rest.split_first_chunk::<4>().ok_or(CubeFault::CutOff)?;
        let is_little_endian = u32::from_le_bytes(*one) == 1;
        // A version of two bytes and a kind of one byte.
        let rest = rest.get(3..).ok_or(CubeFault::CutOff)?;
        let whole = |bytes: &[u8; 4]| {
            let number = if is_little_endian { u32::from_le_bytes } else { u32::from_be_bytes };
            number(*bytes) as usize
        };
        let (n_rows, rest) = rest.split_first_chunk::<4>().ok_or(CubeFault::CutOff)?;
        let (rows, after) = rest.as_chunks::<4>();
        if rows.len() < whole(n_rows) {
            return Err(CubeFault::CutOff);
        }
        if whole(n_rows) < rows.len() || !after.is_empty() {
            return Err(CubeFault::WrongIndex);
        }
        Ok(Self { rows: rows.iter().map(whole).collect(), is_little_endian })
    }
}

/// Kind of numbers in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Unsigned,
    Signed,
    Float,
    /// The least or the largest number.
    Extreme,
}

/// Returns the kind of a type's numbers, and their length in bytes.
fn number(value_type: &str) -> Option<(Number, usize)> {
    Some(match value_type {
        "DOUBLE" | "FLOAT" => (Number::Float, 8),
        "MINDOUBLE" | "MAXDOUBLE" => (Number::Extreme, 8),
        "UINT8" | "CHAR" => (Number::Unsigned, 1),
        "UINT16" | "UNSIGNED SHORT INT" => (Number::Unsigned, 2),
        "UINT32" | "UNSIGNED INT" => (Number::Unsigned, 4),
        "UINT64" | "UNSIGNED INTEGER" => (Number::Unsigned, 8),
        "INT8" => (Number::Signed, 1),
        "INT16" | "SHORT INT" | "SIGNED SHORT INT" => (Number::Signed, 2),
        "INT32" | "INT" | "SIGNED INT" => (Number::Signed, 4),
        "INT64" | "INTEGER" | "SIGNED INTEGER" => (Number::Signed, 8),
        _ => return None,
    })
}

/// Values of a metric.
pub(super) struct Values {
    /// Rows one after the other.
    numbers: Vec<f64>,
    n_locations: usize,
    kind: Number,
    is_inclusive: bool,
}

impl Values {
    pub(super) fn of(
        data: &[u8],
        index: &Index,
        metric: &Metric,
        n_locations: usize,
    ) -> Result<Self, CubeFault> {
        let unknown = || CubeFault::UnknownType(metric.value_type.clone());
        let (kind, n_value_bytes) = number(&metric.value_type).ok_or_else(unknown)?;
        let n_values = index.rows.len().checked_mul(n_locations);
        let n_values = n_values.filter(|n| *n <= BYTES_MAX / size_of::<f64>());
        let n_expected = n_values.ok_or(CubeFault::TooLarge)? * n_value_bytes;
        let bytes = unpacked(data, index.is_little_endian, n_expected)?;
        if bytes.len() != n_expected {
            return Err(CubeFault::WrongLength { n_bytes: bytes.len(), n_expected });
        }
        let decode = |bytes| decoded(bytes, kind, index.is_little_endian);
        let numbers = bytes.chunks_exact(n_value_bytes).map(decode).collect();
        Ok(Self { numbers, n_locations, kind, is_inclusive: metric.is_inclusive })
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.n_locations..][..self.n_locations]
    }

    /// Returns, for each row, the index of its call and the mean over all locations without the calls that it makes.
    pub(super) fn exclusive_means(&self, nodes: &[usize], anchor: &Anchor) -> Vec<(usize, f64)> {
        let mut row_of = vec![None; anchor.nodes.len()];
        for (row, node_idx) in nodes.iter().enumerate() {
            row_of[*node_idx] = Some(row);
        }
        let has_inner = self.is_inclusive && self.kind != Number::Extreme;
        let mean = |(row, node_idx): (usize, &usize)| {
            let mut values = self.row(row).to_vec();
            let callees = if has_inner { &anchor.nodes[*node_idx].callees[..] } else { &[] };
            for inner in callees.iter().filter_map(|callee| row_of[*callee]) {
                for (value, inner) in values.iter_mut().zip(self.row(inner)) {
                    *value -= inner;
                    // Counters are read one after the other, so that a part may seem larger than the whole.
                    if self.kind == Number::Unsigned {
                        *value = value.max(0.0);
                    }
                }
            }
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let is_rounding = has_inner && self.kind == Number::Float;
            (*node_idx, if is_rounding { mean.max(0.0) } else { mean })
        };
        nodes.iter().enumerate().map(|(row, node)| mean((row, node))).collect()
    }
}

/// Returns the bytes of values, at most as many as expected and one.
fn unpacked(
    data: &[u8],
    is_little_endian: bool,
    n_expected: usize,
) -> Result<Cow<'_, [u8]>, CubeFault> {
    if let Some(plain) = data.strip_prefix(OF_DATA) {
        return Ok(Cow::Borrowed(plain));
    }
    let rest = data.strip_prefix(OF_PACKED_DATA).ok_or(CubeFault::UnknownBeginning)?;
    let whole = |bytes: &[u8; 8]| {
        let number = if is_little_endian { u64::from_le_bytes } else { u64::from_be_bytes };
        usize::try_from(number(*bytes)).map_err(|_| CubeFault::CutOff)
    };
    let (n_rows, rest) = rest.split_first_chunk::<8>().ok_or(CubeFault::CutOff)?;
    let n_header_bytes = whole(n_rows)?.checked_mul(24).ok_or(CubeFault::CutOff)?;
    let (header, mut packed) = rest.split_at_checked(n_header_bytes).ok_or(CubeFault::CutOff)?;
    let (numbers, _) = header.as_chunks::<8>();
    let mut bytes = Vec::new();
    for n_bytes in numbers.iter().skip(2).step_by(3) {
        let (row, after) = packed.split_at_checked(whole(n_bytes)?).ok_or(CubeFault::CutOff)?;
        packed = after;
        if !row.is_empty() {
            let n_left = n_expected.saturating_sub(bytes.len());
            bytes.extend(read_up_to(ZlibDecoder::new(row), n_left)?);
        }
    }
    Ok(Cow::Owned(bytes))
}

/// Returns the number in these bytes, of which there are at most eight.
#[expect(clippy::cast_precision_loss, reason = "means need no more than 15 digits")]
fn decoded(bytes: &[u8], kind: Number, is_little_endian: bool) -> f64 {
    let mut whole = [0; 8];
    for (to, from) in whole.iter_mut().zip(bytes) {
        *to = *from;
    }
    if !is_little_endian {
        whole[..bytes.len()].reverse();
    }
    let whole = u64::from_le_bytes(whole);
    match kind {
        Number::Unsigned if WHOLE_MAX < whole => 0.0,
        Number::Unsigned => whole as f64,
        Number::Signed => {
            let n_unused_bits = 64 - 8 * bytes.len();
            ((whole << n_unused_bits).cast_signed() >> n_unused_bits) as f64
        }
        Number::Float | Number::Extreme => f64::from_bits(whole),
    }
}
