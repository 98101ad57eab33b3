//! Call path of a thread that somebody else has stopped.

use crate::perf::{N_REGISTERS, RawSample};
use crate::sections::SectionCache;
use crate::unwind::{CallPath, ProcessUnwinder};

/// Finds call paths of a process's threads.
#[derive(Debug)]
pub struct CallPaths {
    pid: i32,
    unwinder: ProcessUnwinder,
    files: SectionCache,
}

impl CallPaths {
    /// Creates it for process `pid`, with the modules that it has now.
    #[must_use]
    pub fn of(pid: i32) -> Self {
        let files = SectionCache::default();
        let mut paths = Self { pid, unwinder: ProcessUnwinder::new(), files };
        paths.read_modules();
        paths
    }

    /// Returns the call path of a thread.
    ///
    /// `registers` are AX BX CX DX SI DI BP SP IP, R8 to R15, and `stack` is the memory from the stack pointer upwards.
    pub fn path(&mut self, registers: [u64; N_REGISTERS], stack: &[u8]) -> CallPath<'_> {
        let sample = RawSample { registers, stack };
        if self.unwinder.path(&sample, &mut self.files).is_outside {
            // A library may have been loaded.
            self.read_modules();
        }
        self.unwinder.path(&sample, &mut self.files)
    }

    fn read_modules(&mut self) {
        if let Ok(maps) = std::fs::read(format!("/proc/{}/maps", self.pid)) {
            self.unwinder.add_modules(&String::from_utf8_lossy(&maps));
        }
    }
}
