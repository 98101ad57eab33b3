//! Processor time that the control groups of this process may use, in cores.
//!
//! Version 2 has the bound in `cpu.max`, version 1 in `cpu.cfs_quota_us` and `cpu.cfs_period_us`. Each group is
//! also bound by those above it.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Least of all bounds; `None` where there is none. `root` is `/`.
pub(super) fn cores_by_quota(root: &Path) -> Option<f64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let bounds = groups.lines().filter_map(|line| bound_of(root, line));
    bounds.reduce(f64::min)
}

/// Least bound from one line of `/proc/self/cgroup`: number, controllers, path.
fn bound_of(root: &Path, line: &str) -> Option<f64> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let mounts = root.join("sys/fs/cgroup");
    let path = path.trim_start_matches('/');
    if number == "0" && controllers.is_empty() {
        // Beside groups of version 1, those of version 2 are mounted deeper.
        let mount = Some(mounts.join("unified")).filter(|mount| mount.is_dir()).unwrap_or(mounts);
        return least(&mount, path, |folder| {
            parse_max(&fs::read_to_string(folder.join("cpu.max")).ok()?)
        });
    }
    if !controllers.split(',').any(|controller| controller == "cpu") {
        return None;
    }
    let mount =
        [mounts.join(controllers), mounts.join("cpu")].into_iter().find(|it| it.is_dir())?;
    least(&mount, path, |folder| {
        let number =
            |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<f64>().ok();
        cores_of(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
    })
}

/// Least bound of a group and those above it. In a container the path may be the one outside, which is not visible;
/// then only the mount itself counts.
fn least(mount: &Path, path: &str, bound: impl Fn(PathBuf) -> Option<f64>) -> Option<f64> {
    let groups = Path::new(path).ancestors().map(|group| mount.join(group));
    groups.filter_map(bound).reduce(f64::min)
}

fn parse_max(text: &str) -> Option<f64> {
    let mut numbers = text.split_whitespace();
    // `max` is no number: there is no bound.
    cores_of(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?)
}

fn cores_of(quota_us: f64, period_us: f64) -> Option<f64> {
    (0.0 < quota_us && 0.0 < period_us).then(|| quota_us / period_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the bound on a system that has these files.
    #[track_caller]
    fn check(files: &[(&str, &str)], expected: Option<f64>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(cores_by_quota(root.path()), expected, "{files:?}");
    }

    const V2: (&str, &str) = ("proc/self/cgroup", "0::/user/job\n");
    const V1: (&str, &str) = ("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/job\n0::/\n");

    #[test]
    fn the_least_bound_of_a_group_and_those_above_counts() {
        check(&[], None);
        check(&[V2], None);
        check(&[V2, ("sys/fs/cgroup/user/job/cpu.max", "max 100000\n")], None);
        check(&[V2, ("sys/fs/cgroup/user/job/cpu.max", "50000 100000\n")], Some(0.5));
        let above = ("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
        check(&[V2, ("sys/fs/cgroup/user/job/cpu.max", "max 100000\n"), above], Some(1.5));
        check(&[V2, ("sys/fs/cgroup/cpu.max", "400000 100000\n")], Some(4.0));
        check(&[V2, ("sys/fs/cgroup/user/job/cpu.max", "nonsense\n")], None);
    }

    #[test]
    fn the_older_version_has_two_files() {
        let quota = |text| ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", text);
        let period = ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
        check(&[V1, quota("250000\n"), period], Some(2.5));
        check(&[V1, quota("-1\n"), period], None);
        check(&[V1, quota("250000\n")], None);
        let other = ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "100000\n");
        check(&[V1, other, ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "50000\n")], Some(2.0));
    }
}
