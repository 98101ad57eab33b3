//! Network that the nodes of a Slurm job share, in the form that launchers take: `10.1.0.0/16`.
//!
//! It is the network of the address of this node's name, provided that all nodes of the job have an address in it: the
//! setting applies to all of them, and a login node or nodes of several subnets would find no network.

use files::host_name;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

/// A subnet: network and mask.
type Subnet = (u32, u32);

/// Subnet of this node's name, if all nodes of the job are in it.
pub(super) fn of_this_job() -> Option<String> {
    let name = std::env::var("SLURMD_NODENAME").ok().filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(host_name);
    let routes = std::fs::read_to_string("/proc/net/route").ok()?;
    let own = addresses(&name).into_iter().find_map(|address| subnet(&routes, address))?;
    let nodes = host_list::expand(&std::env::var("SLURM_JOB_NODELIST").ok()?).ok()?;
    let is_there = |node: &String| addresses(node).into_iter().any(|address| is_in(own, address));
    nodes.iter().all(is_there).then(|| in_words(own))
}

fn addresses(name: &str) -> Vec<IpAddr> {
    let found = (name, 0).to_socket_addrs();
    found.map(|all| all.map(|address| address.ip()).collect()).unwrap_or_default()
}

fn is_in((network, mask): Subnet, address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if address.to_bits() & mask == network)
}

fn in_words((network, mask): Subnet) -> String {
    format!("{}/{}", Ipv4Addr::from_bits(network), mask.count_ones())
}

/// Subnet to which this node is directly connected and that holds the address; the smallest of several.
fn subnet(routes: &str, address: IpAddr) -> Option<Subnet> {
    let IpAddr::V4(address) = address else { return None };
    let found = routes.lines().filter_map(direct).filter(|(network, mask)| {
        !address.is_loopback() && address.to_bits() & mask == *network && *mask != 0
    });
    found.max_by_key(|(_, mask)| mask.count_ones())
}

/// Network and mask of a line of the kernel's routing table, if the route has no gateway: `eth0 0000000A 00000000 ...`,
/// in this machine's byte order.
fn direct(line: &str) -> Option<Subnet> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| {
        let word = words.get(at).filter(|word| word.len() == 8)?;
        u32::from_str_radix(word, 16).ok().map(u32::to_be)
    };
    (number(2)? == 0).then_some((number(1)?, number(7)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\tFE004D0A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t00004D0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
far\t0000140A\t01004D0A\t0003\t0\t0\t0\t0000FFFF\t0\t0\t0
";

    #[track_caller]
    fn check(address: &str, expected: Option<&str>) {
        let found = subnet(ROUTES, address.parse().expect("an address"));
        assert_eq!(found.map(in_words).as_deref(), expected, "{address}");
    }

    #[test]
    fn nodes_elsewhere_are_told_from_neighbors() {
        let own = subnet(ROUTES, "10.77.0.1".parse().expect("an address")).expect("a subnet");
        let check = |address: &str, expected: bool| {
            assert_eq!(is_in(own, address.parse().expect("an address")), expected, "{address}");
        };
        check("10.77.0.200", true);
        check("10.77.1.1", false);
        check("fe80::1", false);
    }

    #[test]
    fn a_node_is_known_by_the_subnet_of_its_name() {
        check("10.77.0.1", Some("10.77.0.0/24"));
        check("172.17.3.4", Some("172.17.0.0/16"));
        check("10.20.0.1", None);
        check("127.0.1.1", None);
        check("fe80::1", None);
    }
}
