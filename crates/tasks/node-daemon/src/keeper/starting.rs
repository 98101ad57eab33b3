//! Starts the process of a task.
//!
//! The standard library can use `posix_spawn` here, which does not copy the keeper's memory: the program's name has
//! a slash, and no code runs between fork and exec, except where a task has a group of its own.
#![expect(unsafe_code, reason = "what runs between fork and exec has no safe form")]

use std::fs::File;
use std::io::{ErrorKind, PipeReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use rustix::fs::{Access, access};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::host_list::{HostList, SLURM};
use super::leftovers::{INSTANCE_MARK, KEEPER_MARK, RUN_MARK, TASK_MARK};
use super::memory_group::MemoryGroup;
use super::protocol::{Destination, StartAttempt};

/// Search path for programs when the task's environment has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";
/// Variable that holds a task's index in its array.
const ARRAY_MARK: &str = "SINTONIA_ARRAY_INDEX";
/// Variable that holds a task's text, where each task of its submission has one.
const ITEM_MARK: &str = "SINTONIA_ITEM";

/// Running process, and the streams that can be read from it.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: Pid,
    /// Standard output and standard error, unless they go to files.
    pub(super) streams: [Option<PipeReader>; 2],
}

/// Reasons why an attempt could not be started, each with a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WhyNot {
    /// The program was not found or cannot be run: trying again does not help.
    Impossible(String),
    /// The system had no room for another process: trying again may help.
    NoRoom(String),
}

/// Starts a task in a process group of its own.
pub(super) fn start(
    task: &StartAttempt,
    state: &Path,
    run: &str,
    group: Option<&MemoryGroup>,
) -> Result<Started, WhyNot> {
    let program = program(task)?;
    let mut command = Command::new(&program);
    command
        .args(&task.command[1..])
        .env_clear()
        .envs(task.environment.iter().map(|(name, value)| (name, value)))
        .env(KEEPER_MARK, state)
        .env(RUN_MARK, run)
        .env(TASK_MARK, &task.name)
        .env(INSTANCE_MARK, task.attempt.instance.to_string())
        .envs(task.input.array_index.map(|index| (ARRAY_MARK, index.to_string())))
        .envs(task.input.item.as_deref().map(|item| (ITEM_MARK, item)))
        .envs(allocated(task))
        .current_dir(&task.folder)
        .stdin(Stdio::null())
        .process_group(0);
    if let Some(hosts) = HostList::of(task) {
        let no_file =
            |error: io::Error| WhyNot::NoRoom(format!("cannot write its host list: {error}"));
        for (name, _) in task.environment.iter().filter(|(name, _)| name.starts_with(SLURM)) {
            command.env_remove(name);
        }
        command.envs(hosts.write(task, state).map_err(no_file)?);
    }
    let streams = connect(&mut command, task)?;
    if let Some(door) = group.and_then(MemoryGroup::door) {
        enter(&mut command, door);
    }
    let child = on_cores(&task.allocation.cores, || command.spawn());
    let child = child.map_err(|error| why_not(task, &program, &error))?;
    Ok(Started { pid: Pid::from_child(&child), streams })
}

/// Lets the process join its group before the program runs: what it starts would be outside otherwise.
fn enter(command: &mut Command, door: File) {
    let join = move || {
        // Zero stands for the writer. Without the group, the task's memory is only watched.
        rustix::io::write(&door, b"0").ok();
        Ok(())
    };
    // SAFETY: between fork and exec this does nothing but one system call, on a file that is open.
    unsafe { command.pre_exec(join) };
}

