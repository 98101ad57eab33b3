//! Accepts connections in one thread, and serves each in a thread of its own as long as it may be a stranger's.
//!
//! When the system refuses a resource (files, memory, threads), the accepting thread drops a stranger, which
//! frees what it holds, and tries again.

use crate::unauthenticated::{AdmissionSlot, Unauthenticated};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time after which a refused resource is tried again, unless a stranger leaves before.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of attempts to start the thread of a connection.
const N_ATTEMPTS: usize = 3;

/// Accepted connection.
#[derive(Debug)]
pub struct AcceptedConnection {
    /// The connection; it may be shut down at any time while it is a stranger's.
    pub stream: Arc<TcpStream>,
    /// Address of the other side.
    pub from: IpAddr,
    /// Its place among the strangers.
    pub slot: AdmissionSlot,
}

/// Listener and the connections that it accepted; it accepts until [`Acceptor::close`].
#[derive(Debug)]
pub struct Acceptor {
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    listener: TcpListener,
    unauthenticated: Arc<Unauthenticated>,
    is_closed: AtomicBool,
}

/// Most connections that wait to be accepted, the same as in the standard library.
const N_WAITING: i32 = 128;

/// Listens at `address`. The unspecified IPv6 address also accepts IPv4, and stands for all IPv4 addresses
/// where there is no IPv6.
///
/// # Errors
/// If the address cannot be bound.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let all_of_ipv4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, address.port()));
    match address.ip() {
        IpAddr::V6(ip) if ip.is_unspecified() => match listen_to_both(address) {
            Err(error) if error.kind() != ErrorKind::AddrInUse => TcpListener::bind(all_of_ipv4),
            listener => listener,
        },
        _ => TcpListener::bind(address),
    }
}

/// Listens for IPv4 and IPv6 whatever `net.ipv6.bindv6only` says; the standard library leaves that to the system.
fn listen_to_both(address: SocketAddr) -> io::Result<TcpListener> {
    let (family, flags) = (AddressFamily::INET6, SocketFlags::CLOEXEC);
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_ipv6_v6only(&socket, false)?;
    // Reuses the port of connections that ended a moment ago, as the standard library does.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, N_WAITING)?;
    Ok(socket.into())
}

type Receive = Arc<dyn Fn(AcceptedConnection) + Send + Sync>;

impl Acceptor {
    /// Accepts connections from now on; `receive` is called with each in a thread of its own called `name`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn open(
        listener: TcpListener,
        unauthenticated: Arc<Unauthenticated>,
        name: &str,
        receive: impl Fn(AcceptedConnection) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(false)?;
        let shared =
            Arc::new(Shared { listener, unauthenticated, is_closed: AtomicBool::new(false) });
        let (own, receive): (_, Receive) = (Arc::clone(&shared), Arc::new(receive));
        let thread_name = name.to_owned();
        let take = move || own.take_all(&thread_name, &receive);
        let accepting = Builder::new().name(name.to_owned()).spawn(take)?;
        Ok(Self { shared, accepting })
    }

    /// Address of the listener.
    ///
    /// # Errors
    /// If the system does not tell it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.shared.listener.local_addr()
    }

    /// Stops accepting connections and drops the strangers; connections that proved the key go on.
    pub fn close(&self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        rustix::net::shutdown(&self.shared.listener, rustix::net::Shutdown::Both).ok();
        while self.shared.unauthenticated.drop_one(None) {}
    }

    /// Waits until the accepting thread has ended, after [`Acceptor::close`].
    pub fn wait(self) {
        // The panic hook has already printed any panic of that thread.
        self.accepting.join().ok();
    }
}

impl Shared {
    fn take_all(&self, name: &str, receive: &Receive) {
        let wait = || self.unauthenticated.wait_for_leaver(PAUSE);
        self.take_each(
            || self.listener.accept(),
            wait,
            |stream, from| {
                self.take(stream, from, name, receive);
            },
        );
    }

