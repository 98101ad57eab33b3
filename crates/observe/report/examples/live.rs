//! Shows the live view of a sample run on standard error until `q` is pressed; ctrl-c panics, to test how
//! the terminal is restored.

#![expect(clippy::panic, clippy::print_stderr, reason = "it shows both")]

use report::live::{KeyEffect, LiveScreen, LiveState, Snapshot, plain_line};
use report::sample;
use std::time::{Duration, Instant};

fn main() -> Result<(), report::live::LiveError> {
    let color = std::env::var_os("NO_COLOR").is_none();
    let mut state =
        LiveState::new("mpirun -np 64 ./xfire fires/gestosa.toml".to_owned()).with_color(color);
    let mut screen = LiveScreen::start(std::io::stderr())?;
    let start = Instant::now();
    let mut last = snapshot(0.0);
    loop {
        state.update(last.clone());
        screen.draw(&state)?;
        if let Some(key) = screen.key(Duration::from_millis(250))? {
            match state.key(key) {
                KeyEffect::Leave => break,
                KeyEffect::Interrupt => panic!("interrupted"),
                KeyEffect::Nothing | KeyEffect::Redraw => {}
            }
        }
        last = snapshot(start.elapsed().as_secs_f64());
    }
    screen.stop()?;
    eprintln!("{}", plain_line(&last));
    Ok(())
}

fn snapshot(elapsed_s: f64) -> Snapshot {
    let mut snapshot = sample::snapshot(64);
    let wave = elapsed_s.sin().mul_add(0.2, 0.7);
    snapshot.elapsed_s = elapsed_s;
    snapshot.last_interval.parallel_efficiency = wave;
    snapshot.output = vec![format!("{elapsed_s:.2} s: the fire goes on")];
    snapshot
}
