//! Tests of what a terminal made by `script` shows: the live view, and progress.

use super::daemon::{Daemon, TestCluster};
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Runs a command on a terminal of its own, whose input is the child's standard input.
fn on_terminal(node: &Daemon<'_>, words: &[&str], variables: &[(&str, &str)]) -> Child {
    let command = node.command(words);
    let mut line = vec!["stty cols 100 rows 30; exec".to_owned(), quoted(command.get_program())];
    line.extend(command.get_args().map(quoted));
    let mut terminal = std::process::Command::new("script");
    terminal.args(["-qfec", &line.join(" "), "/dev/null"]);
    terminal.env("SINTONIA_NODE", node.state()).env("TERM", "xterm-256color");
    terminal.env_remove("NO_COLOR").envs(variables.iter().copied());
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    terminal.spawn().expect("`script` of util-linux is everywhere")
}

fn quoted(word: &std::ffi::OsStr) -> String {
    format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"))
}

/// Leaves the view by `q` some time after it showed `sign`; returns the exit code and the terminal's output.
fn shown(mut child: Child, sign: &str) -> (Option<i32>, String) {
    let mut output = child.stdout.take().unwrap();
    let (sender, pieces) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n_bytes @ 1..) = std::io::Read::read(&mut output, &mut bytes) {
            sender.send(bytes[..n_bytes].to_vec()).ok();
        }
    });
    let mut all = Vec::new();
    let mut is_asked = false;
    while let Ok(piece) = pieces.recv_timeout(Duration::from_secs(60)) {
        all.extend(piece);
        if !is_asked && String::from_utf8_lossy(&all).contains(sign) {
            is_asked = true;
            child.stdin.as_mut().unwrap().write_all(b"q").unwrap();
        }
    }
    let code = child.wait().unwrap().code();
    reader.join().unwrap();
    (code, String::from_utf8_lossy(&all).into_owned())
}

#[test]
fn the_live_view_shows_nodes_and_gives_the_terminal_back() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    node.said(&["submit", "--", "sleep", "1000"]);
    node.wait("it runs", |node| node.n_running() == 1);
    for (variables, has_color) in [(&[][..], true), (&[("NO_COLOR", "1")], false)] {
        let (code, text) = shown(on_terminal(&node, &["nodes", "--live"], variables), "1/2");
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("alpha") && text.contains("q: leave"), "{text}");
        assert!(text.contains("\u{1b}[?1049h") && text.contains("\u{1b}[?1049l"), "{text}");
        let color = ["\u{1b}[32m", "\u{1b}[38;5;2;"].iter().any(|color| text.contains(color));
        assert_eq!(color, has_color, "{text}");
    }
}

#[test]
fn in_a_pipe_the_live_view_is_lines() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let mut command = node.command(&["nodes", "--live"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..2 {
        let line = lines.next().unwrap().unwrap();
        assert!(line.ends_with("1 node up with 2 cores, 0 running, 0 queued"), "{line}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn progress_is_shown_on_a_terminal_only() {
    let cluster = TestCluster::new();
    let node = cluster.start("alpha", &[]);
    let words = ["submit", "--wait", "--quiet", "--array", "1-400", "--", "true"];
    let (code, text) = shown(on_terminal(&node, &words, &[]), "\u{0}");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("/400 ended"), "{text}");
    let piped = node.run(&words);
    piped.check_errors(0, "400 of 400");
    assert!(!piped.errors.contains("/400 ended"), "{}", piped.errors);
}
