//! Tries hosts as a launcher reaches them: by the command that starts its processes there.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::process::Command;
use std::thread::Builder;
use std::time::Duration;
use timed_command::CommandError;

/// Longest time in which a host answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// Hosts that are tried at the same time.
const N_AT_ONCE: usize = 32;
/// Variables with that command, of MPICH and of both versions of Open MPI.
const VARIABLES: [&str; 4] = [
    "HYDRA_LAUNCHER_EXEC",
    "PRTE_MCA_plm_ssh_agent",
    "OMPI_MCA_plm_ssh_agent",
    "OMPI_MCA_plm_rsh_agent",
];
/// Options with it.
const OPTIONS: [&str; 4] =
    ["-launcher-exec", "plm_ssh_agent", "plm_rsh_agent", "prte_plm_ssh_agent"];
const SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=5";

/// Command that starts another one on a host, in words.
pub(super) fn agent(words: &[OsString], variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let is_option = |word: &OsString| word.to_str().is_some_and(|word| OPTIONS.contains(&word));
    let at = words.iter().position(is_option);
    let of_option = at.and_then(|at| words.get(at + 1)?.to_str().map(str::to_owned));
    let of_variable = || VARIABLES.iter().find_map(|name| variable(name));
    let named = of_option.or_else(of_variable).unwrap_or_else(|| SSH.to_owned());
    named.split_whitespace().map(str::to_owned).collect()
}

/// Returns those of these hosts that do not answer.
pub(super) fn dead<'a>(agent: &[String], hosts: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let own = files::host_name();
    let is_here = |host: &str| host == own || ["localhost", "127.0.0.1", "::1"].contains(&host);
    let others: Vec<_> =
        hosts.filter(|host| !is_here(host)).collect::<BTreeSet<_>>().into_iter().collect();
    let mut dead = BTreeSet::new();
    for some in others.chunks(N_AT_ONCE) {
        std::thread::scope(|scope| {
            let tried = some.iter().map(|host| {
                let thread = Builder::new().spawn_scoped(scope, || answers(agent, host));
                (*host, thread)
            });
            for (host, thread) in tried.collect::<Vec<_>>() {
                let is_alive = match thread {
                    Ok(thread) => thread.join().unwrap_or(true),
                    // The system refused a thread: this one tries the host.
                    Err(_) => answers(agent, host),
                };
                if !is_alive {
                    dead.insert(host.to_owned());
                }
            }
        });
    }
    dead
}

/// Returns whether a command runs on the host; where the agent itself cannot be started, nothing is known against it.
fn answers(agent: &[String], host: &str) -> bool {
    let Some((program, options)) = agent.split_first() else { return true };
    let mut command = Command::new(program);
    command.args(options).arg(host).arg(OsStr::new("true"));
    match timed_command::run(&mut command, PATIENCE) {
        Ok(ended) => ended.status.success(),
        Err(CommandError::Late(_)) => false,
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, variables: &[(&str, &str)], expected: &str) {
        let words: Vec<_> = command.split_whitespace().map(OsString::from).collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(agent(&words, variable).join(" "), expected);
    }

    #[test]
    fn a_host_is_reached_as_the_launcher_does() {
        check("mpiexec -n 2 ./cg", &[], SSH);
        check("mpiexec -launcher-exec on-node ./cg", &[("HYDRA_LAUNCHER_EXEC", "x")], "on-node");
        check("mpiexec --mca plm_rsh_agent a ./cg", &[], "a");
        check("mpiexec ./cg", &[("PRTE_MCA_plm_ssh_agent", "rsh -x")], "rsh -x");
    }

    #[test]
    fn who_does_not_answer_is_dead() {
        let agent = ["sh", "-c", "test $0 != b"].map(str::to_owned);
        let found = dead(&agent, ["a", "b", "localhost", "b"].into_iter());
        assert_eq!(found, BTreeSet::from(["b".to_owned()]));
        let missing = ["no-such-command".to_owned()];
        assert_eq!(dead(&missing, ["a"].into_iter()), BTreeSet::new());
    }
}
