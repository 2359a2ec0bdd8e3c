//! Cgroups for tests, and what runs in them.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A cgroup for a test, in the hierarchy that divides CPU time. It is gone when this is dropped.
pub struct Group {
    pub folder: PathBuf,
    pub path: String,
}

impl Group {
    /// `name` may end like a unit of systemd's, such as in `.slice`.
    pub fn new(name: &str) -> Option<Self> {
        let (stem, ending) = name.find('.').map_or((name, ""), |dot| name.split_at(dot));
        let path = format!("/swtch-test-{stem}-{}{ending}", std::process::id());
        let mounts = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let folders = mounts.iter().map(|mount| PathBuf::from(format!("{mount}{path}")));
        let folder = folders.filter(|folder| fs::create_dir(folder).is_ok()).find(|folder| {
            let is_group = folder.join("cgroup.procs").exists();
            is_group || fs::remove_dir(folder).is_err()
        })?;
        Some(Self { folder, path })
    }

    /// One of the same name in another hierarchy.
    pub fn elsewhere(&self, mount: &str) -> Option<Self> {
        let folder = PathBuf::from(format!("{mount}{}", self.path));
        fs::create_dir(&folder).ok()?;
        Some(Self { folder, path: self.path.clone() })
    }

    /// One below it.
    pub fn below(&self, name: &str) -> Option<Self> {
        let folder = self.folder.join(name);
        fs::create_dir(&folder).ok()?;
        Some(Self { folder, path: format!("{}/{name}", self.path) })
    }

    /// Gives it a tenth of a CPU; whether that can be.
    pub fn limit(&self) -> bool {
        self.quota_us(10_000, 100_000)
    }

    /// Gives it so much of each period; whether that can be.
    pub fn quota_us(&self, quota: u32, period: u32) -> bool {
        self.write("cpu.max", &format!("{quota} {period}"))
            || self.write("cpu.cfs_period_us", &period.to_string())
                && self.write("cpu.cfs_quota_us", &quota.to_string())
    }

    /// Gives it the most weight among other groups; whether that can be.
    pub fn comes_first(&self) -> bool {
        self.write("cpu.weight", "10000") || self.write("cpu.shares", "262144")
    }

    fn write(&self, file: &str, text: &str) -> bool {
        let path = self.folder.join(file);
        path.exists() && fs::write(path, text).is_ok()
    }

    /// A shell that goes into the group and then follows orders.
    pub fn script(&self, then: &str) -> [String; 3] {
        let script = format!("echo $$ > {}/cgroup.procs && {then}", self.folder.display());
        ["sh".to_owned(), "-c".to_owned(), script]
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The kernel may still be letting go of a task.
        for _ in 0..200 {
            if fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} could not be removed", self.folder.display());
    }
}

/// Is killed and collected when it goes out of sight.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Computes without end in all of these groups, each of another hierarchy.
pub fn spin(groups: &[&Group]) -> Running {
    let into: Vec<String> =
        groups.iter().map(|group| format!("echo $$ > {}/cgroup.procs && ", group.folder.display())).collect();
    let script = format!("{}while :; do :; done", into.concat());
    Running(Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn().unwrap())
}
