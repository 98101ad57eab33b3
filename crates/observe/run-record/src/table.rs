//! Tables in Parquet files, without Arrow: a row is a struct, a column one of its fields.
//!
//! Parquet, because pandas, Polars, DuckDB, Spark and R read it directly.
//!
//! # Invariants
//! - A file appears under its name only once it is complete and on the disk.
//! - A file is never replaced by one of fewer rows.
//! - Columns are found by name, so that a reader skips columns added by a newer writer.

mod column;

pub(crate) use column::{Column, columns};

use crate::file_error::FileError;
use files::Draft;
use parquet::basic::{Compression, Encoding};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of rows that are written, and read, together.
const GROUP_ROWS: usize = 100_000;

/// A row of a table; [`columns!`] implements it.
pub trait Row: Clone {
    /// Columns stored as differences to the row before, because they increase along the file; the others by dictionary.
    const GROWING: &'static [&'static str];
    /// Returns the columns in Parquet's own notation.
    fn schema() -> String;
    /// Writes every column, in the order of the schema.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn write(rows: &[Self], group: &mut GroupWriter<'_>) -> Result<(), ParquetError>;
    /// Reads all rows of a group, but those with a word that this version does not know.
    ///
    /// # Errors
    /// When a column is missing or damaged.
    fn read(group: &GroupReader<'_>) -> Result<Vec<Self>, TableError>;
}

/// Writer of a table, which appears under its name when it is complete.
pub struct TableWriter<R> {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    waiting: Vec<R>,
    n_rows: u64,
    draft: Draft,
}

