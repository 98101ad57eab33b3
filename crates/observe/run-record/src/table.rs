//! Columns of numbers and words in Parquet files, without Arrow.
//!
//! Parquet, because pandas, Polars, DuckDB, Spark and R read it directly.
//!
//! # Invariants
//! - A file appears under its name only once it is complete and on the disk.
//! - A file is never replaced by one of fewer rows.
//! - Columns are found by name, so that a reader skips columns added by a newer writer.

mod error;

pub use error::TableError;

use crate::file_error::FileError;
use files::Draft;
use parquet::basic::{Compression, Encoding};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::cell::Cell;
use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Layout of a file: its columns, and which of them increase along the file.
pub(crate) struct Layout {
    /// Schema in Parquet's own notation.
    pub(crate) schema: &'static str,
    /// Columns stored as differences to the row before; the others by dictionary.
    pub(crate) growing: &'static [&'static str],
}

/// Writer of one file, one group of rows at a time.
pub(crate) struct TableWriter {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    n_rows: u64,
    draft: Draft,
}

impl TableWriter {
    pub(crate) fn create(path: &Path, layout: &Layout) -> Result<Self, TableError> {
        let draft = Draft::of(path);
        let place = draft.place();
        let file = draft.create(0o666).map_err(|e| FileError::new(place, e))?;
        let start = || {
            let schema = Arc::new(parse_message_type(layout.schema)?);
            SerializedFileWriter::new(file, schema, Arc::new(properties(layout)))
        };
        let writer = start().map_err(|e| TableError::new(place, e))?;
        Ok(Self { path: path.to_owned(), writer, n_rows: 0, draft })
    }

    /// Appends one group; `fill` must write every column of the schema, in order.
    pub(crate) fn group(
        &mut self,
        fill: impl FnOnce(&mut GroupWriter<'_>) -> Result<(), ParquetError>,
    ) -> Result<(), TableError> {
        let write = || {
            let mut group = GroupWriter { group: self.writer.next_row_group()? };
            fill(&mut group)?;
            group.group.close().map(|group| group.num_rows())
        };
        let n_rows = write().map_err(|e| TableError::new(&self.path, e))?;
        self.n_rows += n_rows.max(0).cast_unsigned();
        Ok(())
    }

    /// Completes the file and gives it its name.
    pub(crate) fn finish(self) -> Result<(), TableError> {
        let Self { path, writer, n_rows, draft } = self;
        let file = writer.into_inner().map_err(|e| TableError::new(&path, e))?;
        file.sync_all().map_err(|e| FileError::new(&path, e))?;
        // An unreadable file has nothing to lose.
        let n_kept = TableReader::open(&path).map_or(0, |kept| kept.n_rows());
        if n_rows < n_kept {
            return Err(TableError::HoldsMore { path, n_kept, n_rows });
        }
        Ok(draft.publish().map_err(|e| FileError::new(&path, e))?)
    }
}

fn properties(layout: &Layout) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("sintonia ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY);
    for column in layout.growing {
        let column = ColumnPath::from(*column);
        builder = builder
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// One group of rows being written, column after column.
pub(crate) struct GroupWriter<'a> {
    group: SerializedRowGroupWriter<'a, File>,
}

impl GroupWriter<'_> {
    pub(crate) fn u32(&mut self, values: impl Iterator<Item = u32>) -> Result<(), ParquetError> {
        self.i32(values.map(u32::cast_signed))
    }

    pub(crate) fn u64(&mut self, values: impl Iterator<Item = u64>) -> Result<(), ParquetError> {
        self.column::<Int64Type>(&values.map(u64::cast_signed).collect::<Vec<_>>(), None)
    }

    pub(crate) fn i32(&mut self, values: impl Iterator<Item = i32>) -> Result<(), ParquetError> {
        self.column::<Int32Type>(&values.collect::<Vec<_>>(), None)
    }

    pub(crate) fn f64(&mut self, values: impl Iterator<Item = f64>) -> Result<(), ParquetError> {
        self.column::<DoubleType>(&values.collect::<Vec<_>>(), None)
    }

    pub(crate) fn optional_u32(
        &mut self,
        values: impl Iterator<Item = Option<u32>> + Clone,
    ) -> Result<(), ParquetError> {
        let levels: Vec<i16> = values.clone().map(|value| i16::from(value.is_some())).collect();
        let present: Vec<i32> = values.flatten().map(u32::cast_signed).collect();
        self.column::<Int32Type>(&present, Some(&levels))
    }

    pub(crate) fn words(
        &mut self,
        values: impl Iterator<Item = &'static str>,
    ) -> Result<(), ParquetError> {
        let values: Vec<ByteArray> =
            values.map(|word| bytes::Bytes::from_static(word.as_bytes()).into()).collect();
        self.column::<parquet::data_type::ByteArrayType>(&values, None)
    }

    pub(crate) fn texts<'a>(
        &mut self,
        values: impl Iterator<Item = &'a str>,
    ) -> Result<(), ParquetError> {
        let values: Vec<ByteArray> = values.map(ByteArray::from).collect();
        self.column::<parquet::data_type::ByteArrayType>(&values, None)
    }