    /// Takes each accepted connection; waits when the system refuses a resource.
    fn take_each(
        &self,
        accept: impl Fn() -> io::Result<(TcpStream, SocketAddr)>,
        wait: impl Fn(),
        take: impl Fn(TcpStream, IpAddr),
    ) {
        while !self.is_closed.load(Ordering::SeqCst) {
            match accept() {
                Ok((stream, from)) => take(stream, from.ip()),
                // The other side has disconnected already, or a signal arrived.
                Err(error)
                    if [ErrorKind::ConnectionAborted, ErrorKind::Interrupted]
                        .contains(&error.kind()) => {}
                Err(_) if self.is_closed.load(Ordering::SeqCst) => return,
                Err(_) => {
                    self.unauthenticated.drop_one(None);
                    wait();
                }
            }
        }
    }

    fn take(&self, stream: TcpStream, from: IpAddr, name: &str, receive: &Receive) {
        let stream = Arc::new(stream);
        let Some(slot) = self.unauthenticated.admit(from, &stream) else { return };
        let number = slot.number;
        // The connection stays here, since a closure whose thread cannot be started would drop it.
        let waiting = Arc::new(Mutex::new(Some(AcceptedConnection { stream, from, slot })));
        for _ in 0..N_ATTEMPTS {
            let (waiting, receive) = (Arc::clone(&waiting), Arc::clone(receive));
            let serve = move || {
                let accepted = waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
                accepted.into_iter().for_each(|connection| receive(connection));
            };
            if Builder::new().name(name.to_owned()).spawn(serve).is_ok() {
                return;
            }
            self.unauthenticated.drop_one(Some(number));
            self.unauthenticated.wait_for_leaver(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StrangerLimits;
    use rustix::io::Errno;
    use std::cell::Cell;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::Ipv6Addr;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Accepts connections that say `k`, and answers `!`.
    fn open(limits: StrangerLimits) -> (Acceptor, SocketAddr, Arc<Unauthenticated>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receive = |accepted: AcceptedConnection| {
            let mut stream = &*accepted.stream;
            let mut said = [0; 1];
            if stream.read_exact(&mut said).is_ok() && said == *b"k" {
                accepted.slot.mark_authenticated();
                stream.write_all(b"!").ok();
            }
        };
        let unauthenticated = Arc::new(Unauthenticated::new(limits));
        let acceptor =
            Acceptor::open(listener, Arc::clone(&unauthenticated), "test", receive).unwrap();
        let address = acceptor.address().unwrap();
        (acceptor, address, unauthenticated)
    }

    fn is_answered(address: SocketAddr) -> bool {
        let Ok(mut stream) = TcpStream::connect(address) else { return false };
        stream.write_all(b"k").ok();
        let mut heard = [0; 1];
        stream.read_exact(&mut heard).is_ok() && heard == *b"!"
    }

    #[track_caller]
    fn until_answered(address: SocketAddr) {
        let deadline = Instant::now() + PATIENCE;
        while !is_answered(address) {
            assert!(Instant::now() < deadline, "who has the key is kept out");
        }
    }

    /// Without a bound that drops the oldest, silent connections kept all others out until they ended.
    #[test]
    fn silent_connections_keep_nobody_out() {
        let (acceptor, address, unauthenticated) =
            open(StrangerLimits { n_max: 4, n_per_address_max: 4 });
        let silent: Vec<_> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
        until_answered(address);
        let deadline = Instant::now() + PATIENCE;
        while unauthenticated.n_unproved() < 36 {
            assert!(Instant::now() < deadline, "{} were let go", unauthenticated.n_unproved());
            until_answered(address);
        }
        drop(silent);
        acceptor.close();
        acceptor.wait();
    }

    /// Without a pause this kept a core busy for as long as no file could be opened.
    #[test]
    fn what_the_system_refuses_is_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let unauthenticated =
            Arc::new(Unauthenticated::new(StrangerLimits { n_max: 4, n_per_address_max: 4 }));
        let shared = Shared {
            listener,
            unauthenticated: Arc::clone(&unauthenticated),
            is_closed: AtomicBool::new(false),
        };
        let stream = Arc::new(TcpStream::connect(shared.listener.local_addr().unwrap()).unwrap());
        let slot = unauthenticated.admit(IpAddr::from([10, 0, 0, 1]), &stream).unwrap();
        let (n_asked, n_waited) = (Cell::new(0), Cell::new(0));
        // The first of these means that the other side has disconnected: there is nothing to wait for.
        let refusals =
            [Errno::CONNABORTED, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS];
        let accept = || {
            let refusal = refusals[n_asked.get()];
            n_asked.set(n_asked.get() + 1);
            shared.is_closed.store(n_asked.get() == refusals.len(), Ordering::SeqCst);
            Err(refusal.into())
        };
        shared.take_each(accept, || n_waited.set(n_waited.get() + 1), |_, _| ());
        // The last one came after the reception was closed.
        assert_eq!((n_asked.get(), n_waited.get()), (5, 3));
        drop(slot);
        assert_eq!(unauthenticated.n_unproved(), 1, "a stranger gave back a file");
    }

    /// Runs this test again in a process with small limits: accepts connections until its input ends.
    const ROLE: &str = "CHANNEL_TEST_ROLE";

    #[test]
    #[ignore = "a role in another test, started by it"]
    fn role() {
        if std::env::var_os(ROLE).is_some() {
            let (_reception, address, _) =
                open(StrangerLimits { n_max: 200, n_per_address_max: 200 });
            writeln!(std::io::stderr(), "{}", address.port()).unwrap();
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
    }

    /// Under a limit on files the accepting thread kept a core busy, and without threads it ended for good.
    #[track_caller]
    fn check_flood(limit: &str) {
        let script =
            format!("{limit} && exec \"$0\" --exact acceptor::tests::role --ignored --nocapture");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(std::env::current_exe().unwrap());
        command.env(ROLE, "1").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut port = String::new();
        said.read_line(&mut port).unwrap();
        let port: u16 = port.trim().parse().expect("it could start under this limit");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let silent: Vec<_> = (0..80).map(|_| TcpStream::connect(address).unwrap()).collect();
        until_answered(address);
        drop(silent);
        until_answered(address);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "no thread panicked");
    }

    /// Accepts one IPv4 and one IPv6 connection, listening at all addresses.
    #[test]
    #[ignore = "a role in another test, started by it"]
    fn both_kinds() {
        if std::env::var_os(ROLE).is_some() {
            let listener = listen(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))).unwrap();
            let port = listener.local_addr().unwrap().port();
            let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            for address in loopback {
                TcpStream::connect((address, port)).unwrap();
            }
        }
    }

    /// Where `net.ipv6.bindv6only` is 1, the unspecified address accepted IPv6 only: ranks on other nodes,
    /// which connect by IPv4, could not.
    #[test]
    fn all_addresses_are_of_both_kinds_whatever_the_machine_says() {
        // A network namespace for the test, with settings of its own.
        let script = "echo 1 > /proc/sys/net/ipv6/bindv6only && ip link set lo up && exec \"$0\" \
                      --exact acceptor::tests::both_kinds --ignored --nocapture";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "sh", "-c", script]);
        command.arg(std::env::current_exe().unwrap()).env(ROLE, "1");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    }

    #[test]
    fn a_flood_is_outlived_where_few_files_may_be_open() {
        check_flood("ulimit -n 16");
    }

    /// Limits on the number of processes do not hold for root; without memory for stacks no threads start either.
    #[test]
    fn a_flood_is_outlived_where_few_threads_may_be_started() {
        check_flood("ulimit -v 100000");
    }
}
