//! Runs `sshd` on each node of a cluster, for a user whose home the nodes share.
//!
//! # Invariants
//! - Only the programs of this machine's `ssh` are used: keys, settings and the list of users are made here.

use super::home::{Home, USER};
use super::wait;
use std::fs::{self, File, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use suite::cluster::Cluster;
use suite::library::on_path;
use tempfile::TempDir;

const PORT: u16 = 22;
/// Script that mounts a list of users and a `/run` of its own, with the folder into which `sshd` confines
/// unauthenticated users.
const OWN_USERS: &str = r#"mount --bind "$0" /etc/passwd && mount -t tmpfs none /run &&
    mkdir -m 755 /run/sshd && exec "$@""#;

/// `sshd` running on each node.
pub(super) struct Sshd<'a> {
    cluster: &'a Cluster,
    folder: TempDir,
    daemons: Vec<Child>,
}

impl<'a> Sshd<'a> {
    /// Starts `sshd` on all nodes, for the user of `home`, who gets a key.
    #[track_caller]
    pub(super) fn new(cluster: &'a Cluster, home: &Home) -> Self {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        let mut sshd = Self { cluster, folder, daemons: Vec::new() };
        sshd.make_users(home);
        make_key(&sshd.host_key());
        sshd.make_keys_of_user(home);
        for number in 1..=cluster.n_nodes() {
            sshd.start(number, home);
        }
        for number in 1..=cluster.n_nodes() {
            let address = format!("{}:{PORT}", cluster.address(number));
            wait("`sshd` listens", || TcpStream::connect(&address).is_ok());
        }
        wait("nobody is connected", || sshd.n_connections() == 0);
        sshd
    }

    /// As [`Cluster::on_node`], with a home for the user.
    pub(super) fn on_node(&self, number: usize) -> Command {
        let mut command = self.cluster.on_node(number);
        command.args(["sh", "-c", OWN_USERS]).arg(self.users());
        command
    }

    /// Number of connections by `ssh`.
    pub(super) fn n_connections(&self) -> usize {
        let pids = (1..=self.cluster.n_nodes()).flat_map(|number| self.cluster.processes(number));
        let words = pids.map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")));
        // The listening process says so in its name.
        words
            .flatten()
            .filter(|words| words.starts_with("sshd: ") && !words.contains("[listener]"))
            .count()
    }

    #[track_caller]
    fn start(&mut self, number: usize, home: &Home) {
        let settings = self.folder.path().join(format!("config-{number}"));
        let text = format!(
            "Port {PORT}\nListenAddress {}\nHostKey {}\nPidFile none\nUsePAM no\n\
             PasswordAuthentication no\nSetEnv PATH={}/bin:/usr/bin:/bin\n",
            self.cluster.address(number),
            self.host_key().display(),
            home.path().display(),
        );
        fs::write(&settings, text).expect("the folder is ours");
        let log = File::create(self.folder.path().join(format!("log-{number}")));
        let mut command = self.on_node(number);
        // `sshd` needs its absolute path, by which it starts itself again for each connection.
        command.arg(program()).args(["-D", "-e", "-f"]).arg(settings).stdin(Stdio::null());
        let daemon = command.stdout(Stdio::null()).stderr(log.expect("the folder is ours")).spawn();
        self.daemons.push(daemon.expect("`nsenter` is installed"));
    }

    /// Writes the list of users of this machine, in which the test's user has a home and a shell.
    fn make_users(&self, home: &Home) {
        let users = fs::read_to_string("/etc/passwd").expect("there are users");
        let is_other = |line: &&str| line.split(':').nth(2) != Some(&USER.to_string());
        let mut text: String =
            users.lines().filter(is_other).map(|line| format!("{line}\n")).collect();
        text += &format!("nobody:x:{USER}:{USER}::{}:/bin/sh\n", home.path().display());
        fs::write(self.users(), text).expect("the folder is ours");
        let readable = Permissions::from_mode(0o755);
        fs::set_permissions(self.folder.path(), readable).expect("it is ours");
    }

    /// Makes keys that open all nodes, and a list of known hosts.
    fn make_keys_of_user(&self, home: &Home) {
        let folder = home.path().join(".ssh");
        fs::create_dir(&folder).expect("the folder is ours");
        let key = folder.join("id_ed25519");
        make_key(&key);
        fs::copy(key.with_extension("pub"), folder.join("authorized_keys")).expect("there is room");
        let host =
            fs::read_to_string(self.host_key().with_extension("pub")).expect("it was just made");
        fs::write(folder.join("known_hosts"), format!("snt-n* {host}")).expect("there is room");
        for path in [&folder, &key] {
            chown(path, Some(USER), Some(USER)).expect("we are root");
        }
    }

    fn users(&self) -> PathBuf {
        self.folder.path().join("passwd")
    }

    fn host_key(&self) -> PathBuf {
        self.folder.path().join("host_key")
    }
}

impl Drop for Sshd<'_> {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            daemon.kill().unwrap_or_default();
            daemon.wait().map(drop).unwrap_or_default();
        }
    }
}

fn program() -> PathBuf {
    let usual = Path::new("/usr/sbin/sshd");
    if usual.exists() { usual.to_owned() } else { on_path("sshd") }
}

#[track_caller]
fn make_key(path: &Path) {
    let mut command = Command::new(on_path("ssh-keygen"));
    let made = command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
    assert!(made.is_ok_and(|made| made.success()), "there is no key `{}`", path.display());
}