    /// Lists of numbers: a required list of required elements.
    pub(crate) fn lists<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a [f64]>,
    ) -> Result<(), ParquetError> {
        let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            values.extend_from_slice(row);
            // An empty list takes one entry, at the level of the list.
            levels.extend(std::iter::repeat_n(i16::from(!row.is_empty()), row.len().max(1)));
            repeats.push(0);
            repeats.extend(std::iter::repeat_n(1, row.len().saturating_sub(1)));
        }
        self.nested::<DoubleType>(&values, Some(&levels), Some(&repeats))
    }

    fn column<T: DataType>(
        &mut self,
        values: &[T::T],
        levels: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        self.nested::<T>(values, levels, None)
    }

    fn nested<T: DataType>(
        &mut self,
        values: &[T::T],
        levels: Option<&[i16]>,
        repeats: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let mut column = self.group.next_column()?.ok_or_else(|| {
            ParquetError::General("more columns are written than the schema has".to_owned())
        })?;
        column.typed::<T>().write_batch(values, levels, repeats)?;
        column.close()
    }
}

/// Reader of one file, one group of rows at a time.
pub(crate) struct TableReader {
    path: PathBuf,
    reader: SerializedFileReader<File>,
}

impl TableReader {
    pub(crate) fn open(path: &Path) -> Result<Self, TableError> {
        let file = File::open(path).map_err(|e| FileError::new(path, e))?;
        let reader = caught(|| SerializedFileReader::new(file));
        let reader = reader.map_err(|e| TableError::new(path, e))?;
        Ok(Self { path: path.to_owned(), reader })
    }

    pub(crate) fn n_rows(&self) -> u64 {
        self.reader.metadata().file_metadata().num_rows().max(0).cast_unsigned()
    }

    pub(crate) fn n_groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    pub(crate) fn group(&self, group: usize) -> Result<GroupReader<'_>, TableError> {
        let n_groups = self.n_groups();
        if n_groups <= group {
            return Err(TableError::NoGroup { path: self.path.clone(), group, n_groups });
        }
        let reader = caught(|| self.reader.get_row_group(group));
        let reader = reader.map_err(|e| TableError::new(&self.path, e))?;
        Ok(GroupReader { path: &self.path, reader })
    }
}

/// Group of rows being read, any column at a time.
pub(crate) struct GroupReader<'a> {
    path: &'a Path,
    reader: Box<dyn RowGroupReader + 'a>,
}

