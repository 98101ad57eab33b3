//! Target: lists of nodes, as in a command line, a host file or Slurm's environment.

use host_list::{N_NODES_MAX, NAME_BYTES_MAX};

/// Reads the bytes as each kind of list.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(names) = host_list::expand(&text) {
        assert!(names.len() <= N_NODES_MAX, "a list is bounded");
        assert!(names.iter().all(|name| name.len() <= NAME_BYTES_MAX), "a name is bounded");
        let again = host_list::expand(&names.join(","));
        assert_eq!(again, Ok(names), "names of a list are a list of these names");
    }
    if let Ok(hosts) = host_list::hosts(&text) {
        assert!(hosts.len() <= N_NODES_MAX, "a list is bounded");
        assert!(hosts.iter().all(|host| host.n_places != Some(0)), "a host has places");
    }
    if let Ok(hosts) = host_list::host_file(&text) {
        assert!(!hosts.is_empty(), "a host file names hosts");
    }
    let (peers, _) = host_list::peers(&text, 9);
    assert!(peers.iter().all(|peer| host_list::peer_address(peer, 9).as_ref() == Some(peer)));
    if let Ok(counts) = host_list::counts(&text) {
        assert!(counts.len() <= N_NODES_MAX, "a list is bounded");
    }
}
