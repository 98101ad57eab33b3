//! A task becomes a process.
//!
//! Everything here is done so that the standard library may use `posix_spawn`, which does not copy
//! the keeper's memory: a program with a slash in its name, and no code between fork and exec.

use std::{
    fs::File,
    io::{self, ErrorKind, PipeReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::fs::{Access, access};

use super::{
    leftovers::{KEEPER_MARK, TASK_MARK},
    words::{Destination, Outcome, Start},
};

/// Where programs are looked for when the task's environment does not say.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// A process that runs and what can be read from it.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: i32,
    /// Standard output and standard error, unless they go to files.
    pub(super) streams: [Option<PipeReader>; 2],
}

/// Starts a task in a process group of its own.
pub(super) fn start(task: &Start, state: &Path) -> Result<Started, Outcome> {
    let program = program(task)?;
    let mut command = Command::new(&program);
    command
        .args(&task.command[1..])
        .env_clear()
        .envs(task.environment.iter().map(|(name, value)| (name, value)))
        .env(KEEPER_MARK, state)
        .env(TASK_MARK, &task.key.0)
        .current_dir(&task.directory)
        .stdin(Stdio::null())
        .process_group(0);
    let streams = connect(&mut command, &task.output, &task.directory)?;
    let child = command.spawn().map_err(|error| why_not(task, &program, &error))?;
    let pid = i32::try_from(child.id()).expect("the system numbers processes below 2^22");
    Ok(Started { pid, streams })
}

fn connect(
    command: &mut Command,
    output: &Destination,
    directory: &Path,
) -> Result<[Option<PipeReader>; 2], Outcome> {
    match output {
        Destination::Kept(_) => {
            let (stdout, stdout_end) = pipe()?;
            let (stderr, stderr_end) = pipe()?;
            command.stdout(stdout_end).stderr(stderr_end);
            Ok([Some(stdout), Some(stderr)])
        }
        Destination::Files { stdout, stderr } => {
            command.stdout(appended(&directory.join(stdout))?);
            command.stderr(appended(&directory.join(stderr))?);
            Ok([None, None])
        }
    }
}

fn pipe() -> Result<(PipeReader, io::PipeWriter), Outcome> {
    let no_room = |error: io::Error| Outcome::NoRoom(format!("cannot make a pipe: {error}"));
    let (reader, writer) = io::pipe().map_err(no_room)?;
    rustix::io::ioctl_fionbio(&reader, true).map_err(|error| no_room(error.into()))?;
    Ok((reader, writer))
}

fn appended(path: &Path) -> Result<File, Outcome> {
    let sentence = |error| format!("cannot write its output to `{}`: {error}", path.display());
    let options = File::options().create(true).append(true).open(path);
    options.map_err(|error| Outcome::Impossible(sentence(error)))
}

/// The program with its folder, looked for as a shell does.
fn program(task: &Start) -> Result<PathBuf, Outcome> {
    let name = task.command.first().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Outcome::Impossible("the command is empty".to_owned()))?;
    if name.contains('/') {
        return Ok(PathBuf::from(name));
    }
    let path = task.environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(PATH_DEFAULT, |(_, value)| value);
    path.split(':')
        .map(|folder| task.directory.join(folder).join(name))
        .find(|program| access(program, Access::EXEC_OK).is_ok() && program.is_file())
        .ok_or_else(|| {
            Outcome::Impossible(format!("program `{name}` is not in the `PATH` of the task: {path}"))
        })
}

fn why_not(task: &Start, program: &Path, error: &io::Error) -> Outcome {
    let directory = task.directory.display();
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory => {
            Outcome::NoRoom(format!("no room for another process: {error}"))
        }
        _ if is_of_open_files(error) => Outcome::NoRoom(format!("too many open files: {error}")),
        _ if !task.directory.is_dir() => {
            Outcome::Impossible(format!("its working directory `{directory}` is not there"))
        }
        _ => Outcome::Impossible(format!("cannot run `{}`: {error}", program.display())),
    }
}

fn is_of_open_files(error: &io::Error) -> bool {
    let errno = rustix::io::Errno::from_io_error(error);
    matches!(errno, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}
