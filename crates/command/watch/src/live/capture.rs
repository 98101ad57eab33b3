//! Captures the command's output while a view has the terminal: kept in a file, and passed on in order afterwards.

use run_record::{SpoolReader, SpoolWriter};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Most lines kept for the view.
const N_LINES_MAX: usize = 1000;
const LINE_BYTES_MAX: usize = 4096;
const READ_BYTES: usize = 16 << 10;
/// Longest wait for the last bytes after the command's end; a process it left behind may hold the pipe for ever.
const LAST_BYTES: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Output,
    Errors,
}

impl Stream {
    fn write(self, bytes: &[u8]) {
        // An error means that no reader is left; on a terminal the command would not learn of that either.
        match self {
            Self::Output => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()).ok(),
            Self::Errors => io::stderr().write_all(bytes).ok(),
        };
    }
}

/// Destination of the output.
#[derive(Debug)]
enum Destination {
    /// The file.
    Kept(SpoolWriter),
    /// The file cannot grow: readers wait until the view ends.
    Full,
    /// The output of this process.
    PassedOn,
}

#[derive(Debug)]
struct Shared {
    destination: Mutex<Destination>,
    changed: Condvar,
    lines: Mutex<VecDeque<String>>,
}

/// Captured output of a command.
#[derive(Debug)]
pub(crate) struct Capture {
    shared: Arc<Shared>,
    path: PathBuf,
    readers: Vec<JoinHandle<()>>,
    to_output: SyncSender<ChildStdout>,
    to_errors: SyncSender<ChildStderr>,
}

impl Capture {
    /// Starts to keep the output of the command's pipes in the file `path`. Called before the command starts, since a
    /// command whose pipes are not read would wait for ever.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        let destination = SpoolWriter::create(path).map_or(Destination::Full, Destination::Kept);
        let (destination, lines) = (Mutex::new(destination), Mutex::default());
        let shared = Arc::new(Shared { destination, changed: Condvar::new(), lines });
        let (to_output, output) = sync_channel(1);
        let (to_errors, errors) = sync_channel(1);
        let readers = vec![
            reader(&shared, output, Stream::Output)?,
            reader(&shared, errors, Stream::Errors)?,
        ];
        Ok(Self { shared, path: path.to_owned(), readers, to_output, to_errors })
    }

    /// Gives the pipes of the started command to the readers.
    pub(crate) fn read(&self, (output, errors): (ChildStdout, ChildStderr)) {
        // Fails if a reader panicked, which closes the pipe.
        self.to_output.send(output).ok();
        self.to_errors.send(errors).ok();
    }

    /// Returns whether the file cannot grow.
    pub(crate) fn is_full(&self) -> bool {
        matches!(*self.shared.destination(), Destination::Full)
    }

    /// Lines since the last call, the oldest first.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        self.shared.lines().drain(..).collect()
    }

    /// Writes what was kept to the terminal, which is free now; later output goes there, too.
    pub(crate) fn pass_on(&mut self) {
        let mut destination = self.shared.destination();
        if !matches!(*destination, Destination::PassedOn) {
            replay(&self.path);
            *destination = Destination::PassedOn;
            self.shared.changed.notify_all();
        }
    }

    /// Waits for the output that is still in the pipes after the command's end.
    pub(crate) fn finish(mut self) {
        self.pass_on();
        let deadline = Instant::now() + LAST_BYTES;
        let is_read = || self.readers.iter().all(JoinHandle::is_finished);
        server::wait_until(deadline, is_read);
    }
}

/// Thread that reads one pipe, once it is handed over.
fn reader<P: Read + Send + 'static>(
    shared: &Arc<Shared>,
    pipe: Receiver<P>,
    stream: Stream,
) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    Builder::new().name("output".to_owned()).spawn(move || {
        if let Ok(pipe) = pipe.recv() {
            shared.read(pipe, stream);
        }
    })
}

fn replay(path: &Path) {
    let Ok(mut kept) = SpoolReader::open(path) else { return };
    let mut bytes = Vec::new();
    while kept.next_frame(&mut bytes).unwrap_or(false) {
        match bytes.split_first() {
            Some((0, bytes)) => Stream::Output.write(bytes),
            Some((_, bytes)) => Stream::Errors.write(bytes),
            None => {}
        }
    }
}

impl Shared {
    fn destination(&self) -> MutexGuard<'_, Destination> {
        self.destination.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lines(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, mut pipe: impl Read, stream: Stream) {
        let mut bytes = vec![0; READ_BYTES];
        let (mut line, mut is_shown) = (Vec::new(), true);
        while let Ok(n_bytes @ 1..) = pipe.read(&mut bytes) {
            let bytes = &bytes[..n_bytes];
            self.take(bytes, stream);
            let add = || self.add_lines(&mut line, bytes);
            // A panic would end this thread and close the pipe, which ends the command.
            is_shown = is_shown && catch_unwind(AssertUnwindSafe(add)).is_ok();
        }
    }

    fn take(&self, bytes: &[u8], stream: Stream) {
        let mut destination = self.destination();
        if let Destination::Kept(file) = &mut *destination {
            let number = [u8::from(stream == Stream::Errors)];
            if file.append(&[&number, bytes]).is_ok() {
                return;
            }
            *destination = Destination::Full;
        }
        while matches!(*destination, Destination::Full) {
            destination = self.changed.wait(destination).unwrap_or_else(PoisonError::into_inner);
        }
        stream.write(bytes);
    }

    fn add_lines(&self, line: &mut Vec<u8>, bytes: &[u8]) {
        let mut lines = self.lines();
        for byte in bytes {
            if *byte == b'\n' || LINE_BYTES_MAX <= line.len() {
                lines.push_back(String::from_utf8_lossy(line).into_owned());
                line.clear();
            }
            if *byte != b'\n' {
                line.push(*byte);
            }
        }
        let n_excess = lines.len().saturating_sub(N_LINES_MAX);
        lines.drain(..n_excess);
    }
}
