//! Process that runs a foreign tunlet: reads orders, calls the library, answers.
//!
//! # Invariants
//! - The library cannot reach the protocol by mistake: descriptor 0 is an empty file and descriptor 1 is
//!   standard error, which the run shows line by line; nothing else is inherited.
//! - The process dies with the run.

use crate::loaded::LoadedTunlet;
use crate::message::{ANSWERS, HostOrder, ORDERS, TunletAnswer};
use frame::FrameError;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use tunlets::Tunlet;

/// Maximum number of decisions passed on per batch of news; a tunlet that makes more is malfunctioning.
const N_DECISIONS_MAX: usize = 1024;

/// Reason why the process of a tunlet ends before it is told to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildError {
    /// The descriptors cannot be set up.
    #[error("the process of a tunlet cannot be prepared")]
    Unprepared(#[from] io::Error),
    /// The messages of the run cannot be read, or answered.
    #[error("`sintonia tunlet-host` is started by `sintonia run --tunlet LIB.so` only: {0}")]
    Unspoken(String),
}

impl From<FrameError> for ChildError {
    fn from(error: FrameError) -> Self {
        Self::Unspoken(error.to_string())
    }
}

/// Serves the tunlet of a library to the process at the other ends of standard input and output.
///
/// # Errors
/// The descriptors cannot be set up, or the run cannot be communicated with.
pub fn serve(library: &Path) -> Result<(), ChildError> {
    let (mut orders, mut answers) = take_protocol()?;
    let mut say = |answer: &TunletAnswer| ANSWERS.write(answer, &mut answers);
    let mut tunlet = match LoadedTunlet::open(library) {
        Ok(tunlet) => tunlet,
        Err(error) => return Ok(say(&TunletAnswer::Opened(Err(error.to_string())))?),
    };
    say(&TunletAnswer::Opened(Ok(tunlet.spec())))?;
    while let Some(order) = ORDERS.read_message(&mut orders)? {
        let answer = answer(&mut tunlet, order);
        for line in tunlet.lines() {
            // If standard error is closed, there is no reader.
            writeln!(io::stderr(), "{line}").ok();
        }
        say(&answer)?;
    }
    Ok(())
}

fn answer(tunlet: &mut LoadedTunlet, order: HostOrder) -> TunletAnswer {
    match order {
        HostOrder::Begin { application, world } => {
            let begun = tunlet.begin(&application, &world);
            TunletAnswer::Begun(begun.map_err(|error| match error {
                tunlets::TunletError::Unable { reason, .. } => reason,
                other => other.to_string(),
            }))
        }
        HostOrder::Hear(all) => {
            let mut decisions = Vec::new();
            for news in &all {
                tunlet.hear(news, &mut decisions);
            }
            decisions.truncate(N_DECISIONS_MAX);
            TunletAnswer::Heard(decisions)
        }
    }
}

/// Moves the pipes away from descriptors 0 and 1, where a library might use them, and closes all others.
fn take_protocol() -> io::Result<(File, File)> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    close_inherited()?;
    let orders = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let answers = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((File::from(orders), File::from(answers)))
}

fn close_inherited() -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        open.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for descriptor in open.into_iter().filter(|descriptor| 2 < *descriptor) {
        // SAFETY: no object of this process owns it, since the process has opened nothing yet. The descriptor
        // that listed the others is already closed.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}
