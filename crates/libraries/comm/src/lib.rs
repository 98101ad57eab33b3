//! Messages between the ranks of a program: over MPI without linking to it, or between threads.
//!
//! One [`Transport`] is one rank's end of a group. The group starts with the ranks that were launched
//! together; rank 0 may add further ranks later and release them again. Added ranks communicate with rank 0 only.
//!
//! ```
//! use comm::{Tag, Transport};
//! use std::time::Duration;
//!
//! let mut ends = comm::threads(2);
//! let (mut worker, mut master) = (ends.pop().expect("two ends"), ends.pop().expect("two ends"));
//! worker.send(0, Tag(7), &[b"half ", b"done"])?;
//! let mut bytes = Vec::new();
//! let envelope = master.receive(None, Duration::from_secs(1), &mut bytes)?.expect("it was sent");
//! assert_eq!((envelope.from, envelope.tag, &bytes[..]), (1, Tag(7), &b"half done"[..]));
//! # Ok::<(), comm::CommError>(())
//! ```
//!
//! # Invariants
//! - Every wait has a deadline; when it passes, an error names the awaited event. Where MPI cannot
//!   be interrupted (at its start and its end), the process prints a message and ends with the code [`EXIT_STUCK`].
//! - Messages of one sender with one tag arrive in the order in which they were sent.
//! - No allocation for a message once buffers have grown to the sizes in use.
//!
//! # Not here
//! The meaning of messages: crate `master-worker`.

mod collective;
mod deadline;
mod error;
mod mpi;
pub mod netbench;
mod threads;
mod transport;

pub use self::mpi::{MpiTransport, RankStart};
pub use ::mpi::{Datatype, EXIT_STUCK, Field, Layout, MpiError, SpawnSupport, ValueKind};
pub use error::CommError;
pub use mpi_abi::FixedWidthNumber;
pub use threads::{ThreadTransport, threads};
pub use transport::{Envelope, Tag, Transport};
