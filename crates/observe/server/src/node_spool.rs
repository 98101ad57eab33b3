//! The file of one node's call records.

use super::intake::ReceiveProgress;
use run_record::SpoolWriter;
use run_record::spool::SpoolError;
use std::path::PathBuf;
use wire::Records;

/// Records of one node, each stored once.
#[derive(Debug)]
pub(crate) struct NodeSpool {
    path: PathBuf,
    writer: Option<SpoolWriter>,
    received: ReceiveProgress,
}

/// Records that could not be stored.
#[derive(Debug, thiserror::Error)]
#[error(
    "call records could not be written ({source}); free room on the disk or choose another folder with `--out`"
)]
pub(crate) struct Loss {
    /// Number of records.
    pub(crate) n_records: u64,
    source: SpoolError,
}

impl NodeSpool {
    /// Prepares the file at `path`, created with the first records.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, writer: None, received: ReceiveProgress::default() }
    }

    /// Appends the new ones among `records`.
    pub(crate) fn store(&mut self, records: &mut Records) -> Result<(), Loss> {
        if !self.received.keep_new(records) {
            return Ok(());
        }
        let bytes = wire::to_bytes(records).expect("shorter than the message in which they came");
        self.append(&bytes)
            .map_err(|source| Loss { n_records: records.records.len() as u64, source })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => SpoolWriter::create(&self.path)?,
        };
        self.writer.insert(writer).append(&[bytes])
    }
}
