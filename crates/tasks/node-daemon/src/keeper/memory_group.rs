//! Control groups of tasks that have asked for memory: the system keeps their processes within it, also what they share,
//! and between two looks of the watch ([`super::memory`]).
//!
//! Groups are made where the keeper may: as root, or in a group that was delegated to its user. Elsewhere tasks are watched
//! only.
//!
//! # Invariants
//! - A group is removed when its task has ended; one that a killed keeper has left is removed by the next keeper.
//! - No group is made outside a group that bounds this keeper's own memory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Beginning of the names of groups; the keeper's process and a number follow.
const PREFIX: &str = "sintonia-";

/// Version of control groups that has the controller of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    First,
    Second,
}

/// Place where groups can be made, if there is one.
#[derive(Debug)]
pub(super) struct MemoryGroups {
    parent: Option<(PathBuf, Version)>,
    n_made: u64,
    /// Groups whose processes had not all gone when their task ended.
    left: Vec<PathBuf>,
}

/// Group of one task.
#[derive(Debug)]
pub(super) struct MemoryGroup {
    folder: PathBuf,
    version: Version,
}

impl MemoryGroups {
    /// Looks for the place, and removes what killed keepers have left there.
    pub(super) fn find() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let place = own_group(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        let parent = place.and_then(|(own, mount, version)| match version {
            Version::First => Some((own, version)),
            Version::Second => parent_of_groups(own, &mount).map(|parent| (parent, version)),
        });
        if let Some((parent, _)) = &parent {
            remove_abandoned(parent);
        }
        Self { parent, n_made: 0, left: Vec::new() }
    }

    /// Makes a group with this bound.
    pub(super) fn make(&mut self, bytes: u64) -> Option<MemoryGroup> {
        let (parent, version) = self.parent.as_ref()?;
        self.n_made += 1;
        let folder = parent.join(format!("{PREFIX}{}-{}", std::process::id(), self.n_made));
        fs::create_dir(&folder).ok()?;
        let group = MemoryGroup { folder, version: *version };
        if group.bound(bytes).is_none() {
            self.remove(group);
            return None;
        }
        Some(group)
    }

    /// Removes the group of a task that has ended.
    pub(super) fn remove(&mut self, group: MemoryGroup) {
        self.left.push(group.folder);
        self.tidy();
    }

    /// Removes groups whose processes have gone by now.
    pub(super) fn tidy(&mut self) {
        self.left.retain(|folder| fs::remove_dir(folder).is_err() && folder.exists());
    }
}

impl Drop for MemoryGroups {
    fn drop(&mut self) {
        self.tidy();
    }
}

impl MemoryGroup {
    fn bound(&self, bytes: u64) -> Option<()> {
        let write = |name: &str, text: String| fs::write(self.folder.join(name), text).ok();
        match self.version {
            Version::First => {
                write("memory.limit_in_bytes", bytes.to_string())?;
                // Not every system counts swap.
                write("memory.memsw.limit_in_bytes", bytes.to_string());
            }
            Version::Second => {
                write("memory.max", bytes.to_string())?;
                write("memory.swap.max", "0".to_owned());
                write("memory.oom.group", "1".to_owned());
            }
        }
        Some(())
    }

    /// File into which a process writes that it joins the group.
    pub(super) fn door(&self) -> Option<File> {
        File::options().write(true).open(self.folder.join("cgroup.procs")).ok()
    }

    /// Returns whether the system has ended a process of the group for want of memory.
    pub(super) fn was_short(&self) -> bool {
        let name = match self.version {
            Version::First => "memory.oom_control",
            Version::Second => "memory.events",
        };
        let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let n_killed = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        n_killed.is_some_and(|n| n.trim() != "0")
    }
}

/// This process's own group with the controller of memory, and where its hierarchy is mounted.
fn own_group(groups: &str, mounts: &str) -> Option<(PathBuf, PathBuf, Version)> {
    let mut lines = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let first = lines.clone().find(|(names, _)| names.split(',').any(|name| name == "memory"));
    let (path, version) = match first {
        Some((_, path)) => (path, Version::First),
        None => (lines.find(|(names, _)| names.is_empty())?.1, Version::Second),
    };
    let (root, mount) = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        let is_it = match version {
            Version::First => {
                kind == "cgroup" && options.split(',').any(|option| option == "memory")
            }
            Version::Second => kind == "cgroup2",
        };
        let mut before = before.split(' ').skip(3);
        is_it.then_some((before.next()?, before.next()?))
    })?;
    // In a container, the path may be seen from outside.
    let below = path.strip_prefix(root).unwrap_or("").trim_start_matches('/');
    let mount = PathBuf::from(mount);
    Some((mount.join(below), mount, version))
}

/// Group whose children may have a bound of memory: this process's own one, or the one above, as processes are only in groups
/// without such children.
fn parent_of_groups(own: PathBuf, mount: &Path) -> Option<PathBuf> {
    let passes_on = |group: &Path| {
        let names = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        names.split_whitespace().any(|name| name == "memory")
    };
    if passes_on(&own) || fs::write(own.join("cgroup.subtree_control"), "+memory").is_ok() {
        return Some(own);
    }
    let limit = fs::read_to_string(own.join("memory.max")).unwrap_or_default();
    let above = own.parent().filter(|above| above.starts_with(mount) && passes_on(above))?;
    (limit.trim() == "max").then(|| above.to_owned())
}

/// Removes groups of keepers that do not run any more. A group with processes cannot be removed.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let keeper = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let keeper = keeper.and_then(|rest| rest.split_once('-')).map(|(pid, _)| pid);
        if keeper.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            fs::remove_dir(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        31 30 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        32 30 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[track_caller]
    fn check(groups: &str, mounts: &str, expected: Option<(&str, Version)>) {
        let found = own_group(groups, mounts).map(|(own, _, version)| (own, version));
        let expected = expected.map(|(own, version)| (PathBuf::from(own), version));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_hierarchy_with_memory_is_found() {
        let both = "5:cpu,cpuacct:/\n4:memory:/job/7\n0::/\n";
        check(both, MOUNTS, Some(("/sys/fs/cgroup/memory/job/7", Version::First)));
        let new = "0::/user.slice/a.scope\n";
        let mounts = "24 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        check(new, mounts, Some(("/sys/fs/cgroup/user.slice/a.scope", Version::Second)));
        let of_a_container = "0::/docker/abc/app\n";
        let mounts = "24 1 0:22 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        check(of_a_container, mounts, Some(("/sys/fs/cgroup/app", Version::Second)));
        check("0::/../..\n", mounts, Some(("/sys/fs/cgroup", Version::Second)));
        check("", MOUNTS, None);
        check(both, "", None);
    }

    #[test]
    fn groups_that_a_dead_keeper_has_left_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let alive = format!("{PREFIX}{}-1", std::process::id());
        for name in [&alive, "sintonia-4194999-1", "sintonia-x", "other"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        remove_abandoned(parent.path());
        let mut left: Vec<_> = fs::read_dir(parent.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["other", alive.as_str(), "sintonia-x"]);
    }
}
