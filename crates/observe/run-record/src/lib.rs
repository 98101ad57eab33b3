//! Record of a run: a folder with all measurements, which every later tool reads.
//!
//! | file | content | written |
//! |---|---|---|
//! | `run.json` | [`RunHeader`]: format version, command, host, process, state | at the start and at the end |
//! | `summary.json` | [`Summary`]: totals, efficiencies and findings | at the end, and at any time before |
//! | `regions.parquet` | [`RegionRow`]: counters by rank, thread and pair of call sites | at the end |
//! | `events.parquet` | [`Event`]: all MPI calls | traced runs, at the end |
//! | `function-events.parquet` | [`FunctionEvent`]: passages of measurement points | with `--app` or `--probe`, at the end |
//! | `samples.parquet` | [`SampleRow`]: samples by rank and call path | where the system allows samples, at the end |
//! | `tuning.jsonl` | [`tuning`]: observations, decisions and actions of tunlets | runs with `--app`, as they happen |
//! | `dealt.json` | [`dealing_report::DealingReport`]: outcome of dealt work | by a program of masters and workers, as it runs |
//! | `resizes.jsonl` | [`resize_file`]: changes of the number of ranks | by a malleable program, as they happen |
//! | `spool/` | [`spool`]: messages in order of arrival, until the record is assembled | during the run |
//!
//! # Invariants
//! - A file of the record is replaced as a whole or not at all; a reader never sees half of one.
//! - Files of a finished record that are not as they were written are refused ([`checksum`]).
//! - A full disk is distinguished from every other failure ([`FileError::StorageFull`]).
//! - A file is never replaced by one with less information, and the spool is deleted only once the files
//!   assembled from it are on the disk.
//! - A record of a newer version is refused with a message that names the version, and never misread.
//!
//! # Not here
//! Origin of the numbers (`assemble`, `models`), other formats (`export`), reports (`report`).

pub mod checksum;
pub mod event_file;
pub mod file_error;
pub mod folder;
pub mod function_file;
pub mod header;
pub mod measured;
pub mod record_error;
pub mod region_file;
pub mod resize_file;
pub mod sample_file;
pub mod snapshot;
pub mod spool;
pub mod summary;
pub mod switch;
mod table;
pub mod tuning;

pub use event_file::{EventReader, EventWriter};
pub use events::Event;
pub use file_error::FileError;
pub use folder::RunRecord;
pub use function_file::{FunctionEvent, FunctionReader, FunctionWriter};
pub use header::{RunHeader, RunStart, RunState};
pub use record_error::RecordError;
pub use region_file::RegionRow;
pub use resize_file::ResizeLines;
pub use sample_file::SampleRow;
pub use spool::{SpoolProblem, SpoolReader, SpoolWriter};
pub use summary::{FunctionSums, FunctionTimes, FunctionTotals, Summary};
pub use table::{TableError, TableReader, TableWriter, is_panic_caught};
pub use tuning::{TuningLine, TuningSummary, TuningWriter};
