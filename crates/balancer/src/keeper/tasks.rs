//! A task that runs: its process, its output so far, and when it has to end.

use std::{
    io::{PipeReader, Read},
    time::{Duration, Instant, SystemTime},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{
    captured::Capture,
    reap::Reaped,
    starting::Started,
    words::{Captured, Cause, Destination, Ended, Key, Outcome, Running, Start},
};

/// What one stream of one task may keep at most, whatever was asked for.
const CAPTURED_BYTES_MAX: usize = 1 << 20;
/// Output left in a pipe when its task has ended is at most what a pipe holds, unless somebody
/// still writes.
const N_LAST_READS: usize = 32;

/// A task that runs.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) running: Running,
    /// When it has to end, on the boot clock.
    pub(super) until_ns: Option<u64>,
    pub(super) cause: Option<Cause>,
    /// When it is killed after it was asked to end, on the boot clock.
    pub(super) kill_at_ns: Option<u64>,
    started: Instant,
    streams: [Option<Stream>; 2],
}

#[derive(Debug)]
struct Stream {
    reader: Option<PipeReader>,
    capture: Capture,
}

impl Task {
    pub(super) fn new(start: &Start, started: Started) -> Self {
        let bytes_max = match start.output {
            Destination::Kept(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            Destination::Files { .. } => 0,
        };
        let stream = |reader| Stream {
            reader: Some(reader),
            capture: Capture::new(bytes_max.min(CAPTURED_BYTES_MAX)),
        };
        let pid = u32::try_from(started.pid).expect("a process that was started is positive");
        Self {
            running: Running { key: start.key.clone(), pid, started_ns: since_1970_ns() },
            until_ns: start.until_ns,
            cause: None,
            kill_at_ns: None,
            started: Instant::now(),
            streams: started.streams.map(|reader| reader.map(stream)),
        }
    }

    /// The ends of pipes that can be read, by stream.
    pub(super) fn readers(&self) -> [Option<&PipeReader>; 2] {
        self.streams.each_ref().map(|stream| stream.as_ref()?.reader.as_ref())
    }

    /// Reads once; false when there was nothing. A stream that has ended is closed.
    pub(super) fn read(&mut self, stream_idx: usize, buffer: &mut [u8]) -> bool {
        let Some(Some(stream)) = self.streams.get_mut(stream_idx) else { return false };
        let Some(reader) = &mut stream.reader else { return false };
        match reader.read(buffer) {
            Ok(0) => stream.reader = None,
            Ok(n_bytes) => {
                stream.capture.push(&buffer[..n_bytes]);
                return true;
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => stream.reader = None,
        }
        false
    }

    /// Asks the task to end; it is killed when it has not done so after `grace`.
    pub(super) fn end(&mut self, cause: Cause, now_ns: u64, grace: Duration) {
        if self.cause.is_none() {
            self.cause = Some(cause);
            self.kill_at_ns =
                Some(now_ns + u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX / 2));
            self.signal(Signal::TERM);
        }
    }

    /// Sends a signal to the whole group. Its number is the group's as long as the first process is
    /// not reaped, so nobody else can be meant.
    pub(super) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.running.pid).ok().and_then(Pid::from_raw);
        // A group that has ended meanwhile needs no signal.
        pid.map(|pid| kill_process_group(pid, signal).ok());
    }

    /// When something has to be done about this task, on the boot clock.
    pub(super) fn deadline_ns(&self) -> Option<u64> {
        if self.cause.is_some() { self.kill_at_ns } else { self.until_ns }
    }

    /// What is reported of a task that has ended.
    pub(super) fn finish(mut self, reaped: Reaped, buffer: &mut [u8]) -> Ended {
        for stream_idx in 0..self.streams.len() {
            let mut n_reads_left = N_LAST_READS;
            while 0 < n_reads_left && self.read(stream_idx, buffer) {
                n_reads_left -= 1;
            }
        }
        let ran_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let [stdout, stderr] = self.streams.map(|stream| {
            stream.map_or_else(Captured::default, |stream| stream.capture.finish())
        });
        Ended {
            key: self.running.key,
            outcome: reaped.outcome,
            cause: self.cause,
            started_ns: self.running.started_ns,
            ended_ns: self.running.started_ns.saturating_add(ran_ns),
            user_us: reaped.user_us,
            system_us: reaped.system_us,
            resident_kib_max: reaped.resident_kib_max,
            stdout,
            stderr,
        }
    }
}

/// What is reported of a task that never ran.
pub(super) fn never_ran(key: Key, outcome: Outcome) -> Ended {
    let now_ns = since_1970_ns();
    Ended {
        key,
        outcome,
        cause: None,
        started_ns: now_ns,
        ended_ns: now_ns,
        user_us: 0,
        system_us: 0,
        resident_kib_max: 0,
        stdout: Captured::default(),
        stderr: Captured::default(),
    }
}

fn since_1970_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
