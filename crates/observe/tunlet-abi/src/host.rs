//! Foreign tunlet from the run's side: a separate process behind [`tunlets::Tunlet`].
//!
//! # Invariants
//! - [`hear`](Tunlet::hear) and [`look`](Tunlet::look) never wait: news go into a bounded queue, and news
//!   that do not fit are counted.
//! - However its process ends, even by not answering in time, only the tunlet ends, with a sentence; the run goes on.

mod shared;
mod supervisor;

use crate::message::HostOrder;
use app_description::Application;
use shared::Shared;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tunlets::{Decision, News, Requests, Tunlet, TunletError, TunletSpec, World};

/// Limits on a foreign tunlet.
#[derive(Clone, Copy, Debug)]
pub struct TunletLimits {
    /// Time for each answer: to being loaded, to the beginning, to a batch of news.
    pub patience: Duration,
    /// Maximum number of waiting news.
    pub n_news_max: usize,
}

impl Default for TunletLimits {
    fn default() -> Self {
        Self { patience: Duration::from_secs(5), n_news_max: 4096 }
    }
}

/// Reason why a foreign tunlet cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForeignTunletError {
    /// The process cannot be started.
    #[error("`{}`, which keeps the tunlet, cannot be started", host_program.display())]
    NotStarted {
        /// Path of the program.
        host_program: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The library does not contain a valid tunlet.
    #[error("`{}` is no tunlet: {reason}", library.display())]
    Refused {
        /// Path of the library.
        library: PathBuf,
        /// Reason, as a sentence.
        reason: String,
    },
    /// The process ended.
    #[error("the tunlet in `{}` ended while it was loaded: {how}", library.display())]
    Ended {
        /// Path of the library.
        library: PathBuf,
        /// Description of how it ended.
        how: String,
    },
}

/// A tunlet of a shared library, in a process of its own.
#[derive(Debug)]
pub struct ForeignTunlet {
    spec: TunletSpec,
    shared: Arc<Shared>,
    /// Queue of orders; `None` once the tunlet is told to leave.
    orders: Option<SyncSender<HostOrder>>,
    supervisor: Option<JoinHandle<()>>,
    n_dropped: u64,
}

impl ForeignTunlet {
    /// Loads a library in a separate process; `host_program` is `sintonia`, which has the subcommand `tunlet-host`.
    ///
    /// # Errors
    /// The process cannot be started, ends early, or the library is not a valid tunlet.
    pub fn open(library: &Path, host_program: &Path) -> Result<Self, ForeignTunletError> {
        Self::open_with(library, host_program, TunletLimits::default())
    }

    /// Like [`open`](Self::open), with other limits.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with(
        library: &Path,
        host_program: &Path,
        limits: TunletLimits,
    ) -> Result<Self, ForeignTunletError> {
        let shared = Arc::new(Shared::new(limits.patience));
        let (orders, queue) = sync_channel(limits.n_news_max);
        let supervisor = supervisor::start(library, host_program, &shared, queue);
        let supervisor = supervisor.map_err(|source| ForeignTunletError::NotStarted {
            host_program: host_program.to_owned(),
            source,
        })?;
        let library = library.to_owned();
        let opened = shared.wait_for(|state| state.opened.take());
        let mut tunlet = Self {
            spec: TunletSpec::default(),
            shared,
            orders: Some(orders),
            supervisor: Some(supervisor),
            n_dropped: 0,
        };
        // On an error, the tunlet is dropped, which ends its process.
        tunlet.spec = match opened {
            Ok(Ok(spec)) => spec,
            Ok(Err(reason)) => return Err(ForeignTunletError::Refused { library, reason }),
            Err(how) => return Err(ForeignTunletError::Ended { library, how }),
        };
        Ok(tunlet)
    }

    /// Returns the number of news that were dropped because the tunlet was too slow.
    pub fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    /// Returns the id of its process while it runs.
    pub fn process_id(&self) -> Option<u32> {
        self.shared.lock().process_id
    }

    fn send(&self, order: HostOrder) -> bool {
        match self.orders.as_ref().map(|orders| orders.try_send(order)) {
            Some(Err(TrySendError::Full(_))) => false,
            // A tunlet that has ended misses nothing.
            _ => true,
        }
    }

    fn unable(&self, reason: String) -> TunletError {
        TunletError::Unable { tunlet: self.spec.name.clone(), reason }
    }
}

impl Tunlet for ForeignTunlet {
    fn spec(&self) -> TunletSpec {
        self.spec.clone()
    }

    fn begin(&mut self, application: &Application, world: &World) -> Result<Requests, TunletError> {
        tunlets::rehearsal::check_needs(&self.spec, application)?;
        let (n_events, n_points) = (application.events.len(), application.tuning_points.len());
        let application = Box::new(application.clone());
        self.send(HostOrder::Begin { application, world: world.clone() });
        let begun = self.shared.wait_for(|state| state.begun.take());
        let begun = begun.map_err(|how| self.unable(how))?;
        let requests = begun.map_err(|reason| self.unable(reason))?;
        let fits = requests.events.len() == n_events
            && requests.points.iter().all(|point| *point < n_points);
        if !fits {
            return Err(self.unable(
                "it requests an event or tuning point that is not in the description".to_owned(),
            ));
        }
        self.shared.lock().points.clone_from(&requests.points);
        Ok(requests)
    }

    fn hear(&mut self, news: &News, decisions: &mut Vec<Decision>) {
        if !self.send(HostOrder::Hear(vec![news.clone()])) {
            self.n_dropped += 1;
            if is_power_of_ten(self.n_dropped) {
                let n = self.n_dropped;
                self.shared.add_line(format!("it is too slow: {n} news did not reach it so far"));
            }
        }
        decisions.append(&mut self.shared.lock().decisions);
    }

    fn look(&mut self, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let mut state = self.shared.lock();
        let Some(how) = &state.ended else {
            decisions.append(&mut state.decisions);
            return Ok(());
        };
        Err(format!("tunlet `{}` ended: {how}; the run goes on without it", self.spec.name))
    }

    fn lines(&mut self) -> Vec<String> {
        self.shared.take_lines()
    }
}

fn is_power_of_ten(mut number: u64) -> bool {
    while 0 < number && number.is_multiple_of(10) {
        number /= 10;
    }
    number == 1
}

impl Drop for ForeignTunlet {
    fn drop(&mut self) {
        self.shared.lock().leaves_since = Some(Instant::now());
        self.orders = None;
        if let Some(supervisor) = self.supervisor.take() {
            // A supervisor that panicked has no process left to wait for.
            supervisor.join().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_news_are_told_ever_more_rarely() {
        let told: Vec<u64> = (0..=10_001).filter(|n| is_power_of_ten(*n)).collect();
        assert_eq!(told, [1, 10, 100, 1000, 10_000]);
    }
}
