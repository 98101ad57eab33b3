//! Bounded set of connections that have not proved the key; the oldest is dropped when there is no room.
//!
//! A peer that has the key proves it within milliseconds. Connections that have sent nothing are dropped
//! first, then the oldest. Connections of one address may take only a part of the room, so that a flood from
//! one address drops only its own connections. When many connections arrive at once from everywhere, as the
//! collectors of a large job do, they wait for each other.

use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for which a connection cannot be dropped for another of its own address: a peer that has the key
/// proves it by then.
const GRACE: Duration = Duration::from_millis(20);
/// Time for which a connection cannot be dropped for one of another address, which waits at most this long.
const SETTLED: Duration = Duration::from_millis(250);
/// Longest time between two checks for room.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Strangers may hold one in this many of the files that this process may open.
const FILES_PER_STRANGER: u64 = 8;

/// Most strangers at the same time.
#[derive(Clone, Copy, Debug)]
pub struct StrangerLimits {
    /// Most strangers in all.
    pub n_max: usize,
    /// Most strangers of one address; an IPv6 network of 64 bits counts as one.
    pub n_per_address_max: usize,
}

impl StrangerLimits {
    fn within_files(self) -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let n_files = limit.map_or(u64::MAX, |limit| limit / FILES_PER_STRANGER);
        let n_files = usize::try_from(n_files).unwrap_or(usize::MAX).max(1);
        Self {
            n_max: self.n_max.min(n_files),
            n_per_address_max: self.n_per_address_max.min(n_files),
        }
    }
}

/// Connections of a listener that have not proved the key.
#[derive(Debug)]
pub struct Unauthenticated {
    limits: StrangerLimits,
    table: Mutex<Table<Arc<TcpStream>>>,
    /// Notified when a stranger has left.
    left: Condvar,
}

/// Place of one stranger; when it is dropped without [`AdmissionSlot::mark_authenticated`], the connection counts as
/// unproved.
#[derive(Debug)]
pub struct AdmissionSlot {
    unauthenticated: Arc<Unauthenticated>,
    pub(crate) number: u64,
    is_authenticated: bool,
}

impl Unauthenticated {
    /// An empty set, with lower limits than given where this process may open few files.
    #[must_use]
    pub fn new(limits: StrangerLimits) -> Self {
        Self {
            limits: limits.within_files(),
            table: Mutex::new(Table::default()),
            left: Condvar::new(),
        }
    }

