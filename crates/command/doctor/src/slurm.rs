//! Check of Slurm: whether `srun` is there, and by which plugins it starts MPI programs.

use crate::check::Check;
use crate::commands;

/// Checks Slurm.
pub(crate) fn checks() -> Vec<Check> {
    if commands::find("srun").is_none() {
        let advice = [
            "jobs are started by `mpirun` alone",
            "nothing, unless this is a node of a cluster: then load its module",
        ];
        return vec![Check::missing("slurm", "no `srun` in PATH", advice)];
    }
    let version = commands::output_of("srun", &["--version"]).unwrap_or_default();
    let list = commands::output_of("srun", &["--mpi=list"]).unwrap_or_default();
    let state = commands::output_of("sinfo", &["--noheader", "--format=%D"]).unwrap_or_default();
    // Without a controller, `srun` says why there is none instead of its version.
    let version =
        version.lines().find(|line| line.starts_with("slurm")).unwrap_or("`srun` is there");
    vec![judge(version, &list, &state)]
}

/// Judges the output of `srun --version`, `srun --mpi=list` and `sinfo --format=%D`.
fn judge(version: &str, list: &str, nodes: &str) -> Check {
    let n_nodes: Option<u32> = nodes.lines().map(|line| line.trim().parse::<u32>().ok()).sum();
    let Some(n_nodes) = n_nodes.filter(|n| 0 < *n) else {
        let advice = [
            "`srun` cannot start anything: it finds no controller",
            "run on a node of a cluster, or start `slurmctld` and `slurmd`",
        ];
        return Check::limited("slurm", format!("{version}, not running"), advice);
    };
    let is_listed = |plugin: &&str| list.split_whitespace().any(|word| word.starts_with(plugin));
    let plugins: Vec<_> = ["pmix", "pmi2", "cray_shasta"].into_iter().filter(is_listed).collect();
    let by = match plugins.as_slice() {
        [] => "no MPI plugin".to_owned(),
        plugins => format!("MPI by {}", plugins.join(" and ")),
    };
    let found = format!("{version}, {n_nodes} nodes, {by}");
    if plugins.contains(&"pmix") {
        return Check::ok("slurm", found);
    }
    let advice = [
        "`srun` starts each rank of an Open MPI program as a world of its own; MPICH needs `--mpi=pmi2`",
        "use `mpirun` inside the job for Open MPI, or a Slurm built with PMIx",
    ];
    Check::limited("slurm", found, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CheckResult;

    #[track_caller]
    fn check(list: &str, nodes: &str, found: &str, state: CheckResult) {
        let check = judge("slurm-wlm 22.05.8", list, nodes);
        assert_eq!((check.found.as_str(), check.state), (found, state));
    }

    #[test]
    fn slurm_runs_or_not_and_knows_pmix_or_not() {
        let stopped = "sinfo: fatal: Could not establish a configuration source\n";
        check("srun: fatal: no", stopped, "slurm-wlm 22.05.8, not running", CheckResult::Limited);
        let both = "MPI plugin types are...\n\tcray_shasta\n\tpmi2\n\tpmix\n\tnone\n";
        let found = "slurm-wlm 22.05.8, 3 nodes, MPI by pmix and pmi2 and cray_shasta";
        check(both, "2\n1\n", found, CheckResult::Ok);
        let found = "slurm-wlm 22.05.8, 2 nodes, MPI by pmi2";
        check("MPI plugin types are...\n\tpmi2\n\tnone\n", "2\n", found, CheckResult::Limited);
    }
}
