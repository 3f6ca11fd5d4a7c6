//! Runs the program as a shell does.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// The program under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_tatter");

/// The root of the package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a run left behind.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Outcome {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Runs `sh -c line` in a directory, with `tatter` on PATH and `$FIXTURES` set.
pub fn shell(line: &str, directory: &Path, stdin: &[u8]) -> Outcome {
    let mut path = std::ffi::OsString::from(Path::new(BINARY).parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(directory).env("PATH", path).env("FIXTURES", root().join("fixtures"));
    run(command, stdin)
}

/// Runs the program with these arguments.
pub fn tatter<S: AsRef<std::ffi::OsStr>>(arguments: &[S], stdin: &[u8]) -> Outcome {
    let mut command = Command::new(BINARY);
    command.args(arguments);
    run(command, stdin)
}

/// A run that takes longer is killed: it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(mut command: Command, stdin: &[u8]) -> Outcome {
    command.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (mut output, mut errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (done, both_done) = mpsc::channel();
    std::thread::scope(|scope| {
        // A program that ends without reading its input closes the pipe: no matter.
        scope.spawn(move || drop(input.write_all(stdin)));
        let stdout_done = done.clone();
        let stdout = scope.spawn(move || {
            let mut bytes = Vec::new();
            output.read_to_end(&mut bytes).unwrap();
            let _ = stdout_done.send(());
            bytes
        });
        let stderr = scope.spawn(move || {
            let mut bytes = Vec::new();
            errors.read_to_end(&mut bytes).unwrap();
            let _ = done.send(());
            bytes
        });
        let late = (0..2).any(|_| both_done.recv_timeout(PATIENCE).is_err());
        if late {
            child.kill().unwrap();
        }
        let mut stderr = String::from_utf8_lossy(&stderr.join().unwrap()).into_owned();
        if late {
            stderr.push_str("killed: it ran for too long\n");
        }
        Outcome { status: child.wait().unwrap().code().unwrap_or(-1), stdout: stdout.join().unwrap(), stderr }
    })
}

/// Calls `work` with every item, on two threads; gives the results in the order of the items.
pub fn parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < items.len()) {
                    *results[i].lock().unwrap() = Some(work(&items[i]));
                }
            });
        }
    });
    results.into_iter().map(|r| r.into_inner().unwrap().unwrap()).collect()
}

/// All files below a directory with this extension, sorted.
pub fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
