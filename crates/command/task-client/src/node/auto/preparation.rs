//! What a controller needs to begin: the daemon's folder and address, the template of its jobs, and the rule.

use super::job_template::JobTemplate;
use super::{AutoOptions, ms};
use crate::cluster_key;
use crate::location::DaemonLocation;
use crate::requests::{Daemon, unexpected};
use anyhow::Context;
use node_demand::Rule;
use std::path::{Path, PathBuf};
use std::time::Duration;
use task_api::{ClientRequest, DaemonAnswer, check_node_name};
use user_io::exit::{BadOption, NoDaemon, NotWritten};

/// Folder of the controller in that of the daemon.
pub(super) const FOLDER: &str = "auto";
/// Longest time for the nodes of a job to join.
const JOINS_WITHIN: Duration = Duration::from_secs(120);
/// Pause after a job that failed.
const PAUSE: Duration = Duration::from_secs(30);

/// Folder and template for the jobs of this daemon.
pub(super) fn prepare(
    options: &AutoOptions,
    location: DaemonLocation,
) -> anyhow::Result<(PathBuf, JobTemplate)> {
    let state = location.folder()?;
    let words = location.words("--state");
    let mut daemon = Daemon::connect(location)?;
    let name = daemon.client.node().to_owned();
    let answer = daemon.ask(&ClientRequest::Nodes)?;
    let DaemonAnswer::Nodes { nodes } = answer else { return Err(unexpected(&answer)) };
    let own = nodes.iter().find(|node| node.node == name);
    if own.is_none_or(|own| own.address.is_empty()) {
        let why = format!(
            "the daemon `{name}` accepts no other nodes: start it with `sintonia node start --background --port 7411{words}`"
        );
        return Err(NoDaemon.because(why).into());
    }
    let folder = state.join(FOLDER);
    files::private::make_folder(&folder).context(NotWritten)?;
    let folder = folder.canonicalize().context(NotWritten)?;
    cluster_key::read(options.job.key.as_deref())?;
    let key = std::path::absolute(cluster_key::path(options.job.key.as_deref())?)?;
    let node_prefix = format!("{name}-auto");
    check_node_name(&format!("{node_prefix}65536-4096")).context(BadOption)?;
    let policy = own.and_then(|own| own.policy.as_deref()).unwrap_or_default();
    let template = JobTemplate {
        job_prefix: format!("sintonia-{name}-{:08x}-", fnv(&folder)),
        node_prefix,
        program: std::env::current_exe()?,
        folder: folder.clone(),
        key,
        rules: rules(policy),
        idle: 2 * options.demand.idle + Duration::from_secs(60),
    };
    Ok((folder, template))
}

/// Options for the policy of a cluster, as a node shows it: `RULE@DOMAIN`, or `RULE`.
fn rules(policy: &str) -> Vec<String> {
    let (rule, domain) = policy.split_once('@').unwrap_or((policy, ""));
    let words = [("--policy", rule), ("--domain", domain)];
    let words = words.into_iter().filter(|(_, value)| !value.is_empty());
    words.map(|(option, value)| format!("{option} {value}")).collect()
}

/// Hash of a path (FNV-1a): tells clusters apart whose nodes have the same name.
fn fnv(path: &Path) -> u32 {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Numbers of the rule.
pub(super) fn rule(options: &AutoOptions) -> Rule {
    let demand = &options.demand;
    Rule {
        n_nodes_max: demand.max,
        n_nodes_min: demand.min.min(demand.max),
        n_nodes_per_job: options.job.nodes_per_job,
        n_pending_max: demand.backlog,
        idle_ms: ms(demand.idle),
        patience_ms: ms(demand.patience),
        worth_ms: ms(demand.worth),
        calm_ms: ms(demand.calm),
        joins_within_ms: ms(JOINS_WITHIN),
        // A task that starts now must have a chance to end.
        leaves_before_ms: ms(options.job.leave_before).saturating_mul(2),
        pause_ms: ms(PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_the_policy_of_the_cluster() {
        assert_eq!(
            rules("power-of-two@random:8").join(" "),
            "--policy power-of-two --domain random:8"
        );
        assert_eq!(rules("event").join(" "), "--policy event");
        assert!(rules("").is_empty());
    }

    #[test]
    fn paths_tell_clusters_apart() {
        assert_eq!(fnv(Path::new("a")), 0xe40c_292c);
        assert_ne!(fnv(Path::new("/h/login1/auto")), fnv(Path::new("/h/login2/auto")));
    }
}
