//! The network on which the nodes of a Slurm job know each other, as launchers want to hear it: `10.1.0.0/16`.
//!
//! It is that of the address which this node's name has. Names of interfaces differ from node to node; subnets do not.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

/// The subnet of this node's name.
pub(super) fn of_this_node() -> Option<String> {
    let name = std::env::var("SLURMD_NODENAME").ok().or_else(own_name)?;
    let addresses = (name.as_str(), 0).to_socket_addrs().ok()?.map(|address| address.ip());
    let routes = std::fs::read_to_string("/proc/net/route").ok()?;
    addresses.filter_map(|address| subnet(&routes, address)).next()
}

fn own_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned())
}

/// The subnet at which this node is directly, with the address in it; of several the smallest.
fn subnet(routes: &str, address: IpAddr) -> Option<String> {
    let IpAddr::V4(address) = address else { return None };
    let found = routes.lines().filter_map(direct).filter(|(network, mask)| {
        !address.is_loopback() && address.to_bits() & mask == *network && *mask != 0
    });
    let (network, mask) = found.max_by_key(|(_, mask)| mask.count_ones())?;
    Some(format!("{}/{}", Ipv4Addr::from_bits(network), mask.count_ones()))
}

/// Network and mask of a line of the kernel's table, where no gateway stands between: `eth0 0000000A 00000000 ...`, in
/// the order of this machine's bytes.
fn direct(line: &str) -> Option<(u32, u32)> {
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
        assert_eq!(found.as_deref(), expected, "{address}");
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
