//! What daemon and keeper say to each other, and how it lies on their socket.
//!
//! A message is its length (4 bytes, little endian) and then its fields as `postcard` writes them.

use balanced::OUTPUT_BYTES_MAX;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::core::words::{Attempt, Ended, Job, Killed, Moment, Running};

/// Raised with every change of the messages; a daemon refuses a keeper of another version.
pub(super) const VERSION: u32 = 2;

/// The longest message in bytes: what runs and what is held, of as many tasks as a keeper takes.
pub(super) const MESSAGE_BYTES_MAX: usize = 8 << 20;

/// From daemon to keeper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Start this. What is running or held is not started again.
    Start(Box<Start>),
    /// These may run until then.
    Extend { attempts: Vec<Attempt>, until: Moment },
    /// End this.
    Kill { attempt: Attempt, because: Killed },
    /// These ends are safe with the daemon.
    Forget(Vec<Attempt>),
    /// End when nothing runs any more and everything is forgotten.
    Leave,
}

/// An attempt to start, as [`Job`] says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) attempt: Attempt,
    /// The task's name.
    pub(super) name: String,
    /// Program and arguments. A program without a slash is looked for in the `PATH` below.
    pub(super) command: Vec<String>,
    /// All of its environment; marks of the keeper are added.
    pub(super) environment: Vec<(String, String)>,
    pub(super) folder: String,
    pub(super) array_index: Option<u64>,
    pub(super) output: Destination,
    pub(super) until: Option<Moment>,
    pub(super) n_at_once: Option<u32>,
}

/// Where output goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Destination {
    /// Kept in memory: the first and the last half of this many bytes, for each stream.
    Kept(usize),
    /// Into files of this folder, which is made where it is missing.
    Folder(String),
}

/// From keeper to daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Report {
    /// The first report on each connection: what runs, and how many ends are reported next.
    Hello { version: u32, pid: u32, running: Vec<Running>, n_held: usize },
    /// An attempt has ended or could not be started; repeated on each connection until forgotten.
    Ended(Box<Ended>),
}

/// Why bytes are no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WordsError {
    /// A length beyond the bound.
    #[error("a message of {0} bytes between daemon and keeper is too long; shorten the command")]
    TooLong(usize),
    /// Fields that do not fit.
    #[error("a message between daemon and keeper is damaged; restart the daemon")]
    Damaged(#[source] postcard::Error),
}

impl Start {
    pub(super) fn of(job: &Job) -> Self {
        let around = &job.work.around;
        let limits = &around.limits;
        let output = match &limits.output_folder {
            Some(folder) => Destination::Folder(folder.clone()),
            None => {
                let bytes_max = limits.output_bytes_max.min(OUTPUT_BYTES_MAX);
                Destination::Kept(usize::try_from(bytes_max).unwrap_or(usize::MAX))
            }
        };
        Self {
            attempt: job.attempt,
            name: job.name.clone(),
            command: job.work.command().map(str::to_owned).collect(),
            environment: around.environment.clone(),
            folder: around.folder.clone(),
            array_index: job.array_index,
            output,
            until: job.lease_until,
            n_at_once: job.n_at_once,
        }
    }

    /// Whether it was ordered before its turn, and so many tasks run that it has not come.
    pub(super) fn has_to_wait(&self, n_running: usize) -> bool {
        self.n_at_once.is_some_and(|n_at_once| n_at_once.max(1) as usize <= n_running)
    }
}

/// Appends a message.
///
/// # Errors
/// [`WordsError::TooLong`]; then nothing was appended.
pub(super) fn encode<M: Serialize>(message: &M, bytes: &mut Vec<u8>) -> Result<(), WordsError> {
    let fields = postcard::to_stdvec(message).map_err(WordsError::Damaged)?;
    let n_bytes = u32::try_from(fields.len()).unwrap_or(u32::MAX);
    if MESSAGE_BYTES_MAX < fields.len() {
        return Err(WordsError::TooLong(fields.len()));
    }
    bytes.extend_from_slice(&n_bytes.to_le_bytes());
    bytes.extend_from_slice(&fields);
    Ok(())
}

/// The message at the start of `bytes` and how many bytes it takes, or `None` while it is
/// incomplete.
///
/// # Errors
/// A length beyond the bound, or fields that do not fit: the connection is of no more use.
pub(super) fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<Option<(M, usize)>, WordsError> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let n_bytes = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if MESSAGE_BYTES_MAX < n_bytes {
        return Err(WordsError::TooLong(n_bytes));
    }
    let Some(fields) = rest.get(..n_bytes) else { return Ok(None) };
    let message = postcard::from_bytes(fields).map_err(WordsError::Damaged)?;
    Ok(Some((message, 4 + n_bytes)))
}

#[cfg(test)]
mod tests {
    use super::{super::testing::attempt, *};

    #[track_caller]
    fn comes_back(order: Order) {
        let mut bytes = Vec::new();
        encode(&order, &mut bytes).unwrap();
        for cut in 0..bytes.len() {
            assert!(decode::<Order>(&bytes[..cut]).unwrap().is_none(), "cut at {cut}");
        }
        assert_eq!(decode(&bytes).unwrap(), Some((order, bytes.len())));
    }

    #[test]
    fn every_order_comes_back_and_a_part_of_it_is_none() {
        comes_back(Order::Kill { attempt: attempt(1), because: Killed::Canceled });
        comes_back(Order::Forget(vec![attempt(1), attempt(2)]));
        comes_back(Order::Leave);
        comes_back(Order::Extend { attempts: vec![attempt(1)], until: Moment(5) });
        comes_back(Order::Start(Box::new(Start {
            attempt: attempt(u64::MAX),
            name: "alpha.1".to_owned(),
            command: vec!["echo".to_owned(), "hé".to_owned()],
            environment: vec![("A".to_owned(), "b".to_owned())],
            folder: "/".to_owned(),
            array_index: Some(3),
            output: Destination::Kept(7),
            until: Some(Moment(1)),
            n_at_once: Some(2),
        })));
    }

    #[test]
    fn a_length_beyond_the_bound_is_refused_at_once() {
        assert!(matches!(decode::<Order>(&[255; 4]), Err(WordsError::TooLong(_))));
        assert!(matches!(decode::<Order>(&[1, 0, 0, 0, 99]), Err(WordsError::Damaged(_))));
    }
}
