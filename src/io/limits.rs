//! The limits on the number of open files and on memory.

use crate::error::Error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// EMFILE, which [`std::io::ErrorKind`] does not name.
pub const TOO_MANY_OPEN_FILES: i32 = 24;

/// Raises the limit on the number of open files as far as the system allows: a directory of shards can have more files than
/// the usual 1024.
pub fn allow_many_open_files() {
    /// The most that macOS allows where it states no maximum.
    const MACOS: u64 = 10_240;
    let Rlimit { current: Some(current), maximum } = getrlimit(Resource::Nofile) else { return };
    for most in [maximum, Some(MACOS)] {
        let is_more = most.is_none_or(|most| most > current && maximum.is_none_or(|maximum| most <= maximum));
        // Where it cannot be raised, the error for a file that cannot be opened names the limit.
        if is_more && setrlimit(Resource::Nofile, Rlimit { current: most, maximum }).is_ok() {
            return;
        }
    }
}

/// Adds advice to the error for a file that cannot be opened or created because of the limit.
pub fn advised(error: Error, source: &std::io::Error) -> Error {
    match source.raw_os_error() {
        Some(TOO_MANY_OPEN_FILES) => error.help("use fewer files, or raise the limit on open files: ulimit -n 100000"),
        _ => error,
    }
}

/// The bytes of memory that this process may take: those of the machine, of its cgroups, or of `ulimit -v`, whichever are fewest.
pub fn available_memory() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let total = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemTotal:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let of_groups = limit_files(&groups).into_iter().filter_map(|path| read(&path)?.trim().parse::<u64>().ok());
    let limits = read("/proc/self/limits").unwrap_or_default();
    let address_space = limits.lines().find_map(|line| line.strip_prefix("Max address space"));
    let own = address_space.and_then(|words| words.split_whitespace().next()?.parse().ok());
    total.into_iter().chain(of_groups).chain(own).min().unwrap_or(4 << 30)
}

/// The files that may limit memory, given /proc/self/cgroup: those of the process's group and of all groups around it. Inside a container,
/// only the outermost may be there.
fn limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let groups = std::iter::successors(Some(path.trim_end_matches('/')), |path| path.rfind('/').map(|at| &path[..at]));
        files.extend(groups.map(|path| format!("{root}{path}/{file}")));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_those_around_them_limit_memory() {
        for (groups, files) in [
            ("0::/", "/sys/fs/cgroup/memory.max"),
            (
                "0::/a.slice/b.scope\n",
                "/sys/fs/cgroup/a.slice/b.scope/memory.max /sys/fs/cgroup/a.slice/memory.max /sys/fs/cgroup/memory.max",
            ),
            ("5:cpu:/x\n4:hugetlb,memory:/d", "/sys/fs/cgroup/memory/d/memory.limit_in_bytes /sys/fs/cgroup/memory/memory.limit_in_bytes"),
            ("damaged", ""),
        ] {
            assert_eq!(limit_files(groups).join(" "), files, "{groups}");
        }
    }
}
