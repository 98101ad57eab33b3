//! What tasks have used.

use serde::{Deserialize, Serialize};

/// What an attempt has used, as far as the system has counted it; 0 where it has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Processor time of its processes, in ms.
    pub cpu_ms: u64,
    /// Most memory of one of its processes at once, in KiB; where memory was asked for, of all together.
    pub memory_max_kib: u64,
    /// Bytes that were read from disks.
    pub read_bytes: u64,
    /// Bytes that were written to disks.
    pub written_bytes: u64,
}

impl Usage {
    /// Adds another attempt: memory is that of the larger one.
    pub fn add(&mut self, other: Self) {
        self.cpu_ms = self.cpu_ms.saturating_add(other.cpu_ms);
        self.memory_max_kib = self.memory_max_kib.max(other.memory_max_kib);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
    }
}
