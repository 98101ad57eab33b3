//! The guard: waits for the keeper's death, then kills the tasks it left.
//!
//! It costs nothing per task: it holds the reading end of a pipe whose only writing end is the
//! keeper's, so whatever ends the keeper wakes it.

use std::{
    ffi::OsString,
    io::{self, Read},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

use rustix::process::Pid;

use super::leftovers::kill_marked;

/// Becomes the guard of the keeper that started this process: returns when the keeper is gone and
/// none of its tasks is left.
pub fn guard(state: &Path) {
    // A session of its own: what is sent to the keeper's group or terminal does not reach it.
    rustix::process::setsid().ok();
    let mut nothing = [0; 1];
    while matches!(io::stdin().read(&mut nothing), Ok(1..)) {}
    kill_marked(state, None);
}

/// A guard that runs, and the pipe that keeps it waiting.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
    _pipe: Option<ChildStdin>,
}

impl Guard {
    pub(super) fn start(arguments: &[OsString]) -> io::Result<Self> {
        // The file of this program may have been replaced since it started.
        let mut child = Command::new("/proc/self/exe")
            .arg0("sintonia")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            .spawn()?;
        let pipe = child.stdin.take();
        Ok(Self { child, _pipe: pipe })
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}