impl<R: Row> TableWriter<R> {
    /// Starts a file; it appears at `path` when [`TableWriter::finish`] is called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, TableError> {
        let draft = Draft::of(path);
        let place = draft.place();
        let file = draft.create(0o666).map_err(|e| FileError::new(place, e))?;
        let start = || {
            let schema = Arc::new(parse_message_type(&R::schema())?);
            SerializedFileWriter::new(file, schema, Arc::new(properties(R::GROWING)))
        };
        let writer = start().map_err(|e| TableError::new(place, e))?;
        Ok(Self { path: path.to_owned(), writer, waiting: Vec::new(), n_rows: 0, draft })
    }

    /// Appends rows; at most one group of them waits in memory.
    ///
    /// # Errors
    /// When the file cannot be written; it is then unusable, and the spool still holds the rows.
    pub fn append(&mut self, rows: &[R]) -> Result<(), TableError> {
        let mut rest = rows;
        while GROUP_ROWS <= self.waiting.len() + rest.len() {
            let (fitting, later) = rest.split_at(GROUP_ROWS - self.waiting.len());
            self.waiting.extend_from_slice(fitting);
            self.write_group()?;
            rest = later;
        }
        self.waiting.extend_from_slice(rest);
        Ok(())
    }

    /// Completes the file and gives it its name; returns its number of rows.
    ///
    /// # Errors
    /// When the file cannot be written, or would replace one of more rows.
    pub fn finish(mut self) -> Result<u64, TableError> {
        if !self.waiting.is_empty() {
            self.write_group()?;
        }
        let Self { path, mut writer, n_rows, draft, .. } = self;
        // Not `into_inner`, which hides what the system says of a full disk.
        writer.finish().map_err(|e| TableError::new(&path, e))?;
        writer.inner().sync_all().map_err(|e| FileError::new(&path, e))?;
        // An unreadable file has nothing to lose.
        let n_kept = TableReader::<R>::open(&path).map_or(0, |kept| kept.n_rows());
        if n_rows < n_kept {
            return Err(TableError::HoldsMore { path, n_kept, n_rows });
        }
        draft.publish().map_err(|e| FileError::new(&path, e))?;
        Ok(n_rows)
    }

    fn write_group(&mut self) -> Result<(), TableError> {
        let mut write = || {
            let mut group = GroupWriter { group: self.writer.next_row_group()? };
            R::write(&self.waiting, &mut group)?;
            group.group.close()
        };
        write().map_err(|e| TableError::new(&self.path, e))?;
        self.n_rows += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

fn properties(growing: &[&str]) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("sintonia ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY);
    for column in growing {
        let column = ColumnPath::from(*column);
        builder = builder
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// One group of rows being written, column after column.
pub struct GroupWriter<'a> {
    group: SerializedRowGroupWriter<'a, File>,
}

impl GroupWriter<'_> {
    /// Writes the next column, with Parquet's levels where it is optional or a list.
    fn column<T: DataType>(
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

/// Reader of a table, in batches.
pub struct TableReader<R> {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    rows: PhantomData<R>,
}

impl<R: Row> TableReader<R> {
    /// Opens a file.
    ///
    /// # Errors
    /// When the file does not exist, or is not a Parquet file.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let file = File::open(path).map_err(|e| FileError::new(path, e))?;
        let reader = caught(|| SerializedFileReader::new(file));
        let reader = reader.map_err(|e| TableError::new(path, e))?;
        Ok(Self { path: path.to_owned(), reader, rows: PhantomData })
    }

    /// Number of rows in the file.
    pub fn n_rows(&self) -> u64 {
        self.reader.metadata().file_metadata().num_rows().max(0).cast_unsigned()
    }

    /// Returns all rows in the order of the file; may be called repeatedly.
    ///
    /// Rows with a word that this version does not know (an operation, a kind) are skipped: the rows returned are fewer
    /// than [`TableReader::n_rows`] by their number.
    pub fn batches(&self) -> impl Iterator<Item = Result<Vec<R>, TableError>> {
        (0..self.reader.num_row_groups()).map(|group| {
            let reader = caught(|| self.reader.get_row_group(group));
            let reader = reader.map_err(|e| TableError::new(&self.path, e))?;
            R::read(&GroupReader { path: &self.path, reader })
        })
    }
}

/// Group of rows being read, any column at a time.
pub struct GroupReader<'a> {
    path: &'a Path,
    reader: Box<dyn RowGroupReader + 'a>,
}

/// Values of a column, with Parquet's levels: empty unless it is optional or a list.
struct Values<T> {
    values: Vec<T>,
    levels: Vec<i16>,
    repeats: Vec<i16>,
}

impl GroupReader<'_> {
    /// Number of rows in the group.
    pub(crate) fn n_rows(&self) -> usize {
        usize::try_from(self.reader.metadata().num_rows()).unwrap_or(0)
    }

    /// Reads the column of this name, type and highest levels.
    fn column<T: DataType>(
        &self,
        name: &str,
        highest: (i16, i16),
    ) -> Result<Values<T::T>, TableError> {
        let metadata = self.reader.metadata();
        let mut columns = metadata.columns().iter().enumerate();
        let found = columns.find(|(_, column)| column.column_path().string() == name);
        let is_as_written = |(_, column): &(usize, &ColumnChunkMetaData)| {
            let described = column.column_descr();
            column.column_type() == T::get_physical_type()
                && (described.max_def_level(), described.max_rep_level()) == highest
        };
        let missing =
            || TableError::NoColumn { path: self.path.to_owned(), column: name.to_owned() };
        let (position, _) = found.filter(is_as_written).ok_or_else(missing)?;
        let n_rows = self.n_rows();
        let mut all = Values { values: Vec::new(), levels: Vec::new(), repeats: Vec::new() };
        let mut n_read = 0;
        let read = || {
            let reader = self.reader.get_column_reader(position)?;
            let mut reader = get_typed_column_reader::<T>(reader);
            // One more than expected, to check that nothing follows.
            while n_read <= n_rows {
                let n_max = (n_rows + 1 - n_read).min(N_READ_MAX);
                let Values { values, levels, repeats } = &mut all;
                let levels = (0 < highest.0).then_some(levels);
                let repeats = (0 < highest.1).then_some(repeats);
                let (n_new, ..) = reader.read_records(n_max, levels, repeats, values)?;
                if n_new == 0 {
                    break;
                }
                n_read += n_new;
            }
            Ok(())
        };
        caught(read).map_err(|e| TableError::new(self.path, e))?;
        // A list begins where its level of repetition is 0.
        let n_read = match highest {
            (0, _) => all.values.len(),
            (_, 0) => all.levels.len(),
            _ => all.repeats.iter().filter(|repeat| **repeat == 0).count(),
        };
        if n_read != n_rows {
            let source = ParquetError::EOF(format!("column `{name}` ends at row {n_read}"));
            return Err(TableError::Damaged { path: self.path.to_owned(), source });
        }
        Ok(all)
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

impl<R> std::fmt::Debug for TableWriter<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<R> std::fmt::Debug for TableReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableReader").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Failure to read or write a Parquet file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content was not written by Sintonia, or is damaged.
    #[error("`{path}` is damaged or was not written by Sintonia: restore it from a copy")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Error of the Parquet library.
        source: ParquetError,
    },
    /// A column that this version needs is missing.
    #[error("`{path}` has no column `{column}`: it was not written by Sintonia")]
    NoColumn {
        /// Path of the file.
        path: PathBuf,
        /// Missing column.
        column: String,
    },
    /// The existing file has more rows than the one that would replace it.
    #[error("`{path}` holds {n_kept} rows and would be replaced by {n_rows}: it is kept as it is")]
    HoldsMore {
        /// Path of the file.
        path: PathBuf,
        /// Number of its rows.
        n_kept: u64,
        /// Number of rows in the replacement.
        n_rows: u64,
    },
}

impl TableError {
    /// Returns whether the only problem is lack of disk space.
    pub fn is_storage_full(&self) -> bool {
        matches!(self, Self::File(file) if file.is_storage_full())
    }

    fn new(path: &Path, error: ParquetError) -> Self {
        if let ParquetError::External(cause) = &error
            && let Some(kind) = cause.downcast_ref::<io::Error>().map(io::Error::kind)
            && kind != io::ErrorKind::UnexpectedEof
        {
            return FileError::new(path, io::Error::new(kind, error)).into();
        }
        Self::Damaged { path: path.to_owned(), source: error }
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
