//! Options made ready for a run: limits that depend on the machine, arrays that are read from files.

use crate::error::{Error, Kind, Result};
use crate::formats;
use crate::options::{Options, named};
use crate::schema::Type;
use crate::tensor::Tensor;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The options with everything that is known before the inputs are opened.
///
/// # Errors
/// An option that does not hold, or an array that cannot be read.
pub fn setup(mut options: Options) -> Result<Arc<Options>> {
    options.max_memory.get_or_insert_with(memory_limit);
    options.arrays = Arc::new(constant_arrays(&options)?);
    Ok(Arc::new(options))
}

/// How many workers a run has.
///
/// # Errors
/// `--threads 0`.
pub fn threads(options: &Options) -> Result<usize> {
    match options.threads {
        Some(0) => Err(Error::usage("--threads 0: expected at least 1")),
        Some(threads) => Ok(threads.min(1024)),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// The arrays of `--with NAME=FILE`.
fn constant_arrays(options: &Options) -> Result<BTreeMap<String, (Type, Tensor)>> {
    let read = |text: &String| {
        let (name, file) = named(text, "--with", "FILE")?;
        let array = formats::constant(file).map_err(|e| if e.kind() == Kind::Data { e.with_kind(Kind::Usage) } else { e });
        Ok((name.to_owned(), array.map_err(|e| e.help("as --with asks"))?))
    };
    options.with.iter().map(read).collect()
}

/// 75% of what this process may use: the machine's memory, or its control group's.
fn memory_limit() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let total = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemTotal:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .filter_map(|path| read(path)?.trim().parse::<u64>().ok())
        .min();
    let limit = total.into_iter().chain(group).min().unwrap_or(4 << 30);
    limit / 4 * 3
}
