//! Files of all nodes in the record's spool.

use crate::node_spool::NodeSpool;
use crate::node_sums::NodeSums;
use run_record::measured::{RECORDS_SUFFIX, SUMS_SUFFIX, Spool};
use run_record::snapshot::{ANALYZER, SUFFIX};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

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
        let spools = self.spools.lock().unwrap_or_else(PoisonError::into_inner);
        let all = spools.keys().map(|node| (node, self.path(node, RECORDS_SUFFIX)));
        let there = all.filter(|(_, path)| path.exists());
        there.map(|(node, path)| Spool { node: node.clone(), path }).collect()
    }

    fn path(&self, name: &str, suffix: &str) -> PathBuf {
        self.dir.join(format!("{name}.{suffix}"))
    }
}

fn of<T>(files: &ByNode<T>, node: &str, new: impl FnOnce() -> T) -> Arc<Mutex<T>> {
    let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
    let file = files.entry(node.to_owned());
    Arc::clone(file.or_insert_with(|| Arc::new(Mutex::new(new()))))
}
