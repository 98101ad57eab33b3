//! Environment variables by which ranks find the analyzer, on this node and on others.

use collector::place;
use nix::sys::socket::SockaddrStorage;
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Names of all these variables, for the probe in Open MPI's launcher, which carries only named variables to other nodes.
const FORWARD: &str = "SINTONIA_FORWARD";

/// Options of programs compiled with `-fsanitize=address`: their runtime ends a program if another library comes before
/// it, as a preloaded one does.
const SANITIZER: &str = "ASAN_OPTIONS";
const ASAN_ALLOW_PRELOAD: &str = "verify_asan_link_order=0";

/// Whether ranks take orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orders {
    /// They take none.
    None,
    /// They wait for the first ones in `MPI_Init`.
    Awaited,
    /// They take them, but go on at once, since nothing of the program is described.
    Later,
}

/// Settings that ranks need.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) library: PathBuf,
    pub(crate) run: String,
    pub(crate) shm_dir: PathBuf,
    pub(crate) program: PathBuf,
    pub(crate) analyzers: Vec<SocketAddr>,
    pub(crate) secret: String,
    pub(crate) out: PathBuf,
    pub(crate) trace: bool,
    pub(crate) orders: Orders,
    /// Way of sampling call paths.
    pub(crate) sample: &'static str,
    /// Names of the levers that may be set, with commas; and whether sums or numbers of threads may change by them.
    pub(crate) levers: String,
    pub(crate) tune_sums: bool,
    pub(crate) tune_threads: bool,
    /// Capacities for each rank.
    pub(crate) ring_records: u32,
    pub(crate) regions: u32,
    pub(crate) threads: u32,
}

