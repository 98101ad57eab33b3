//! Screen of the live view: takes over the terminal at the start, and always restores it at the end.

use super::{LiveState, draw};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Reason why the live view cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The terminal cannot be used.
    #[error(
        "the terminal cannot show the live view: run without `--live`, or with its output in a pipe for plain lines"
    )]
    Terminal(#[from] io::Error),
}

/// The live view on a terminal.
pub struct LiveScreen<W: Write + Send + 'static> {
    terminal: Terminal<CrosstermBackend<Shared<W>>>,
    lease: Arc<Lease<W>>,
}

impl<W: Write + Send + 'static> LiveScreen<W> {
    /// Takes over the terminal to which `writer` writes.
    ///
    /// # Errors
    /// It is not a terminal, or cannot be switched to raw mode.
    pub fn start(writer: W) -> Result<Self, LiveError> {
        let shared = Shared(Arc::new(Mutex::new(writer)));
        enable_raw_mode()?;
        let lease = Arc::new(Lease { held: AtomicBool::new(true), writer: shared.clone() });
        restore_on_panic(Arc::clone(&lease));
        let started = execute!(shared.clone(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(shared)));
        match started {
            Ok(terminal) => Ok(Self { terminal, lease }),
            Err(error) => {
                lease.give_back()?;
                Err(error.into())
            }
        }
    }

    /// Draws the view.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub fn draw(&mut self, state: &LiveState) -> Result<(), LiveError> {
        self.frame(|frame| draw(frame, state))
    }

    /// Draws any picture.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub fn frame(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> Result<(), LiveError> {
        self.terminal.draw(picture)?;
        Ok(())
    }

    /// Returns the next key within `wait`, if any.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn key(&mut self, wait: Duration) -> Result<Option<KeyEvent>, LiveError> {
        if !event::poll(wait)? {
            return Ok(None);
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Ok(Some(key)),
            _ => Ok(None),
        }
    }

    /// Restores the terminal.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub fn stop(self) -> Result<(), LiveError> {
        Ok(self.lease.give_back()?)
    }
}

impl<W: Write + Send + 'static> Drop for LiveScreen<W> {
    fn drop(&mut self) {
        // An error means that the terminal is gone, so it cannot be reported.
        drop(self.lease.give_back());
    }
}

/// Right to use the terminal, until it is restored.
struct Lease<W> {
    held: AtomicBool,
    writer: Shared<W>,
}

impl<W: Write> Lease<W> {
    /// Restores the terminal, once.
    fn give_back(&self) -> io::Result<()> {
        if !self.held.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let left = execute!(self.writer.clone(), LeaveAlternateScreen, Show);
        disable_raw_mode()?;
        left
    }
}

/// Restores the terminal on a panic, whose message would be lost on the alternate screen.
fn restore_on_panic<W: Write + Send + 'static>(lease: Arc<Lease<W>>) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        drop(lease.give_back());
        before(panic);
    }));
}

/// Writer shared by the terminal and its restoration.
struct Shared<W>(Arc<Mutex<W>>);

impl<W> Clone for Shared<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write> Write for Shared<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}
