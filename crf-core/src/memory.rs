//! Memory that the process may still use, and the check before a large table is taken.
//!
//! An allocation that fails aborts the program, and one that the system grants but does not have
//! ends in a kill. So whatever grows with a product of sizes (labels², expansions, lists of many
//! answers) is estimated first, and [`require_memory`] refuses it with both numbers.
//!
//! The answer is read from `/proc` and `/sys/fs/cgroup`; elsewhere nothing is known and nothing is
//! refused.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};

/// Estimates below this many bytes are granted unseen, so that small work reads no files.
const GRANTED: u64 = 1 << 26;

/// Returns an error if `what` needs more bytes than the process may still use.
///
/// The message names both numbers and ends with `advice`: settings or data that need less. The
/// estimate is a float, so that a product of sizes cannot overflow.
pub fn require_memory(bytes: f64, what: &str, advice: &str) -> Result<()> {
    if bytes < GRANTED as f64 {
        return Ok(());
    }
    match available_memory() {
        Some(available) if bytes > available as f64 => Err(Error::OutOfMemory {
            what: what.to_owned(),
            need: readable_size(bytes),
            available: readable_size(available as f64),
            advice: advice.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Number of bytes that the process may still allocate: the least of the free memory of the
/// machine, the rest of its control groups' limits and the rest of `ulimit -v`. `None` where the
/// system does not tell.
pub fn available_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| field(&text, "MemAvailable:"));
    let limits = [machine, control_group_rest(Path::new("/sys/fs/cgroup")), address_space_rest()];
    limits.into_iter().flatten().min()
}

/// Rest of the limit on the address space (`ulimit -v`), if there is one.
fn address_space_rest() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = field(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(limit.saturating_sub(used))
}

/// Least rest of the memory limits of the process's control group and the groups around it, of
/// both versions of the interface.
fn control_group_rest(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let rests = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (folder, limit, usage) = match controllers {
            "" => (root.to_owned(), "memory.max", "memory.current"),
            _ => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
        };
        let has_memory = controllers.is_empty() || controllers.split(',').any(|name| name == "memory");
        // Inside of a container the path is that of the host, and only the root can be read.
        Path::new(path)
            .ancestors()
            .filter(move |_| has_memory)
            .filter_map(move |group| {
                let group = folder.join(group.strip_prefix("/").unwrap_or(group));
                let number =
                    |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
                let (limit, used) = (number(limit)?, number(usage)?);
                // Pages of files count as used, and are given back when memory is needed.
                let cached = fs::read_to_string(group.join("memory.stat")).ok().and_then(|text| {
                    text.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse().ok())
                });
                Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
            })
            .collect::<Vec<_>>()
    });
    rests.min()
}

/// Number of bytes on the line of `text` that begins with `name`; the files of `/proc` give kB.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Number of bytes in the largest unit that leaves at least one, such as `3.2 GB`.
pub fn readable_size(bytes: f64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match units.into_iter().find(|&(_, size)| bytes >= size) {
        Some((unit, size)) => format!("{:.1} {unit}", bytes / size),
        None => format!("{bytes:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused_with_both_numbers() {
        let result = require_memory(1e18, "a table of 354,000,000² pairs", "use fewer labels");
        if cfg!(target_os = "linux") {
            let message = result.expect_err("an exabyte").to_string();
            assert!(message.contains("1000000.0 TB") && message.ends_with("use fewer labels"), "{message}");
        }
        require_memory(1e6, "a megabyte", "").expect("a megabyte");
    }

    #[test]
    fn sizes_are_read_with_a_unit() {
        assert_eq!(readable_size(3.25e9), "3.2 GB");
        assert_eq!(readable_size(999.0), "999 bytes");
        assert_eq!(field("MemTotal: 5 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12 * 1024));
        assert_eq!(field("VmSize:\t 7 kB", "VmPeak:"), None);
    }

    #[test]
    fn the_machine_tells_what_is_free() {
        if cfg!(target_os = "linux") {
            assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}
