//! Types that a column may have, and the table of columns of a row.

use super::{GroupReader, GroupWriter, TableError};
use events::{OperationId, ProbePoint, RecordKind};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use std::convert::identity;
use std::sync::Arc;

/// Type of a column.
pub(crate) trait Column: Sized {
    /// Returns the column of this name in Parquet's own notation.
    fn schema(name: &str) -> String;
    /// Writes the column.
    fn write<'a>(
        group: &mut GroupWriter<'_>,
        values: impl Iterator<Item = &'a Self> + Clone,
    ) -> Result<(), ParquetError>
    where
        Self: 'a;
    /// Reads a value for each row; `None` for a word that this version does not know.
    fn read(
        group: &GroupReader<'_>,
        name: &str,
    ) -> Result<impl Iterator<Item = Option<Self>>, TableError>;
}

/// Implements [`Row`](super::Row) for a struct by a list of its fields, each a column of the same name and type.
macro_rules! columns {
    ($row:ident = $table:literal; growing: [$($growing:literal),*]; $($field:ident: $type:ty),* $(,)?) => {
        impl $crate::table::Row for $row {
            const GROWING: &'static [&'static str] = &[$($growing),*];

            fn schema() -> String {
                use $crate::table::Column;
                let columns = [$(<$type as Column>::schema(stringify!($field))),*];
                format!("message {} {{ {} }}", $table, columns.concat())
            }

            fn write(
                rows: &[Self],
                group: &mut $crate::table::GroupWriter<'_>,
            ) -> Result<(), parquet::errors::ParquetError> {
                use $crate::table::Column;
                $(<$type as Column>::write(group, rows.iter().map(|row| &row.$field))?;)*
                Ok(())
            }

            fn read(
                group: &$crate::table::GroupReader<'_>,
            ) -> Result<Vec<Self>, $crate::table::TableError> {
                use $crate::table::Column;
                $(let mut $field = <$type as Column>::read(group, stringify!($field))?;)*
                let row = |_| {
                    // All columns advance, whether or not the row is known.
                    $(let $field = $field.next()?;)*
                    Some(Self { $($field: $field?),* })
                };
                Ok((0..group.n_rows()).filter_map(row).collect())
            }
        }
    };
}
pub(crate) use columns;

/// Implements [`Column`] for numbers, by their type in Parquet and the conversions to and from it.
macro_rules! numbers {
    ($($number:ty: $stored:ty, $parquet:literal, $logical:literal, $to:expr, $from:expr;)*) => {$(
        impl Column for $number {
            fn schema(name: &str) -> String {
                format!("required {} {name}{};", $parquet, $logical)
            }

            fn write<'a>(
                group: &mut GroupWriter<'_>,
                values: impl Iterator<Item = &'a Self>,
            ) -> Result<(), ParquetError> {
                group.column::<$stored>(&values.copied().map($to).collect::<Vec<_>>(), None, None)
            }

            fn read(
                group: &GroupReader<'_>,
                name: &str,
            ) -> Result<impl Iterator<Item = Option<Self>>, TableError> {
                let values = group.column::<$stored>(name, (0, 0))?.values;
                Ok(values.into_iter().map($from).map(Some))
            }
        }
    )*};
}

numbers! {
    u32: Int32Type, "int32", " (INTEGER(32,false))", u32::cast_signed, i32::cast_unsigned;
    u64: Int64Type, "int64", " (INTEGER(64,false))", u64::cast_signed, i64::cast_unsigned;
    i32: Int32Type, "int32", "", identity, identity;
    f64: DoubleType, "double", "", identity, identity;
}

/// Implements [`Column`] for what is stored as a word, by the conversions to and from it.
macro_rules! words {
    ($($word:ty: $to:expr, $from:expr;)*) => {$(
        impl Column for $word {
            fn schema(name: &str) -> String {
                format!("required binary {name} (STRING);")
            }

            fn write<'a>(
                group: &mut GroupWriter<'_>,
                values: impl Iterator<Item = &'a Self>,
            ) -> Result<(), ParquetError> {
                let values: Vec<ByteArray> = values.map($to).collect();
                group.column::<ByteArrayType>(&values, None, None)
            }

            fn read(
                group: &GroupReader<'_>,
                name: &str,
            ) -> Result<impl Iterator<Item = Option<Self>>, TableError> {
                let values = group.column::<ByteArrayType>(name, (0, 0))?.values;
                Ok(values.into_iter().map(|word| $from(word.data())))
            }
        }
    )*};
}

