//! What was measured in a run, in a folder that every later tool reads.
//!
//! | file | what | written |
//! |---|---|---|
//! | `run.json` | [`RunHeader`]: format version, command, host, process, state | at the start and at the end |
//! | `summary.json` | [`Summary`]: the run on one page | at the end, and as often as one likes before |
//! | `regions.parquet` | [`RegionRow`]: counters by rank, thread and pair of call sites | at the end |
//! | `events.parquet` | [`Event`]: every MPI call | traced runs, at the end |
//! | `function-events.parquet` | [`FunctionEvent`]: every passage of a measurement point | runs with `--app` or `--probe`, at the end |
//! | `tuning.jsonl` | [`tuning`]: what tunlets saw, decided and did | runs with `--app`, as it happens |
//! | `dealt.json` | [`dealt::Dealt`]: what became of dealt work | by a program of masters and workers, as it runs |
//! | `resizes.jsonl` | [`resize_file`]: how the program changed its size | by a malleable program, as it happens |
//! | `spool/` | [`spool`]: messages as they came, until the record is assembled | while the run is on |
//!
//! # Invariants
//! - A file of the record is replaced as a whole or not at all; a reader never sees half of one.
//! - Files of a finished record that are not as they were written are refused ([`checksum`]).
//! - A full disk is told apart from every other failure ([`FileError::StorageFull`]).
//! - A file is never replaced by one that knows less, and the spool is deleted only when what was made of
//!   it is on the disk.
//! - What a newer version wrote is refused by name and never misread.
//!
//! # Not here
//! How the numbers come about (`analyzer`, `models`), other formats (`export`), pictures (`dashboard`).

pub mod checksum;
pub mod event_file;
pub mod file_error;
pub mod folder;
pub mod function_file;
pub mod function_sums;
pub mod function_totals;
pub mod header;
pub mod knowledge;
pub mod record_error;
pub mod region_file;
pub mod resize_file;
pub mod spool;
pub mod summary;
mod table;
pub mod tuning;
mod whole_file;

pub use event_file::{Event, EventReader, EventWriter};
pub use file_error::FileError;
pub use folder::RunRecord;
pub use function_file::{FunctionEvent, FunctionReader, FunctionWriter};
pub use function_sums::FunctionSums;
pub use function_totals::{FunctionTimes, FunctionTotals};
pub use header::{RunHeader, RunStart, RunState};
pub use record_error::RecordError;
pub use region_file::RegionRow;
pub use resize_file::ResizeLines;
pub use spool::{SpoolProblem, SpoolReader, SpoolWriter};
pub use summary::Summary;
pub use table::{TableError, is_panic_caught};
pub use tuning::{TuningLine, TuningSummary, TuningWriter};
