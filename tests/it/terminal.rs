//! Terminal sessions: programs run under `script` (util-linux), keys are typed, and the terminal output is read.
//! Machines without `script` or one of the shells skip these tests and say so.

use crate::tatter::{BINARY, root};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A session that takes longer fails.
const PATIENCE: Duration = Duration::from_secs(40);

/// Whether a program is installed; prints a message if not.
pub fn is_installed(program: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(program).is_file());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// A program with a separate terminal.
pub struct Session {
    child: Child,
    keys: Option<ChildStdin>,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Session {
    /// Runs an `sh` command in that directory, on a terminal of that size; `tatter` is on PATH.
    pub fn start(command: &str, directory: &Path, (columns, rows): (u16, u16)) -> Session {
        let mut path = std::ffi::OsString::from(Path::new(BINARY).parent().unwrap());
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut child = Command::new("script")
            .args(["-qefc", &format!("stty rows {rows} cols {columns}; {command}"), "/dev/null"])
            .current_dir(directory)
            .env("PATH", path)
            .env("FIXTURES", root().join("fixtures"))
            .env("HOME", directory)
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env("SHELL", "/bin/sh")
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (keys, mut output) = (child.stdin.take(), child.stdout.take().unwrap());
        let shown = Arc::new(Mutex::new(Vec::new()));
        let all = shown.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n) = output.read(&mut buffer)
                && n > 0
            {
                all.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        Session { child, keys, shown, reader: Some(reader) }
    }

    /// The terminal output so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Types keys.
    pub fn type_keys(&mut self, keys: &str) {
        let keyboard = self.keys.as_mut().unwrap();
        keyboard.write_all(keys.as_bytes()).and_then(|()| keyboard.flush()).unwrap();
    }

    /// Waits until a condition holds.
    pub fn wait_for(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let started = Instant::now();
        while !holds(&self.shown()) {
            assert!(started.elapsed() < PATIENCE, "no {what} in time; the terminal shows:\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the end, and returns the terminal output and exit status.
    pub fn end(mut self) -> (String, i32) {
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.code().unwrap_or(-1),
                None if started.elapsed() > PATIENCE => {
                    let _ = self.child.kill();
                    panic!("it does not end; the terminal shows:\n{}", self.shown());
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        self.keys = None;
        let _ = self.reader.take().map(std::thread::JoinHandle::join);
        (self.shown(), status)
    }
}

/// The output of a command on a terminal with that many columns.
pub fn on_terminal(command: &str, directory: &Path, columns: u16) -> (String, i32) {
    Session::start(command, directory, (columns, 24)).end()
}

/// Text without escape sequences and carriage returns.
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.next_if_eq(&'[').is_some() => {
                chars.find(|c| c.is_ascii_alphabetic());
            }
            '\u{1b}' | '\r' => {}
            c => out.push(c),
        }
    }
    out
}
