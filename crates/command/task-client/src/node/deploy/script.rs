//! Scripts that hosts run, and what they reply.
//!
//! A script arrives on the standard input of `sh`, so that nothing of it is in a list of processes, and words need no
//! quotes for the shell of the user, whichever that is.

use crate::location::shell_quoted;
use std::path::{Path, PathBuf};
use timed_command::EndedCommand;

/// Word that begins a line of a reply.
const MARK: &str = "sintonia-deploy:";
/// Place for the program on a host, behind the home.
const COPY: &str = ".local/bin/sintonia";

/// Where the program is, and which.
pub(super) struct Place {
    /// Path on the hosts, if one is named.
    pub(super) program: Option<String>,
    /// Path of this program, which hosts may share.
    pub(super) here: PathBuf,
    /// What the program prints with `--version`.
    pub(super) version: String,
}

/// What a daemon is started with.
pub(super) struct Start {
    /// Key of the cluster, as digits.
    pub(super) key: String,
    /// Options of `node start`.
    pub(super) words: Vec<String>,
}

/// Script for hosts.
pub(super) struct Script(String);

/// What became of a host.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Up,
    WasUp,
    Stopped,
    HadNone,
    Failed(String),
}

/// Reply of a host.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) outcome: Outcome,
    /// True if it lacks this version of the program.
    pub(super) needs_program: bool,
}

impl Script {
    /// Script that starts a daemon, unless one is up.
    pub(super) fn start(place: &Place, start: &Start) -> Self {
        let words: Vec<String> = start.words.iter().map(|word| quoted(word)).collect();
        let (find, version, key) = (find(place), quoted(&place.version), &start.key);
        Self(format!(
            r#"{find}
[ -n "$p" ] || say missing
[ "$v" = {version} ] || say version "$v"
if "$p" nodes --json >/dev/null 2>&1; then say already; fi
k=${{XDG_CONFIG_HOME:-$HOME/.config}}/sintonia/node.key
mkdir -p "${{k%/*}}"
if [ ! -e "$k" ]; then
  t=$k.$$.$(uname -n)
  printf '%s\n' {key} > "$t" && ln "$t" "$k" 2>/dev/null
  rm -f "$t"
fi
[ "$(cat "$k")" = {key} ] || say key "$k"
"$p" node start --background {words} </dev/null && say up
say failed
"#,
            words = words.join(" "),
        ))
    }