    /// Admits a connection; `None` when there is no room. May end another connection, and waits for up to [`SETTLED`].
    pub(crate) fn admit(
        self: &Arc<Self>,
        from: IpAddr,
        stream: &Arc<TcpStream>,
    ) -> Option<AdmissionSlot> {
        let (from, deadline) = (origin(from), Instant::now() + SETTLED);
        let mut table = self.table();
        loop {
            let now = Instant::now();
            match table.make_room(from, now, self.limits) {
                Room::Free => break,
                Room::Soon if now < deadline => {
                    let waited = self.left.wait_timeout(table, LOOK_EVERY);
                    table = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Room::Soon | Room::None => {
                    table.n_unproved += 1;
                    return None;
                }
            }
        }
        let number = table.enter(from, Instant::now(), Arc::clone(stream));
        table.drop_driven_out(end);
        Some(AdmissionSlot { unauthenticated: Arc::clone(self), number, is_authenticated: false })
    }

    /// Ends the connection to be dropped first, except `kept`; returns whether there was one.
    pub(crate) fn drop_one(&self, kept: Option<u64>) -> bool {
        let mut table = self.table();
        let least = table.least(|row| Some(row.number) != kept);
        if let Some(at) = least {
            table.drive_out(at);
        }
        table.drop_driven_out(end);
        least.is_some()
    }

    /// Waits until a stranger leaves, or for `patience`.
    pub(crate) fn wait_for_leaver(&self, patience: Duration) {
        // The caller tries again, whether this was woken or timed out.
        drop(self.left.wait_timeout(self.table(), patience));
    }

    /// Number of connections that ended, or were not admitted, without having proved the key.
    #[must_use]
    pub fn n_unproved(&self) -> u64 {
        self.table().n_unproved
    }

    fn table(&self) -> MutexGuard<'_, Table<Arc<TcpStream>>> {
        // Every change of the table is complete before anything can panic.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AdmissionSlot {
    /// Records that the peer has begun to speak as one with the key would.
    pub fn mark_plausible(&self) {
        self.unauthenticated.table().mark_plausible(self.number);
    }

    /// Records that the peer has proved the key, so that it is no stranger any more.
    pub fn mark_authenticated(mut self) {
        self.is_authenticated = true;
    }
}

impl Drop for AdmissionSlot {
    fn drop(&mut self) {
        self.unauthenticated.table().leave(self.number, self.is_authenticated);
        self.unauthenticated.left.notify_all();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what is driven out is let go")]
fn end(stream: Arc<TcpStream>) {
    // The peer may have disconnected already.
    stream.shutdown(Shutdown::Both).ok();
}

/// Address by which connections are counted.
fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// Room for one more connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Free,
    /// There will be room when others have proved the key or can be dropped.
    Soon,
    None,
}

#[derive(Debug)]
struct Row<S> {
    number: u64,
    from: IpAddr,
    since: Instant,
    is_plausible: bool,
    stream: S,
}

/// Strangers, the oldest first; without sockets.
#[derive(Debug)]
struct Table<S> {
    rows: Vec<Row<S>>,
    n_ever: u64,
    n_unproved: u64,
    /// Dropped connections whose streams are still to be shut down.
    driven_out: Vec<Row<S>>,
    /// Number of dropped connections whose slots are not yet given back: their threads are about to end.
    n_ending: usize,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self { rows: Vec::new(), n_ever: 0, n_unproved: 0, driven_out: Vec::new(), n_ending: 0 }
    }
}

impl<S> Table<S> {
    /// Makes room for one more connection from `from`.
    fn make_room(&mut self, from: IpAddr, now: Instant, limits: StrangerLimits) -> Room {
        if limits.n_max <= self.n_ending {
            return Room::Soon;
        }
        let n_from = self.rows.iter().filter(|row| row.from == from).count();
        let (least, safe_for, otherwise) = if limits.n_per_address_max <= n_from {
            (self.least(|row| row.from == from), GRACE, Room::None)
        } else if limits.n_max <= self.rows.len() {
            (self.least(|_| true), SETTLED, Room::Soon)
        } else {
            return Room::Free;
        };
        match least {
            Some(at) if self.rows[at].since + safe_for <= now => {
                self.drive_out(at);
                Room::Free
            }
            _ => otherwise,
        }
    }

    fn enter(&mut self, from: IpAddr, now: Instant, stream: S) -> u64 {
        self.n_ever += 1;
        let row = Row { number: self.n_ever, from, since: now, is_plausible: false, stream };
        self.rows.push(row);
        self.n_ever
    }

    /// Position of the connection to be dropped first: silent ones before others, old ones before new ones.
    fn least(&self, may_go: impl Fn(&Row<S>) -> bool) -> Option<usize> {
        let rows = || self.rows.iter().enumerate().filter(|(_, row)| may_go(row));
        let silent = rows().find(|(_, row)| !row.is_plausible);
        silent.or_else(|| rows().next()).map(|(at, _)| at)
    }

    fn drive_out(&mut self, at: usize) {
        let row = self.rows.remove(at);
        self.driven_out.push(row);
        self.n_unproved += 1;
        self.n_ending += 1;
    }

    fn drop_driven_out(&mut self, end: impl Fn(S)) {
        self.driven_out.drain(..).for_each(|row| end(row.stream));
    }

