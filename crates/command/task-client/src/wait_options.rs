//! Options of commands that submit tasks and may wait for them.

use crate::submitted::Afterwards;
use crate::tasks::wait::TaskOutput;
use clap::Args;

/// What a command does after its tasks were submitted.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct WaitOptions {
    /// Wait until all tasks have ended, and print the output of each as it ends
    #[arg(long)]
    wait: bool,
    /// Wait, and print what the tasks write while they run; of several tasks, each line with the name of its task
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    follow: bool,
    /// With `--wait`: do not print the output of the tasks
    #[arg(long, conflicts_with = "json")]
    quiet: bool,
    /// Shell command that runs when all tasks have ended, as long as this command still waits; it finds how in the
    /// variables `SINTONIA_TASKS`, `SINTONIA_N_TASKS`, `_N_SUCCEEDED`, `_N_FAILED`, `_N_CANCELED`, `_EXIT_CODE`
    #[arg(long, value_name = "COMMAND")]
    on_end: Option<String>,
    /// Print JSON: a line with the names, and with `--wait` a line for each task that ends
    #[arg(long)]
    json: bool,
}

impl WaitOptions {
    /// What is done afterwards; without `has_output`, the tasks' output is elsewhere.
    ///
    /// # Errors
    /// When an option needs another one.
    pub(crate) fn afterwards(&self, has_output: bool) -> anyhow::Result<Afterwards<'_>> {
        let wait = self.wait || self.follow;
        let needs_wait = [("--quiet", self.quiet), ("--on-end", self.on_end.is_some())];
        if let Some((option, _)) = needs_wait.into_iter().find(|(_, is_given)| *is_given && !wait) {
            let error = anyhow::anyhow!("`{option}` needs `--wait` or `--follow`: add one of them");
            return Err(error.context(user_io::exit::BadOption));
        }
        let output = match self {
            Self { json: true, .. } => TaskOutput::Json,
            Self { follow: true, .. } => TaskOutput::Followed,
            _ if self.quiet || !has_output => TaskOutput::Nothing,
            _ => TaskOutput::Output,
        };
        let on_end = self.on_end.as_deref();
        Ok(Afterwards { wait: wait.then_some(output), json: self.json, on_end })
    }
}