    /// Script that stops the daemon.
    pub(super) fn stop(place: &Place, now: bool) -> Self {
        let (find, now) = (find(place), if now { " --now" } else { "" });
        Self(format!(
            r#"{find}
[ -n "$p" ] || say missing
"$p" nodes --json >/dev/null 2>&1 || say none
"$p" node stop{now} </dev/null && say stopped
say failed
"#
        ))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Begin of a script: finds the program `p` and its version `v`; one of the right version is taken before others.
fn find(place: &Place) -> String {
    let here = shell_quoted(&place.here);
    let candidates = match &place.program {
        Some(program) => quoted(program),
        None => format!(r#"sintonia "$HOME/{COPY}" {here}"#),
    };
    let version = quoted(&place.version);
    format!(
        r#"umask 077
say() {{ echo "{MARK}$*"; exit 0; }}
p= v=
for c in {candidates}; do
  w=$("$c" --version 2>/dev/null) || continue
  if [ -z "$p" ] || [ "$w" = {version} ]; then p=$c v=$w; fi
  [ "$v" = {version} ] && break
done"#
    )
}

/// Command that takes the program from standard input.
pub(super) fn copy_command() -> String {
    let folder = Path::new(COPY).parent().unwrap_or(Path::new("")).display();
    // Renamed, since a program that runs cannot be written, and others may copy it to the same home.
    format!(
        r#"sh -c 'umask 022; cd && mkdir -p {folder} && t={COPY}.$$.$(uname -n) && cat > $t && chmod 755 $t && mv -f $t {COPY}'"#
    )
}

fn quoted(word: &str) -> String {
    shell_quoted(Path::new(word))
}

impl Reply {
    /// Reads what a host has printed.
    pub(super) fn read(ended: &EndedCommand) -> Self {
        let line = ended.output.lines().rev().find_map(|line| line.strip_prefix(MARK));
        let (word, rest) = line.map_or(("", ""), |line| line.split_once(' ').unwrap_or((line, "")));
        let complaint = ended.complaint();
        let failed = |why: String| Outcome::Failed(why);
        let outcome = match word {
            "up" => Outcome::Up,
            "already" => Outcome::WasUp,
            "stopped" => Outcome::Stopped,
            "none" => Outcome::HadNone,
            "missing" => failed(
                "there is no `sintonia`: install it, name it with `--program`, or use `--copy`"
                    .to_owned(),
            ),
            "version" => failed(format!(
                "`{rest}` is there, not this version: install that, or use `--copy`"
            )),
            "key" => failed(format!(
                "`{rest}` is the key of another cluster: remove it there, or name another one here with `--key`"
            )),
            _ => failed(complaint.trim_start_matches("sintonia: ").to_owned()),
        };
        Self { outcome, needs_program: ["missing", "version"].contains(&word) }
    }
}

impl Outcome {
    /// The outcome as a word for scripts.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::WasUp => "already-up",
            Self::Stopped => "stopped",
            Self::HadNone => "no-daemon",
            Self::Failed(_) => "failed",
        }
    }

    /// The outcome as a part of a sentence.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Up => "the daemon is up".to_owned(),
            Self::WasUp => "a daemon was up already".to_owned(),
            Self::Stopped => "the daemon has ended".to_owned(),
            Self::HadNone => "there was no daemon".to_owned(),
            Self::Failed(why) => format!("failed: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::time::Duration;

    const KEY: &str = "0123456789abcdef";

    fn place(program: Option<String>) -> Place {
        Place { program, here: "/no/such/it's".into(), version: "sintonia 9.9".to_owned() }
    }

    /// Runs a script in a home with a `sintonia` of this version, which has a daemon or not; returns the reply, and the
    /// words of all its calls.
    fn run(script: &Script, version: &str, is_up: bool, key: Option<&str>) -> (Reply, String) {
        let home = tempfile::tempdir().unwrap();
        let bin = home.path().join(".local/bin");
        fs::create_dir_all(&bin).unwrap();
        let program = bin.join("sintonia");
        let text = format!(
            "#!/bin/sh\necho \"$*\" >> \"$HOME/calls\"\n\
             case $1 in --version) echo sintonia {version};; nodes) exit {};; esac\n",
            if is_up { 0 } else { 108 }
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let folder = home.path().join(".config/sintonia");
        if let Some(key) = key {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("node.key"), key).unwrap();
        }
        let mut command = Command::new("sh");
        command.arg("-s").env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin");
        let input = script.text().into();
        let ended = timed_command::run_with_input(&mut command, input, Duration::from_secs(60));
        let reply = Reply::read(&ended.unwrap());
        let calls = fs::read_to_string(home.path().join("calls")).unwrap_or_default();
        assert!(!calls.contains(KEY), "the key is no argument: {calls}");
        if reply.outcome == Outcome::Up {
            let path = folder.join("node.key");
            assert_eq!(fs::read_to_string(&path).unwrap().trim(), KEY);
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert!(key.is_some() || mode & 0o777 == 0o600, "{mode:o}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        }
        (reply, calls)
    }

    fn start() -> Script {
        let words = ["--seed=a:1", "--policy", "it's"].map(str::to_owned).to_vec();
        Script::start(&place(None), &Start { key: KEY.to_owned(), words })
    }

    #[test]
    fn a_daemon_is_started_with_the_key_unless_one_is_up() {
        let (reply, calls) = run(&start(), "9.9", false, None);
        assert_eq!(reply.outcome, Outcome::Up);
        assert!(calls.ends_with("node start --background --seed=a:1 --policy it's\n"), "{calls}");
        assert_eq!(run(&start(), "9.9", false, Some(KEY)).0.outcome, Outcome::Up);
        assert_eq!(run(&start(), "9.9", true, None).0.outcome, Outcome::WasUp);
    }

    #[test]
    fn another_version_or_key_is_named() {
        let (reply, _) = run(&start(), "9.8", false, None);
        assert!(reply.needs_program);
        let Outcome::Failed(why) = reply.outcome else { panic!("it is old") };
        assert!(why.starts_with("`sintonia 9.8` is there, not this version"), "{why}");
        let (reply, calls) = run(&start(), "9.9", false, Some("ffff"));
        let Outcome::Failed(why) = reply.outcome else { panic!("it has another key") };
        assert!(why.contains("/.config/sintonia/node.key` is the key of another cluster"), "{why}");
        assert!(!calls.contains("node start"), "{calls}");
        let script = Script::stop(&place(Some("/no/such".to_owned())), false);
        assert!(run(&script, "9.9", true, None).0.needs_program);
    }

    #[test]
    fn a_daemon_is_stopped_if_there_is_one() {
        let (reply, calls) = run(&Script::stop(&place(None), true), "9.8", true, None);
        assert_eq!(reply.outcome, Outcome::Stopped);
        assert!(calls.ends_with("node stop --now\n"), "{calls}");
        let (reply, _) = run(&Script::stop(&place(None), false), "9.9", false, None);
        assert_eq!(reply.outcome, Outcome::HadNone);
    }

    #[test]
    fn a_copy_replaces_what_was_there() {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &copy_command()]).env("HOME", home.path());
        let input = b"program".to_vec();
        let ended = timed_command::run_with_input(&mut command, input, Duration::from_secs(60));
        assert!(ended.unwrap().status.success());
        let folder = home.path().join(".local/bin");
        assert_eq!(fs::read(folder.join("sintonia")).unwrap(), b"program");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
