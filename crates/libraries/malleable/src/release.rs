//! Detects whether processes that left have ended.
//!
//! A process that leaves connects to rank 0, sends its process id, and keeps the connection until it ends. Its end
//! closes the connection, however the process ends, on whatever node. A token known only to ranks distinguishes it from
//! other clients.
//!
//! # Invariants
//! - A process is reported gone only when it is.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two polls.
const NAP: Duration = Duration::from_millis(1);
/// Largest time to connect to one address.
const TRY: Duration = Duration::from_secs(1);
/// Size of a greeting: the token, then the process id.
const GREETING_BYTES: usize = 12;

/// Addresses and token of the listener that rank 0 opened for leaving processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ReleaseAddress {
    addresses: Vec<SocketAddr>,
    word: u64,
}

/// Listener for processes that leave.
#[derive(Debug)]
pub(crate) struct Release {
    listener: TcpListener,
    pub(crate) address: ReleaseAddress,
}

/// Processes seen to end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) pids: Vec<u32>,
    pub(crate) is_over: bool,
}

/// State of the watch, which runs in a thread of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<Mutex<Gone>>);

impl Watch {
    pub(crate) fn seen(&self) -> Gone {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, pids: &[u32], is_over: bool) {
        let gone = Gone { pids: pids.to_vec(), is_over };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = gone;
    }
}

impl Release {
    /// Opens the listener.
    pub(crate) fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let addresses = own_addresses().into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.map_or(0, |now| now.as_nanos() % u128::from(u64::MAX));
        let word = u64::try_from(nanos).unwrap_or(0) ^ (u64::from(std::process::id()) << 32);
        Ok(Self { listener, address: ReleaseAddress { addresses, word } })
    }

    /// Waits in a thread for `n_leaving` processes to connect and to end, at most `at_most`.
    pub(crate) fn watch(self, n_leaving: usize, at_most: Duration) -> Watch {
        let watch = Watch::default();
        let seen = watch.clone();
        let work = move || self.watch_exits(n_leaving, Instant::now() + at_most, &seen);
        let thread = thread::Builder::new().name("release".to_owned()).spawn(work);
        if thread.is_err() {
            watch.tell(&[], true);
        }
        watch
    }

    /// Returns the first connection that sends the token, unless `until` passes or `is_in_vain`.
    pub(crate) fn accept(
        &self,
        until: Instant,
        mut is_in_vain: impl FnMut() -> bool,
    ) -> Option<TcpStream> {
        while Instant::now() < until && !is_in_vain() {
            if let Ok((mut stream, _)) = self.listener.accept() {
                let mut said = [0; GREETING_BYTES];
                let is_heard = stream.set_nonblocking(false).is_ok()
                    && stream.set_read_timeout(Some(TRY)).is_ok()
                    && stream.read_exact(&mut said).is_ok()
                    && stream.set_read_timeout(None).is_ok();
                if is_heard && said.starts_with(&self.address.word.to_le_bytes()) {
                    return Some(stream);
                }
            }
            thread::sleep(NAP);
        }
        None
    }

    fn watch_exits(&self, n_leaving: usize, until: Instant, seen: &Watch) {
        let (mut guests, mut gone) = (Vec::<Guest>::new(), Vec::new());
        while gone.len() < n_leaving && Instant::now() < until {
            while let Ok((stream, _)) = self.listener.accept() {
                if stream.set_nonblocking(true).is_ok() {
                    guests.push(Guest { stream, said: Vec::new() });
                }
            }
            guests.retain_mut(|guest| {
                let is_here = guest.is_here();
                if !is_here {
                    gone.extend(guest.pid(self.address.word));
                    seen.tell(&gone, false);
                }
                is_here
            });
            thread::sleep(NAP);
        }
        gone.sort_unstable();
        seen.tell(&gone, true);
    }
}

/// Process that is about to end.
struct Guest {
    stream: TcpStream,
    said: Vec<u8>,
}