impl GroupReader<'_> {
    pub(crate) fn u32(&self, column: &str) -> Result<Vec<u32>, TableError> {
        Ok(self.i32(column)?.into_iter().map(i32::cast_unsigned).collect())
    }

    pub(crate) fn u64(&self, column: &str) -> Result<Vec<u64>, TableError> {
        let values = self.column::<Int64Type>(column)?.0;
        Ok(values.into_iter().map(i64::cast_unsigned).collect())
    }

    pub(crate) fn i32(&self, column: &str) -> Result<Vec<i32>, TableError> {
        Ok(self.column::<Int32Type>(column)?.0)
    }

    pub(crate) fn f64(&self, column: &str) -> Result<Vec<f64>, TableError> {
        Ok(self.column::<DoubleType>(column)?.0)
    }

    pub(crate) fn optional_u32(&self, column: &str) -> Result<Vec<Option<u32>>, TableError> {
        let (values, levels) = self.column::<Int32Type>(column)?;
        let mut values = values.into_iter().map(i32::cast_unsigned);
        Ok(levels.into_iter().map(|level| if level == 0 { None } else { values.next() }).collect())
    }

    pub(crate) fn words(&self, column: &str) -> Result<Vec<ByteArray>, TableError> {
        Ok(self.column::<parquet::data_type::ByteArrayType>(column)?.0)
    }

    /// Lists of numbers, as [`GroupWriter::lists`] writes them.
    pub(crate) fn lists(&self, column: &str) -> Result<Vec<Vec<f64>>, TableError> {
        let (position, n_rows) = self.position::<DoubleType>(column)?;
        let read = || {
            let reader = self.reader.get_column_reader(position)?;
            let mut reader = get_typed_column_reader::<DoubleType>(reader);
            let (mut values, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
            let mut n_left = n_rows + 1;
            while n_left != 0 {
                let wanted = (Some(&mut levels), Some(&mut repeats));
                let n_max = n_left.min(N_READ_MAX);
                let (n_read, ..) = reader.read_records(n_max, wanted.0, wanted.1, &mut values)?;
                if n_read == 0 {
                    break;
                }
                n_left = n_left.saturating_sub(n_read);
            }
            Ok(rows_of(values, &levels, &repeats))
        };
        let rows = caught(read).map_err(|e| TableError::new(self.path, e))?;
        if rows.len() != n_rows {
            let source = ParquetError::EOF(format!("column `{column}` ends at row {}", rows.len()));
            return Err(TableError::Damaged { path: self.path.to_owned(), source });
        }
        Ok(rows)
    }

    /// Returns the index of a column, and the number of rows in the group.
    fn position<T: DataType>(&self, name: &str) -> Result<(usize, usize), TableError> {
        let metadata = self.reader.metadata();
        let position = metadata.columns().iter().position(|c| c.column_path().string() == name);
        let is_of_type =
            |position: &usize| metadata.column(*position).column_type() == T::get_physical_type();
        let missing =
            || TableError::NoColumn { path: self.path.to_owned(), column: name.to_owned() };
        let position = position.filter(is_of_type).ok_or_else(missing)?;
        Ok((position, usize::try_from(metadata.num_rows()).unwrap_or(0)))
    }

    fn column<T: DataType>(&self, name: &str) -> Result<(Vec<T::T>, Vec<i16>), TableError> {
        let (position, n_rows) = self.position::<T>(name)?;
        let column = self.reader.metadata().column(position);
        let optional = 0 < column.column_descr().max_def_level();
        let read = || {
            let reader = self.reader.get_column_reader(position)?;
            let mut reader = get_typed_column_reader::<T>(reader);
            let (mut values, mut levels) = (Vec::new(), Vec::new());
            // One more than expected, to check that nothing follows.
            let mut n_left = n_rows + 1;
            while n_left != 0 {
                let wanted = optional.then_some(&mut levels);
                let n_max = n_left.min(N_READ_MAX);
                let (n_read, ..) = reader.read_records(n_max, wanted, None, &mut values)?;
                if n_read == 0 {
                    break;
                }
                n_left = n_left.saturating_sub(n_read);
            }
            Ok((values, levels))
        };
        let (values, levels): (Vec<T::T>, Vec<i16>) =
            caught(read).map_err(|e| TableError::new(self.path, e))?;
        let n_read = if optional { levels.len() } else { values.len() };
        if n_read != n_rows {
            let source = ParquetError::EOF(format!("column `{name}` ends at row {n_read}"));
            return Err(TableError::Damaged { path: self.path.to_owned(), source });
        }
        Ok((values, levels))
    }
}

/// Rows requested at a time: the number of rows claimed by a damaged file is not trusted.
const N_READ_MAX: usize = 1 << 16;

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether a panic of this thread is currently converted to an error, so that a panic hook stays silent: the
/// Parquet library panics at some damaged files.
#[must_use]
pub fn is_panic_caught() -> bool {
    IS_CAUGHT.get()
}

/// Runs `read`; a panic of the Parquet library at a damaged file becomes an error.
fn caught<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let before = IS_CAUGHT.replace(true);
    // Values borrowed by `read` are not used after a panic.
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(ParquetError::General("the file breaks the rules of its format".to_owned()))
    });
    IS_CAUGHT.set(before);
    outcome
}

/// Builds lists from Parquet's values and levels.
fn rows_of(values: Vec<f64>, levels: &[i16], repeats: &[i16]) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut values = values.into_iter();
    for (level, repeat) in levels.iter().zip(repeats) {
        if *repeat == 0 {
            rows.push(Vec::new());
        }
        if let (true, Some(row)) = (*level == 1, rows.last_mut()) {
            row.extend(values.next());
        }
    }
    rows
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TableReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableReader").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the hook that prints panics also printed those that become errors, as if they were our mistakes.
    #[test]
    fn a_panic_at_a_damaged_file_is_known_to_be_caught() {
        let found = caught(|| -> Result<(), _> {
            assert!(is_panic_caught());
            panic!("as the library does");
        });
        assert!(found.is_err() && !is_panic_caught());
    }
}
