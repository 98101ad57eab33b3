//! Requests of programs to their node: submit tasks, wait for them, ask.
//!
//! [`Client`] is the connection; this file has the requests that take more than one question and one answer.

use task_api::{ClientRequest, DaemonAnswer, EndedTask, Submission, TaskRange};

pub use crate::client_socket::{Client, ClientError};

impl Client {
    /// Submits tasks; they are on the node's disk when this returns.
    ///
    /// # Errors
    /// When the daemon refuses, ends, or sends an unknown answer. Where it ended, it may have taken the tasks.
    pub fn submit(&mut self, submission: Submission) -> Result<TaskRange, ClientError> {
        match self.ask(&ClientRequest::Submit { submission })? {
            DaemonAnswer::Submitted { tasks } => Ok(tasks),
            answer => Err(unexpected(answer)),
        }
    }

    /// Waits until all of these tasks have ended, and reports each outcome. Tasks that ended so long ago that they
    /// are forgotten are left out.
    ///
    /// # Errors
    /// When the daemon refuses, ends, or sends an unknown answer.
    pub fn wait(
        &mut self,
        tasks: &TaskRange,
        with_output: bool,
        mut on_ended: impl FnMut(EndedTask),
    ) -> Result<(), ClientError> {
        let mut answer = self.ask(&ClientRequest::Wait { tasks: tasks.clone(), with_output })?;
        loop {
            let is_last = answer.is_last();
            match answer {
                DaemonAnswer::Ended { tasks, .. } => tasks.into_iter().for_each(&mut on_ended),
                answer => return Err(unexpected(answer)),
            }
            if is_last {
                return Ok(());
            }
            answer = self.ask(&ClientRequest::More)?;
        }
    }
}

fn unexpected(answer: DaemonAnswer) -> ClientError {
    match answer {
        DaemonAnswer::Refused { sentence } => ClientError::Refused { sentence },
        _ => ClientError::Version,
    }
}
