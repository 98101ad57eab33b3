//! Sends requests of commands to the daemon, and turns failures into sentences for users.

use crate::location::DaemonLocation;
use node_daemon::client_socket::{Client, ClientError};
use report::balance::Queues;
use std::fs::{self, DirEntry};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use task_api::{
    ClientRequest, DaemonAnswer, HistorySample, NodeStatus, OutcomeSummary, Presence, TaskFilter,
    TaskState, TaskStatus,
};
use user_io::exit::{NoDaemon, Refused};

/// Number of tasks that are asked for at once.
const N_AT_ONCE: u32 = 1000;

/// Daemon that is asked.
pub(crate) struct Daemon {
    pub(crate) client: Client,
    pub(crate) location: DaemonLocation,
}

impl Daemon {
    /// Connects to the daemon.
    pub(crate) fn connect(location: DaemonLocation) -> anyhow::Result<Self> {
        let client = location.connect()?.map_err(|error| failure(error, &location))?;
        Ok(Self { client, location })
    }

    /// Sends a request and returns the answer.
    pub(crate) fn ask(&mut self, request: &ClientRequest) -> anyhow::Result<DaemonAnswer> {
        self.say(request)?;
        self.next_answer()
    }

    /// Sends a request.
    pub(crate) fn say(&mut self, request: &ClientRequest) -> anyhow::Result<()> {
        self.client.say(request).map_err(|error| failure(error, &self.location))
    }

    /// Answer to the first of the requests that have none.
    pub(crate) fn next_answer(&mut self) -> anyhow::Result<DaemonAnswer> {
        match self.client.next_answer() {
            Ok(DaemonAnswer::Refused { sentence }) => Err(Refused.because(sentence).into()),
            Ok(answer) => Ok(answer),
            Err(error) => Err(failure(error, &self.location)),
        }
    }

    /// Passes all tasks that a filter selects to `each`, in parts, until it returns that it has enough: from the first to
    /// the last, or the other way round with `is_backward`. Returns what is kept of tasks that ended long ago.
    pub(crate) fn tasks(
        &mut self,
        filter: &TaskFilter,
        is_backward: bool,
        mut each: impl FnMut(Vec<TaskStatus>) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<OutcomeSummary>> {
        let (mut after, mut all_past) = (None, None);
        loop {
            let n_max = N_AT_ONCE;
            let request =
                ClientRequest::Tasks { filter: filter.clone(), after, n_max, is_backward };
            match self.ask(&request)? {
                DaemonAnswer::Tasks { mut tasks, next, past } => {
                    // A daemon of an older version does not know this part of a filter.
                    tasks.retain(|task| filter.outcome.is_none_or(|it| it.holds_of(task)));
                    all_past = all_past.or(past);
                    if !each(tasks)? || next.is_none() {
                        return Ok(all_past);
                    }
                    after = next;
                }
                other => return Err(unexpected(&other)),
            }
        }
    }
}

/// Error for an answer to another question.
pub(crate) fn unexpected(answer: &DaemonAnswer) -> anyhow::Error {
    let name = serde_json::to_value(answer).ok();
    let name = name.as_ref().and_then(|json| json["answer"].as_str()).unwrap_or("nonsense");
    let why = format!(
        "unexpected answer `{name}` from the daemon, which may be of another version: restart it with this `sintonia`"
    );
    NoDaemon.because(why).into()
}

/// Error that says why there is no answer, and what to do.
pub(crate) fn failure(error: ClientError, location: &DaemonLocation) -> anyhow::Error {
    let words = location.words("--state");
    let why = match error {
        ClientError::Refused(sentence) => return Refused.because(sentence).into(),
        ClientError::NoDaemon { socket, source }
            if source.kind() == ErrorKind::PermissionDenied =>
        {
            format!(
                "the daemon at `{}` belongs to another user: start your own with `sintonia node start --background`, or name its folder with `--node DIR`",
                socket.display()
            )
        }
        ClientError::NoDaemon { socket, .. } => format!(
            "no daemon listens at `{}`: start one with `sintonia node start --background{words}`{}",
            socket.display(),
            elsewhere(&socket)
        ),
        other => other.to_string(),
    };
    NoDaemon.because(why).into()
}

/// File in a daemon's folder that holds the address by which other nodes reach it.
pub(crate) const ADDRESS_FILE: &str = "address";
/// Most daemons that are named to the user.
const N_NAMED_MAX: usize = 3;

/// Part of a sentence that names daemons of other hosts whose folders lie beside that of a socket, as in a shared home.
fn elsewhere(socket: &Path) -> String {
    let beside = socket.parent().and_then(Path::parent).map(fs::read_dir);
    let folders = beside.into_iter().flatten().flatten().flatten();
    let address = |folder: DirEntry| fs::read_to_string(folder.path().join(ADDRESS_FILE)).ok();
    let mut found: Vec<_> = folders.filter_map(address).collect();
    found.sort();
    found.truncate(N_NAMED_MAX);
    let options = found.iter().map(|address| format!("`--node {}`", address.trim()));
    match options.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        options => format!(", or ask one on another host: {options}"),
    }
}

/// Some tasks of this node that are not over.
pub(crate) fn queues(client: &mut Client) -> Result<Queues, ClientError> {
    let mut in_state = |state| {
        let filter = TaskFilter { state: Some(state), ..TaskFilter::default() };
        let n_max = u32::try_from(Queues::N_MAX).unwrap_or(u32::MAX);
        match client.ask(&ClientRequest::Tasks {
            filter,
            after: None,
            n_max,
            is_backward: false,
        })? {
            DaemonAnswer::Tasks { tasks, .. } => Ok(tasks),
            other => Err(self::other(other)),
        }
    };
    let (running, leased) = (in_state(TaskState::Running)?, in_state(TaskState::Leased)?);
    Ok(Queues { running, leased, queued: in_state(TaskState::Queued)? })
}

/// Most nodes whose past is asked for.
const N_PASTS_MAX: usize = 64;

/// What nodes have kept of their past, by their names; nodes that do not answer have none.
pub(crate) fn pasts(
    client: &mut Client,
    nodes: &[NodeStatus],
) -> Vec<(String, Vec<HistorySample>)> {
    let up = nodes.iter().filter(|node| node.presence == Presence::Up).take(N_PASTS_MAX);
    let past = |node: &NodeStatus| {
        match client.ask(&ClientRequest::History { home: Some(node.node.clone()) }) {
            Ok(DaemonAnswer::History { node, samples }) => Some((node, samples)),
            // Of another version, or gone.
            _ => None,
        }
    };
    up.filter_map(past).collect()
}

/// Refusal, or error for an answer to another question.
pub(crate) fn other(answer: DaemonAnswer) -> ClientError {
    match answer {
        DaemonAnswer::Refused { sentence } => ClientError::Refused(sentence),
        other => refused(&unexpected(&other)),
    }
}

/// Error of a daemon for an error of this program.
pub(crate) fn refused(error: &anyhow::Error) -> ClientError {
    ClientError::Refused(error.to_string())
}

/// Time since 1970, in ms.
pub(crate) fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}