impl Guest {
    /// Reads its greeting; returns whether it keeps the connection.
    fn is_here(&mut self) -> bool {
        let mut bytes = [0; GREETING_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(n_bytes) if 0 < n_bytes && self.said.len() < GREETING_BYTES => {
                self.said.extend(bytes.iter().take(n_bytes));
                true
            }
            // The other side has closed the connection, or a stranger sends too much.
            Ok(_) => false,
            // A killed process resets the connection.
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    fn pid(&self, word: u64) -> Option<u32> {
        let (said, rest) = self.said.split_first_chunk()?;
        let pid = rest.first_chunk()?;
        (u64::from_le_bytes(*said) == word).then(|| u32::from_le_bytes(*pid))
    }
}

/// Connects to a listener, and sends the token and the process id.
pub(crate) fn connect_to(address: &ReleaseAddress) -> Option<TcpStream> {
    let reached = address.addresses.iter().find_map(|at| TcpStream::connect_timeout(at, TRY).ok());
    let mut stream = reached?;
    let greeting = [&address.word.to_le_bytes()[..], &std::process::id().to_le_bytes()].concat();
    stream.write_all(&greeting).is_ok().then_some(stream)
}

/// Reports that this process leaves, which must then end soon. `false` where the listener is gone.
pub(crate) fn report_exit(address: &ReleaseAddress) -> bool {
    // Only the end of the process closes the connection.
    connect_to(address).map(std::mem::forget).is_some()
}

/// Addresses of this host in its present network namespace; the ones that other hosts can reach come first.
fn own_addresses() -> Vec<IpAddr> {
    let table = std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut addresses = local_addresses(&table);
    addresses.retain(|address| !address.is_loopback());
    addresses.push(Ipv4Addr::LOCALHOST);
    addresses.into_iter().map(IpAddr::V4).collect()
}

/// Addresses that the kernel's routing table calls local.
fn local_addresses(table: &str) -> Vec<Ipv4Addr> {
    let (mut found, mut last) = (Vec::new(), None::<Ipv4Addr>);
    for line in table.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse().ok();
        } else if line.starts_with("/32 host LOCAL") {
            found.extend(last.take());
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_found() {
        let table = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     |-- 10.0.0.7\n        \
                     /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\nLocal:\n     |-- 10.0.0.7\n        \
                     /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link BROADCAST\n";
        let expected = [Ipv4Addr::new(10, 0, 0, 7), Ipv4Addr::LOCALHOST];
        assert_eq!(local_addresses(table), expected);
    }

    #[track_caller]
    fn wait_for(watch: &Watch, is_expected: impl Fn(&Gone) -> bool) -> Gone {
        let until = Instant::now() + Duration::from_secs(20);
        while !is_expected(&watch.seen()) {
            assert!(Instant::now() < until, "{:?}", watch.seen());
            thread::sleep(NAP);
        }
        watch.seen()
    }

    #[test]
    fn who_closes_the_connection_is_gone() {
        let release = Release::open().unwrap();
        let address = release.address.clone();
        let watch = release.watch(2, Duration::from_secs(20));
        let mut guests = [7_u32, 5].map(|pid| {
            let mut guest = TcpStream::connect(address.addresses[0]).unwrap();
            guest.write_all(&address.word.to_le_bytes()).unwrap();
            guest.write_all(&pid.to_le_bytes()).unwrap();
            Some(guest)
        });
        let stranger = TcpStream::connect(address.addresses[0]).unwrap();
        drop(stranger);
        guests[0] = None;
        let first = wait_for(&watch, |gone| !gone.pids.is_empty());
        assert_eq!(first, Gone { pids: vec![7], is_over: false });
        guests[1] = None;
        assert_eq!(wait_for(&watch, |gone| gone.is_over).pids, [5, 7]);
    }

    #[test]
    fn who_does_not_come_is_not_gone() {
        let watch = Release::open().unwrap().watch(1, Duration::from_millis(1));
        assert!(wait_for(&watch, |gone| gone.is_over).pids.is_empty());
    }
}
