//! Files of all nodes in the record's spool.

use super::intake::ReceiveProgress;
use crate::lock;
use crate::node_sums::{NodeSums, append};
use run_record::SpoolWriter;
use run_record::measured::{RECORDS_SUFFIX, SUMS_SUFFIX, Spool};
use run_record::snapshot::{ANALYZER, SUFFIX};
use run_record::spool::SpoolError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use wire::Records;

/// Files by node, each with its own lock.
type ByNode<T> = Mutex<BTreeMap<String, Arc<Mutex<T>>>>;

/// Files of the nodes.
#[derive(Debug)]
pub(crate) struct NodeFiles {
    dir: PathBuf,
    spools: ByNode<NodeSpool>,
    sums: ByNode<NodeSums>,
}

impl NodeFiles {
    /// Prepares files in `dir`, created as data arrive.
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, spools: Mutex::default(), sums: Mutex::default() }
    }

    /// Returns the path of the snapshot of all processes.
    pub(crate) fn snapshot(&self) -> PathBuf {
        self.path(ANALYZER, SUFFIX)
    }

    /// Returns the call records of `node`.
    pub(crate) fn spool_of(&self, node: &str) -> Arc<Mutex<NodeSpool>> {
        of(&self.spools, node, || NodeSpool::new(self.path(node, RECORDS_SUFFIX)))
    }

    /// Returns the sums of `node`.
    pub(crate) fn sums_of(&self, node: &str) -> Arc<Mutex<NodeSums>> {
        of(&self.sums, node, || NodeSums::new(self.path(node, SUMS_SUFFIX)))
    }

    /// Returns the files of call records that exist.
    pub(crate) fn spools(&self) -> Vec<Spool> {
        let spools = lock(&self.spools);
        let all = spools.keys().map(|node| (node, self.path(node, RECORDS_SUFFIX)));
        let there = all.filter(|(_, path)| path.exists());
        there.map(|(node, path)| Spool { node: node.clone(), path }).collect()
    }

    fn path(&self, name: &str, suffix: &str) -> PathBuf {
        self.dir.join(format!("{name}.{suffix}"))
    }
}

fn of<T>(files: &ByNode<T>, node: &str, new: impl FnOnce() -> T) -> Arc<Mutex<T>> {
    let mut files = lock(files);
    let file = files.entry(node.to_owned());
    Arc::clone(file.or_insert_with(|| Arc::new(Mutex::new(new()))))
}

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
        append(&mut self.writer, &self.path, &bytes)
            .map_err(|source| Loss { n_records: records.records.len() as u64, source })
    }
}