words! {
    Arc<str>: |text: &Self| ByteArray::from(&**text), |text| Some(Self::from(String::from_utf8_lossy(text)));
    OperationId: |id| fixed(operation_name(*id)), |name| mpi_abi::find(std::str::from_utf8(name).ok()?);
    RecordKind: |kind| fixed(word_of(&KINDS, kind)), |word| value_of(&KINDS, word);
    ProbePoint: |point| fixed(word_of(&POINTS, point)), |word| value_of(&POINTS, word).or(Some(Self::Entry));
}

fn fixed(word: &'static str) -> ByteArray {
    bytes::Bytes::from_static(word.as_bytes()).into()
}

const UNKNOWN: &str = "unknown";

/// MPI name of an operation: a record stays valid when the numbers of the table change.
fn operation_name(id: OperationId) -> &'static str {
    mpi_abi::operation(id).map_or(UNKNOWN, |operation| operation.name.as_str())
}

const KINDS: [(RecordKind, &str); 3] = [
    (RecordKind::Call, "call"),
    (RecordKind::ReceiveHalf, "receive-half"),
    (RecordKind::Requests, "requests"),
];

const POINTS: [(ProbePoint, &str); 2] = [(ProbePoint::Entry, "entry"), (ProbePoint::Exit, "exit")];

fn word_of<T: PartialEq>(rows: &[(T, &'static str)], value: &T) -> &'static str {
    rows.iter().find(|(known, _)| known == value).map_or(UNKNOWN, |(_, word)| word)
}

fn value_of<T: Copy>(rows: &[(T, &str)], word: &[u8]) -> Option<T> {
    rows.iter().find(|(_, known)| known.as_bytes() == word).map(|(value, _)| *value)
}

impl Column for Option<u32> {
    fn schema(name: &str) -> String {
        format!("optional int32 {name} (INTEGER(32,false));")
    }

    fn write<'a>(
        group: &mut GroupWriter<'_>,
        values: impl Iterator<Item = &'a Self> + Clone,
    ) -> Result<(), ParquetError> {
        let levels: Vec<i16> = values.clone().map(|value| i16::from(value.is_some())).collect();
        let present: Vec<i32> = values.flatten().copied().map(u32::cast_signed).collect();
        group.column::<Int32Type>(&present, Some(&levels), None)
    }

    fn read(
        group: &GroupReader<'_>,
        name: &str,
    ) -> Result<impl Iterator<Item = Option<Self>>, TableError> {
        let column = group.column::<Int32Type>(name, (1, 0))?;
        let mut present = column.values.into_iter().map(i32::cast_unsigned);
        Ok(column
            .levels
            .into_iter()
            .map(move |level| Some(if level == 0 { None } else { present.next() })))
    }
}

/// A required list of required elements.
impl Column for Vec<f64> {
    fn schema(name: &str) -> String {
        format!(
            "required group {name} (LIST) {{ repeated group list {{ required double element; }} }}"
        )
    }

    fn write<'a>(
        group: &mut GroupWriter<'_>,
        rows: impl Iterator<Item = &'a Self>,
    ) -> Result<(), ParquetError> {
        let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            values.extend_from_slice(row);
            // An empty list takes one entry, at the level of the list.
            levels.extend(std::iter::repeat_n(i16::from(!row.is_empty()), row.len().max(1)));
            repeats.push(0);
            repeats.extend(std::iter::repeat_n(1, row.len().saturating_sub(1)));
        }
        group.column::<DoubleType>(&values, Some(&levels), Some(&repeats))
    }

    fn read(
        group: &GroupReader<'_>,
        name: &str,
    ) -> Result<impl Iterator<Item = Option<Self>>, TableError> {
        let column = group.column::<DoubleType>(&format!("{name}.list.element"), (1, 1))?;
        let mut values = column.values.into_iter();
        let mut rows: Vec<Self> = Vec::new();
        for (level, repeat) in column.levels.iter().zip(column.repeats) {
            if repeat == 0 {
                rows.push(Self::new());
            }
            if let (true, Some(row)) = (*level == 1, rows.last_mut()) {
                row.extend(values.next());
            }
        }
        Ok(rows.into_iter().map(Some))
    }
}