impl Environment {
    /// Variables for the command, given those that are there `before`.
    pub(crate) fn variables(
        &self,
        before: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(String, OsString)> {
        let addresses: Vec<_> = self.analyzers.iter().map(ToString::to_string).collect();
        let mut variables = vec![
            (place::RUN, OsString::from(self.run.clone())),
            (place::SHM_DIR, self.shm_dir.clone().into()),
            (place::COLLECTOR, self.program.clone().into()),
            (place::ANALYZER, addresses.join(",").into()),
            (place::SECRET, self.secret.clone().into()),
            (place::OUT, self.out.clone().into()),
            (place::RECORDS, self.ring_records.to_string().into()),
            (place::REGIONS, self.regions.to_string().into()),
            (place::THREADS, self.threads.to_string().into()),
            (place::LAUNCH, "0".into()),
            (place::TRACE, if self.trace { "1".into() } else { "0".into() }),
            (place::TUNE, if self.orders == Orders::None { "0".into() } else { "1".into() }),
            (place::SAMPLE, self.sample.into()),
        ];
        let optional = [
            (place::UNDESCRIBED, self.orders == Orders::Later),
            (place::TUNE_SUMS, self.tune_sums),
            (place::TUNE_THREADS, self.tune_threads),
        ];
        let set = optional.into_iter().filter(|(_, is_set)| *is_set);
        variables.extend(set.map(|(name, _)| (name, OsString::from("1"))));
        if !self.levers.is_empty() {
            variables.push((place::LEVERS, self.levers.clone().into()));
        }
        let preload = prepended(self.library.as_os_str(), before(place::PRELOAD));
        variables.push((place::PRELOAD, preload));
        variables.push((SANITIZER, prepended(OsStr::new(ASAN_ALLOW_PRELOAD), before(SANITIZER))));
        let names: Vec<_> = variables.iter().map(|(name, _)| *name).chain([FORWARD]).collect();
        variables.push((FORWARD, names.join(";").into()));
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Adds variables to those of a command, and to the list of those that launchers carry to other nodes.
pub(crate) fn add(variables: &mut Vec<(String, OsString)>, others: &[(String, OsString)]) {
    if let Some((_, list)) = variables.iter_mut().find(|(name, _)| name == FORWARD) {
        for (name, _) in others {
            list.push(";");
            list.push(name);
        }
    }
    variables.extend_from_slice(others);
}

/// Variables for a process that runs already, one to a line. Secret and collector are not among them, since such a
/// process starts no collector.
pub(crate) fn attach_options(variables: &[(String, OsString)]) -> String {
    const NAMES: [&str; 10] = [
        place::RUN,
        place::SHM_DIR,
        place::RECORDS,
        place::REGIONS,
        place::THREADS,
        place::TRACE,
        place::TUNE,
        place::LEVERS,
        place::TUNE_SUMS,
        place::TUNE_THREADS,
    ];
    let options = variables.iter().filter(|(name, _)| NAMES.contains(&name.as_str()));
    options.map(|(name, value)| format!("{name}={}\n", value.to_string_lossy())).collect()
}

/// Puts our value before the user's: the preloaded probe calls the user's preloaded tools, as the chain goes on, and
/// the last one of several options counts.
fn prepended(ours: &OsStr, before: Option<OsString>) -> OsString {
    let mut list = ours.to_owned();
    if let Some(before) = before.filter(|list| !list.is_empty()) {
        list.push(":");
        list.push(before);
    }
    list
}

/// Path of the preloaded library: named by a variable, beside the program, or in the `lib` of an installation.
#[must_use]
pub fn find_library(program: &Path, variable: Option<OsString>) -> Option<PathBuf> {
    const NAME: &str = "libsintonia.so";
    let folder = program.parent()?;
    let places = [Some(folder.join(NAME)), folder.parent().map(|up| up.join("lib").join(NAME))];
    let named = variable.map(PathBuf::from);
    let found = |path: &PathBuf| path.is_file();
    match named {
        Some(path) => Some(path).filter(found).and_then(|path| std::path::absolute(path).ok()),
        None => places.into_iter().flatten().find(found),
    }
}

/// Addresses at which a listener on `listening` can be reached, this node's own first.
pub(crate) fn reachable(listening: SocketAddr, interfaces: &[IpAddr]) -> Vec<SocketAddr> {
    if !listening.ip().is_unspecified() {
        return vec![listening];
    }
    let own = IpAddr::from(Ipv4Addr::LOCALHOST);
    // A listener on all IPv6 addresses accepts IPv4 connections as well.
    let is_reached = |address: &&IpAddr| match address {
        IpAddr::V4(address) => !address.is_loopback(),
        // A link-local address means another host on each link.
        IpAddr::V6(address) => {
            listening.is_ipv6() && !address.is_loopback() && !address.is_unicast_link_local()
        }
    };
    let (ipv4, ipv6): (Vec<IpAddr>, Vec<_>) =
        interfaces.iter().filter(is_reached).partition(|address| address.is_ipv4());
    let all = [own].into_iter().chain(ipv4).chain(ipv6);
    all.map(|ip| SocketAddr::new(ip, listening.port())).collect()
}

/// Addresses of this host.
pub(crate) fn interface_addresses() -> Vec<IpAddr> {
    let Ok(interfaces) = nix::ifaddrs::getifaddrs() else { return Vec::new() };
    let addresses = interfaces.filter_map(|interface| interface.address);
    let ip = |address: SockaddrStorage| {
        let ipv4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        ipv4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    };
    addresses.filter_map(ip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment {
            library: "/lib/libsintonia.so".into(),
            run: "00000000000000ff".to_owned(),
            shm_dir: "/dev/shm".into(),
            program: "/bin/sintonia".into(),
            analyzers: vec!["127.0.0.1:5".parse().unwrap(), "10.0.0.1:5".parse().unwrap()],
            secret: "s".to_owned(),
            out: "/out".into(),
            trace: true,
            orders: Orders::None,
            sample: "events",
            levers: String::new(),
            tune_sums: false,
            tune_threads: false,
            ring_records: 64,
            regions: 32,
            threads: 2,
        }
    }

    #[track_caller]
    fn check(before: &[(&str, &str)], name: &str, expected: &str) {
        let before = |asked: &str| {
            before.iter().find(|(name, _)| *name == asked).map(|(_, value)| OsString::from(value))
        };
        let variables = environment().variables(before);
        let value = variables.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        assert_eq!(value.and_then(|value| value.to_str()), Some(expected));
    }

    #[test]
    fn ranks_are_told_where_everything_is() {
        check(&[], "SINTONIA_RUN", "00000000000000ff");
        check(&[], "SINTONIA_ANALYZER", "127.0.0.1:5,10.0.0.1:5");
        check(&[], "SINTONIA_TRACE", "1");
        check(&[], "SINTONIA_TUNE", "0");
        check(&[], "SINTONIA_RECORDS", "64");
    }

    #[test]
    fn ranks_are_told_whether_orders_come_and_are_worth_a_wait() {
        for (orders, expected) in [
            (Orders::None, ("0", None)),
            (Orders::Awaited, ("1", None)),
            (Orders::Later, ("1", Some("1"))),
        ] {
            let variables = Environment { orders, ..environment() }.variables(|_| None);
            let of = |name: &str| variables.iter().find(|(known, _)| known == name)?.1.to_str();
            assert_eq!((of("SINTONIA_TUNE").unwrap(), of("SINTONIA_UNDESCRIBED")), expected);
        }
    }

    #[test]
    fn what_the_user_set_stays() {
        check(&[], "LD_PRELOAD", "/lib/libsintonia.so");
        check(&[("LD_PRELOAD", "")], "LD_PRELOAD", "/lib/libsintonia.so");
        check(&[("LD_PRELOAD", "/a.so:/b.so")], "LD_PRELOAD", "/lib/libsintonia.so:/a.so:/b.so");
        check(&[], "ASAN_OPTIONS", "verify_asan_link_order=0");
        check(&[("ASAN_OPTIONS", "a=1")], "ASAN_OPTIONS", "verify_asan_link_order=0:a=1");
        let names = "RUN SHM_DIR COLLECTOR ANALYZER SECRET OUT RECORDS REGIONS THREADS LAUNCH TRACE TUNE SAMPLE";
        let names: String = names.split(' ').map(|name| format!("SINTONIA_{name};")).collect();
        check(&[], "SINTONIA_FORWARD", &(names + "LD_PRELOAD;ASAN_OPTIONS;SINTONIA_FORWARD"));
    }

    #[test]
    fn further_variables_are_carried_as_well() {
        let mut variables = environment().variables(|_| None);
        let n_before = variables.len();
        add(&mut variables, &[("A".to_owned(), "1".into()), ("B".to_owned(), "2".into())]);
        let forwarded = variables.iter().find(|(name, _)| name == FORWARD).unwrap();
        assert!(forwarded.1.to_str().unwrap().ends_with(";A;B"), "{forwarded:?}");
        assert_eq!(variables.len(), n_before + 2);
    }

    #[test]
    fn a_process_that_runs_already_gets_no_secret() {
        let options = attach_options(&environment().variables(|_| None));
        let expected = "SINTONIA_RUN=00000000000000ff\nSINTONIA_SHM_DIR=/dev/shm\nSINTONIA_RECORDS=64\n\
                        SINTONIA_REGIONS=32\nSINTONIA_THREADS=2\nSINTONIA_TRACE=1\nSINTONIA_TUNE=0\n";
        assert_eq!(options, expected);
    }

    #[track_caller]
    fn check_reachable(listening: &str, expected: &[&str]) {
        let interfaces = ["127.0.0.1", "fd00::1", "10.0.0.1", "fe80::1", "::1"]
            .map(|text| text.parse().unwrap());
        let addresses = reachable(listening.parse().unwrap(), &interfaces);
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, expected);
    }

    #[test]
    fn a_listener_is_reached_over_every_interface_or_the_chosen_one() {
        check_reachable("0.0.0.0:7", &["127.0.0.1:7", "10.0.0.1:7"]);
        check_reachable("10.0.0.1:7", &["10.0.0.1:7"]);
        check_reachable("[::]:7", &["127.0.0.1:7", "10.0.0.1:7", "[fd00::1]:7"]);
        check_reachable("[::1]:7", &["[::1]:7"]);
    }

    #[test]
    fn the_library_is_beside_the_program_or_in_its_installation() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("bin/sintonia");
        let installed = dir.path().join("lib/libsintonia.so");
        let beside = dir.path().join("bin/libsintonia.so");
        for path in [&installed, &beside] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        assert_eq!(find_library(&program, None), None);
        std::fs::write(&installed, "").unwrap();
        assert_eq!(find_library(&program, None), Some(installed.clone()));
        std::fs::write(&beside, "").unwrap();
        assert_eq!(find_library(&program, None), Some(beside));
        assert_eq!(find_library(&program, Some("/nowhere".into())), None);
        assert_eq!(find_library(&program, Some(installed.clone().into())), Some(installed));
    }
}
