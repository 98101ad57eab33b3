//! A real terminal: taken over at the start, given back at the end however that comes.

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

/// Why the live view cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The terminal refused.
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
    /// Takes over the terminal that `writer` writes to.
    ///
    /// # Errors
    /// When it is no terminal, or does not switch to raw mode.
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
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, state: &LiveState) -> Result<(), LiveError> {
        self.frame(|frame| draw(frame, state))
    }

    /// Draws anything.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn frame(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> Result<(), LiveError> {
        self.terminal.draw(picture)?;
        Ok(())
    }

    /// The next key within `wait`, if one comes.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub fn key(&mut self, wait: Duration) -> Result<Option<KeyEvent>, LiveError> {
        if !event::poll(wait)? {
            return Ok(None);
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => Ok(Some(key)),
            _ => Ok(None),
        }
    }

    /// Gives the terminal back.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub fn stop(self) -> Result<(), LiveError> {
        Ok(self.lease.give_back()?)
    }
}

impl<W: Write + Send + 'static> Drop for LiveScreen<W> {
    fn drop(&mut self) {
        // Nobody is left to tell that the terminal is gone.
        drop(self.lease.give_back());
    }
}

/// The right to the terminal, until it is given back.
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

/// A panic's message must not land on the alternate screen, where nobody will see it.
fn restore_on_panic<W: Write + Send + 'static>(lease: Arc<Lease<W>>) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        drop(lease.give_back());
        before(panic);
    }));
}

/// The writer, for the terminal and for restoring it.
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
