//! Guard of a keeper: waits for the keeper's death, then kills the tasks that it left.
//!
//! It costs nothing per task: it holds the reading end of a pipe whose only writing end is the keeper's, so it
//! wakes however the keeper ends.

use std::ffi::OsString;
use std::io;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::Pid;

use super::leftovers::{Whose, kill_marked};

/// Becomes the guard of the keeper that started this process; returns when the keeper is gone and none of its tasks
/// is left.
pub fn guard(state: &Path) {
    // A session of its own: signals to the keeper's group or terminal do not reach it.
    rustix::process::setsid().ok();
    // The keeper writes the mark of its tasks; then nothing follows until the keeper ends.
    let mut run = String::new();
    io::stdin().read_to_string(&mut run).ok();
    if !run.is_empty() {
        kill_marked(state, Whose::Run(&run));
    }
}

/// Running guard, and the pipe that keeps it waiting.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
    _pipe: Option<ChildStdin>,
}

impl Guard {
    pub(super) fn start(arguments: &[OsString], run: &str) -> io::Result<Self> {
        // The file of this program may have been replaced since it started.
        let mut child = Command::new("/proc/self/exe")
            .arg0("sintonia")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            .spawn()?;
        let mut pipe = child.stdin.take();
        pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(run.as_bytes()))?;
        Ok(Self { child, _pipe: pipe })
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}