    fn mark_plausible(&mut self, number: u64) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.number == number) {
            row.is_plausible = true;
        }
    }

    fn leave(&mut self, number: u64, is_authenticated: bool) {
        match self.rows.iter().position(|row| row.number == number) {
            Some(at) => {
                self.rows.remove(at);
                self.n_unproved += u64::from(!is_authenticated);
            }
            None => self.n_ending -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: StrangerLimits = StrangerLimits { n_max: 4, n_per_address_max: 2 };

    /// Lets connections arrive one second apart, from hosts of these numbers (negative: the peer has spoken),
    /// and compares the hosts that are left.
    #[track_caller]
    fn check(arriving: &[i8], expected: &[u8]) {
        let mut table = Table::default();
        let mut now = Instant::now();
        for host in arriving {
            now += Duration::from_secs(1);
            let from = IpAddr::from([10, 0, 0, host.unsigned_abs()]);
            assert_eq!(table.make_room(from, now, LIMITS), Room::Free);
            let number = table.enter(from, now, ());
            if *host < 0 {
                table.mark_plausible(number);
            }
            // The threads of the dropped connections end.
            let ending: Vec<_> = table.driven_out.iter().map(|row| row.number).collect();
            ending.into_iter().for_each(|number| table.leave(number, false));
            table.drop_driven_out(|()| ());
        }
        let there: Vec<_> = table.rows.iter().map(|row| row.from).collect();
        let expected: Vec<_> =
            expected.iter().map(|host| IpAddr::from([10, 0, 0, *host])).collect();
        assert_eq!(there, expected);
        assert_eq!(table.n_unproved, (arriving.len() - expected.len()) as u64);
    }

    #[test]
    fn the_oldest_silent_connection_goes_first() {
        check(&[1, 2, 3, 4], &[1, 2, 3, 4]);
        check(&[1, 2, 3, 4, 5, 6], &[3, 4, 5, 6]);
        check(&[-1, 2, -3, 4, 5], &[1, 3, 4, 5]);
        check(&[-1, -2, -3, -4, 5], &[2, 3, 4, 5]);
    }

    #[test]
    fn a_flood_from_one_address_drives_out_itself_only() {
        check(&[1, 2, 9, 9, 9, 9, 9, 9, 9], &[1, 2, 9, 9]);
        check(&[9, 9, 9, 9, 1, 9, 2, 9], &[1, 9, 2, 9]);
    }

    #[test]
    fn who_has_just_come_stays_and_who_ends_slowly_holds_up_others() {
        let (mut table, now) = (Table::default(), Instant::now());
        let from = |host| IpAddr::from([10, 0, 0, host]);
        let enter = |table: &mut Table<()>, host: u8, at: Instant| {
            let room = table.make_room(from(host), at, LIMITS);
            if room == Room::Free {
                table.enter(from(host), at, ());
            }
            room
        };
        for host in [1, 1, 2, 3] {
            assert_eq!(enter(&mut table, host, now), Room::Free);
        }
        assert_eq!(enter(&mut table, 1, now), Room::None, "a flood is not waited for");
        assert_eq!(enter(&mut table, 4, now + GRACE), Room::Soon, "others wait");
        let mut later = now;
        for host in 4..=7 {
            later += SETTLED;
            assert_eq!(enter(&mut table, host, later), Room::Free);
        }
        // Four threads are about to end: a fifth connection has to wait for them.
        assert_eq!(enter(&mut table, 8, later + SETTLED), Room::Soon);
        table.leave(1, false);
        assert_eq!(enter(&mut table, 8, later + SETTLED), Room::Free);
        assert_eq!(table.n_unproved, 5);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let check = |address: &str, expected: &str| {
            assert_eq!(origin(address.parse().unwrap()), expected.parse::<IpAddr>().unwrap());
        };
        check("10.1.2.3", "10.1.2.3");
        check("::ffff:10.1.2.3", "10.1.2.3");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("::1", "::");
    }
}
