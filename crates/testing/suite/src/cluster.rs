//! Cluster on this machine: its nodes are network namespaces on a bridge, each with its own name.
//!
//! Needs root. A node's processes run in its network namespace and in a namespace of host names, and start with a bare
//! environment, as behind `ssh`: ranks there know only what the launcher passed on.
//!
//! # Invariants
//! - Everything is removed with the value, also when a test fails: Open MPI uses any interfaces that it finds.
//! - Names begin with `snt`, by which `.ci/run` finds what a killed test leaves behind.

use crate::Job;
use launch::library::{Library, on_path};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BRIDGE: &str = "snt-br0";
/// Network of the cluster; the host has number 254.
const SUBNET: &str = "10.77.0";

/// Script that starts a command on a node: it skips options of `ssh`; then come the node, by name or address, and the command.
const WRAPPER: &str = r#"#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
node=$1
case $node in 10.77.0.*) node=snt-n${node##*.} ;; esac
shift
exec nsenter --net=/run/netns/"$node" unshare --uts sh -c '
  hostname "$0"
  exec env -i PATH="$PATH" HOME="$HOME" SUITE_JOB="$SUITE_JOB" \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$1"' "$node" "$*"
"#;

/// Script that runs a command with a host name and a list of hosts of its own.
const ON_NODE: &str = r#"hostname "$0" && mount --bind "$1" /etc/hosts && shift && exec "$@""#;

/// Nodes `snt-n1`, `snt-n2`, ...
#[derive(Debug)]
pub struct Cluster {
    n_nodes: usize,
    folder: TempDir,
}

impl Cluster {
    /// Makes a cluster; a machine can have one at a time.
    ///
    /// # Panics
    /// If this user may not make namespaces, or `ip` is missing.
    #[track_caller]
    pub fn new(n_nodes: usize) -> Self {
        remove();
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        let cluster = Self { n_nodes, folder };
        fs::write(cluster.hosts(), hosts(n_nodes)).expect("the folder was just made");
        let wrapper = cluster.wrapper();
        fs::write(&wrapper, WRAPPER).expect("the folder was just made");
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        ip(&format!("link add {BRIDGE} type bridge"));
        ip(&format!("addr add {SUBNET}.254/24 dev {BRIDGE}"));
        ip(&format!("link set {BRIDGE} up"));
        for number in 1..=n_nodes {
            add_node(number);
        }
        cluster
    }

    /// Job of `n_per_node` ranks on each node.
    ///
    /// The launcher gets its settings by variables, so that the command line is the same as on one node.
    ///
    /// # Panics
    /// If the folder for temporary files is full.
    #[track_caller]
    pub fn launch(&self, library: Library, n_per_node: usize, program: &Path) -> Job {
        let hosts = self.folder.path().join("hosts");
        let word = if library.is_open_mpi() { " slots=" } else { ":" };
        let lines =
            (1..=self.n_nodes).map(|number| format!("{}{word}{n_per_node}\n", node(number)));
        fs::write(&hosts, lines.collect::<String>()).expect("the folder was just made");
        let job = library.launch(self.n_nodes * n_per_node, program);
        let names: &[&str] = if library.is_open_mpi() {
            &["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"]
        } else {
            &["HYDRA_HOST_FILE"]
        };
        let job = names.iter().fold(job, |job, name| job.variable(name, &hosts));
        let variables = self.launcher_variables(library);
        let job = variables.iter().fold(job, |job, (name, value)| job.variable(name, value));
        if library.is_open_mpi() { job } else { job.variable("HYDRA_IFACE", BRIDGE) }
    }

    /// Variables by which a launcher reaches the nodes.
    pub fn launcher_variables(&self, library: Library) -> Vec<(&'static str, String)> {
        let subnet = format!("{SUBNET}.0/24");
        let wrapper = self.wrapper().display().to_string();
        if library.is_open_mpi() {
            vec![
                ("OMPI_MCA_plm_rsh_agent", wrapper.clone()),
                ("OMPI_MCA_oob_tcp_if_include", subnet.clone()),
                ("OMPI_MCA_btl_tcp_if_include", subnet.clone()),
                ("PRTE_MCA_plm_ssh_agent", wrapper),
                ("PRTE_MCA_prte_if_include", subnet.clone()),
                ("PMIX_MCA_ptl_tcp_if_include", subnet),
            ]
        } else {
            vec![("HYDRA_LAUNCHER", "ssh".to_owned()), ("HYDRA_LAUNCHER_EXEC", wrapper)]
        }
    }

    /// Command that starts another one on a node, numbered from 1; program and arguments are to be added. On the node,
    /// all nodes are known by their names.
    pub fn on_node(&self, number: usize) -> Command {
        let name = self.node(number);
        let mut command = Command::new(on_path("nsenter"));
        command.arg(format!("--net=/run/netns/{name}"));
        command.args(["unshare", "--uts", "--mount", "sh", "-c", ON_NODE, &name]);
        command.arg(self.hosts());
        command
    }

    /// Name of a node, numbered from 1.
    pub fn node(&self, number: usize) -> String {
        node(number)
    }

    /// Address of a node, numbered from 1.
    pub fn address(&self, number: usize) -> String {
        format!("{SUBNET}.{number}")
    }

    /// Address at which nodes reach the host.
    pub fn host_address(&self) -> String {
        format!("{SUBNET}.254")
    }

    /// Takes the link of a node down, or up again.
    ///
    /// # Panics
    /// If there is no node with this number.
    #[track_caller]
    pub fn plug(&self, number: usize, is_up: bool) {
        ip(&format!("link set snt-v{number} {}", if is_up { "up" } else { "down" }));
    }

    /// Processes that run on a node, numbered from 1.
    pub fn processes(&self, number: usize) -> Vec<u32> {
        processes(&node(number))
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    fn hosts(&self) -> PathBuf {
        self.folder.path().join("etc-hosts")
    }

    fn wrapper(&self) -> PathBuf {
        self.folder.path().join("on-node")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        remove();
    }
}

fn node(number: usize) -> String {
    format!("snt-n{number}")
}

/// List of hosts for the nodes: that of this machine, and the nodes.
fn hosts(n_nodes: usize) -> String {
    let mut text = fs::read_to_string("/etc/hosts").unwrap_or_default();
    for number in 1..=n_nodes {
        text += &format!("\n{SUBNET}.{number} {}", node(number));
    }
    text + "\n"
}

#[track_caller]
fn add_node(number: usize) {
    let node = node(number);
    ip(&format!("netns add {node}"));
    ip(&format!("link add snt-v{number} type veth peer name eth0 netns {node}"));
    ip(&format!("link set snt-v{number} master {BRIDGE} up"));
    ip(&format!("-n {node} addr add {SUBNET}.{number}/24 dev eth0"));
    ip(&format!("-n {node} link set eth0 up"));
    ip(&format!("-n {node} link set lo up"));
}

/// Removes the nodes with their processes, and the bridge, also those of an earlier test that was killed.
fn remove() {
    for node in names_in("/run/netns") {
        end_processes(&node);
    }
    // Links first: those in a namespace disappear only some time after it is removed.
    for link in names_in("/sys/class/net") {
        try_ip(&format!("link del {link}"));
    }
    for node in names_in("/run/netns") {
        try_ip(&format!("netns del {node}"));
    }
}

/// Ends the processes on a node: a namespace lives as long as these.
fn end_processes(node: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let pids = processes(node);
        if pids.is_empty() || deadline < Instant::now() {
            return;
        }
        for pid in pids {
            let _output = Command::new("kill").args(["-KILL", &pid.to_string()]).output();
        }
        std::thread::yield_now();
    }
}

fn processes(node: &str) -> Vec<u32> {
    let output = Command::new(on_path("ip")).args(["netns", "pids", node]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn names_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("snt-")).collect()
}

#[track_caller]
fn ip(words: &str) {
    let output = Command::new(on_path("ip")).args(words.split(' ')).output();
    let output = output.unwrap_or_else(|error| panic!("`ip {words}`: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`ip {words}` failed (it needs root): {said}");
}

fn try_ip(words: &str) {
    let _output = Command::new(on_path("ip")).args(words.split(' ')).output();
}