/// Variables that tell a task what it was given of the node, where that is more than a core, any one.
fn allocated(task: &StartAttempt) -> Vec<(String, String)> {
    let given = &task.allocation;
    if given.is_plain() {
        return Vec::new();
    }
    let list = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut pairs = vec![
        ("SINTONIA_CPUS".to_owned(), given.cpus.to_string()),
        ("SINTONIA_VARIANT".to_owned(), given.variant.to_string()),
    ];
    if task.environment.iter().all(|(name, _)| name != "OMP_NUM_THREADS") {
        pairs.push(("OMP_NUM_THREADS".to_owned(), given.cpus.to_string()));
    }
    if !given.cores.is_empty() {
        pairs.push(("SINTONIA_CORES".to_owned(), list(&given.cores)));
    }
    if 0 < given.memory_bytes {
        pairs.push(("SINTONIA_MEMORY".to_owned(), given.memory_bytes.to_string()));
    }
    if !given.gpus.is_empty() {
        let names = ["SINTONIA_GPUS", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"];
        pairs.extend(names.map(|name| (name.to_owned(), list(&given.gpus))));
        pairs.push(("CUDA_DEVICE_ORDER".to_owned(), "PCI_BUS_ID".to_owned()));
    }
    for (name, ids) in &given.named {
        let name = name.to_ascii_uppercase().replace('-', "_");
        pairs.push((format!("SINTONIA_RESOURCE_{name}"), list(ids)));
    }
    pairs
}

/// Starts a process that is bound to these cores, if there are any: it inherits them from this thread.
fn on_cores<T>(cores: &[u32], start: impl FnOnce() -> T) -> T {
    let before = match cores {
        [] => None,
        _ => sched_getaffinity(None).ok(),
    };
    let Some(before) = before else { return start() };
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core as usize));
    // Where the system refuses them the task runs on any core.
    sched_setaffinity(None, &set).ok();
    let started = start();
    sched_setaffinity(None, &before).ok();
    started
}

fn connect(command: &mut Command, task: &StartAttempt) -> Result<[Option<PipeReader>; 2], WhyNot> {
    match &task.output {
        Destination::Kept(_) => {
            let (stdout, stdout_end) = pipe()?;
            let (stderr, stderr_end) = pipe()?;
            command.stdout(stdout_end).stderr(stderr_end);
            Ok([Some(stdout), Some(stderr)])
        }
        Destination::Folder(folder) => {
            // If it cannot be created, the files tell why.
            fs::create_dir_all(folder).ok();
            if let Some([stdout, stderr]) = output_files(task) {
                command.stdout(created(&stdout)?);
                command.stderr(created(&stderr)?);
            }
            Ok([None, None])
        }
    }
}

fn pipe() -> Result<(PipeReader, io::PipeWriter), WhyNot> {
    let no_room = |error: io::Error| WhyNot::NoRoom(format!("cannot make a pipe: {error}"));
    let (reader, writer) = io::pipe().map_err(no_room)?;
    rustix::io::ioctl_fionbio(&reader, true).map_err(|error| no_room(error.into()))?;
    Ok((reader, writer))
}

/// Files that receive a task's output, where it is not kept in memory.
pub(super) fn output_files(task: &StartAttempt) -> Option<[PathBuf; 2]> {
    let Destination::Folder(folder) = &task.output else { return None };
    Some(["out", "err"].map(|end| Path::new(folder).join(format!("{}.{end}", task.name))))
}

/// Creates an output file. An instance overwrites the output of an earlier one; opened for appending, so that the
/// task's processes do not overwrite each other's output.
fn created(path: &Path) -> Result<File, WhyNot> {
    let sentence = |error| format!("cannot write its output to `{}`: {error}", path.display());
    let file = File::create(path).and_then(|_| File::options().append(true).open(path));
    file.map_err(|error| WhyNot::Impossible(sentence(error)))
}

/// Path of the program, searched for as a shell does.
fn program(task: &StartAttempt) -> Result<PathBuf, WhyNot> {
    let name = task.command.first().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| WhyNot::Impossible("the command is empty".to_owned()))?;
    if name.contains('/') {
        return Ok(PathBuf::from(name));
    }
    let path = task.environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(PATH_DEFAULT, |(_, value)| value);
    path.split(':')
        .map(|folder| Path::new(&task.folder).join(folder).join(name))
        .find(|program| access(program, Access::EXEC_OK).is_ok() && program.is_file())
        .ok_or_else(|| {
            WhyNot::Impossible(format!("program `{name}` is not in the `PATH` of the task: {path}"))
        })
}

fn why_not(task: &StartAttempt, program: &Path, error: &io::Error) -> WhyNot {
    let folder = &task.folder;
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory => {
            WhyNot::NoRoom(format!("no room for another process: {error}"))
        }
        _ if is_of_open_files(error) => WhyNot::NoRoom(format!("too many open files: {error}")),
        _ if !Path::new(folder).is_dir() => {
            WhyNot::Impossible(format!("its working directory `{folder}` is not there"))
        }
        _ => WhyNot::Impossible(format!("cannot run `{}`: {error}", program.display())),
    }
}

fn is_of_open_files(error: &io::Error) -> bool {
    let errno = rustix::io::Errno::from_io_error(error);
    matches!(errno, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}
