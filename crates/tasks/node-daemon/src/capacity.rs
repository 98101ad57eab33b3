//! Finds what a node has for tasks: cores by memory node, memory, and GPUs by their drivers' files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use node_core::interface::NodeCapacity;
use rustix::thread::sched_getaffinity;
use task_api::Resources;

/// Values that are given instead of being found, and resources that only the user knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityOptions {
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Number of GPUs.
    pub gpus: Option<u32>,
    /// Pieces of other resources, by name.
    pub named: BTreeMap<String, u32>,
}

/// What this node has for tasks, of which `n_cores` run at once.
pub fn capacity(n_cores: u32, options: &CapacityOptions) -> NodeCapacity {
    capacity_of(Path::new("/"), &usable_cores(), n_cores, options)
}

/// The same, from the files below `root`, where these cores may be used.
fn capacity_of(
    root: &Path,
    usable: &[u32],
    n_cores: u32,
    options: &CapacityOptions,
) -> NodeCapacity {
    let amounts = Resources {
        cpus: n_cores,
        cpus_max: 0,
        memory_bytes: options.memory_bytes.or_else(|| memory_bytes(root)).unwrap_or(0),
        gpus: options.gpus.unwrap_or_else(|| n_gpus(root)),
        named: options.named.clone(),
    };
    // Where the user says that there are more cores than there are, tasks are bound to none.
    let is_known = n_cores as usize <= usable.len();
    let usable = if is_known { &usable[..n_cores as usize] } else { &[] };
    NodeCapacity { cores: by_memory_node(root, usable), amounts }
}

/// Cores that this process may use.
fn usable_cores() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|core| set.is_set(*core))
        .filter_map(|core| u32::try_from(core).ok())
        .collect()
}

/// These cores, divided by the memory node that they belong to.
fn by_memory_node(root: &Path, usable: &[u32]) -> Vec<Vec<u32>> {
    let nodes = fs::read_dir(root.join("sys/devices/system/node")).into_iter().flatten().flatten();
    let lists = nodes.filter_map(|node| fs::read_to_string(node.path().join("cpulist")).ok());
    let nodes = lists.map(|list| {
        let cores = listed(&list);
        usable.iter().copied().filter(|core| cores.contains(core)).collect::<Vec<_>>()
    });
    let mut nodes = nodes.filter(|cores| !cores.is_empty()).collect::<Vec<_>>();
    nodes.sort();
    let n_found = nodes.iter().map(Vec::len).sum::<usize>();
    if n_found == usable.len() { nodes } else { vec![usable.to_vec()] }
}

/// Numbers of a list such as `0-3,8`.
fn listed(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// Memory of the machine, or what the control group of this process may use where that is less.
fn memory_bytes(root: &Path) -> Option<u64> {
    let info = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024;
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("");
    let mount = root.join("sys/fs/cgroup");
    let limits = Path::new(path).ancestors().filter_map(|group| {
        let text = fs::read_to_string(mount.join(group).join("memory.max")).ok()?;
        text.trim().parse::<u64>().ok()
    });
    Some(limits.fold(total, u64::min))
}

/// GPUs that the drivers of NVIDIA and AMD list.
fn n_gpus(root: &Path) -> u32 {
    let entries = |path: &str| fs::read_dir(root.join(path)).into_iter().flatten().flatten();
    let n_nvidia = entries("proc/driver/nvidia/gpus").count();
    let is_gpu = |properties: &str| {
        let simds = properties.lines().find_map(|line| line.strip_prefix("simd_count "));
        simds.is_some_and(|n| n.trim() != "0")
    };
    let amd = entries("sys/class/kfd/kfd/topology/nodes");
    let amd = amd.filter_map(|node| fs::read_to_string(node.path().join("properties")).ok());
    u32::try_from(n_nvidia + amd.filter(|it| is_gpu(it)).count()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn a_node_is_what_the_files_of_the_system_say() {
        let root = root(&[
            ("proc/meminfo", "MemFree: 1 kB\nMemTotal:       64 kB\n"),
            ("proc/self/cgroup", "0::/user/job\n"),
            ("sys/fs/cgroup/user/memory.max", "32768\n"),
            ("sys/fs/cgroup/user/job/memory.max", "max\n"),
            ("sys/devices/system/node/node1/cpulist", "4-7\n"),
            ("sys/devices/system/node/node0/cpulist", "0-3\n"),
            ("proc/driver/nvidia/gpus/0000:01:00.0/information", ""),
            ("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 8\nsimd_count 0\n"),
            ("sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 256\n"),
        ]);
        let found = |n_cores, options: &CapacityOptions| {
            capacity_of(root.path(), &[1, 2, 3, 4, 5], n_cores, options)
        };
        let all = found(5, &CapacityOptions::default());
        assert_eq!(all.cores, [vec![1, 2, 3], vec![4, 5]]);
        assert_eq!((all.amounts.memory_bytes, all.amounts.gpus), (32_768, 2));
        assert_eq!(found(4, &CapacityOptions::default()).cores, [vec![1, 2, 3], vec![4]]);
        let named = [("fpga".to_owned(), 2)].into();
        let told = CapacityOptions { memory_bytes: Some(9), gpus: Some(0), named };
        let told = found(8, &told);
        assert_eq!(told.cores.iter().flatten().count(), 0);
        assert_eq!(told.amounts.to_string(), "8 cores, 9 bytes, 2 fpga");
    }

    #[test]
    fn this_machine_has_cores_and_memory() {
        let here = capacity(1, &CapacityOptions::default());
        assert_eq!(here.cores.iter().flatten().count(), 1);
        assert!(1 << 20 < here.amounts.memory_bytes);
    }
}
