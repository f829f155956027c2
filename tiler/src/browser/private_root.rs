//! A root directory for Chromium with only what it takes to run (mount_namespaces(7), pivot_root(2)): programs, libraries
//! and fonts, read-only; some devices; the processes of its own namespace; and a file system in memory for its profile. No
//! home folders, no configuration of services, no other program's files. It goes with the last process in it, so nothing of a
//! profile is left, even when the supervisor is killed.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::namespaces::step;

/// What is seen of the machine's files, where it exists. Programs of any distribution, Nix included; what the dynamic
/// linker and fontconfig read.
const SEEN: [&str; 17] = [
    "usr",
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "nix/store",
    "gnu/store",
    "etc/alternatives",
    "etc/fonts",
    "etc/ld.so.cache",
    "etc/ld.so.conf",
    "etc/ld.so.conf.d",
    "etc/localtime",
    "etc/nsswitch.conf",
    "var/cache/fontconfig",
];
const DEVICES: [&str; 5] = ["dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom"];
/// Where the new root is mounted before it becomes the root. Every system has it, and nothing is hidden by it for long.
const PLACE: &str = "/tmp";
/// Where the old root is meanwhile.
const OLD: &str = "old";

/// Moves the calling process into a new root, in which files may take so many bytes. `browser` is seen in it wherever it lies.
/// For the first process of a PID namespace, which it needs to mount `/proc`.
///
/// # Errors
/// The system refuses it, and which step.
pub(super) fn enter(browser: Option<&Path>, bytes: u64) -> io::Result<()> {
    let browser = browser.and_then(|browser| browser.canonicalize().ok());
    // What is mounted from here on is not seen outside.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| step("the mounts cannot be made private", error))?;
    let options = CString::new(format!("mode=755,size={bytes}"))?;
    mount("tmpfs", PLACE, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(|error| step("no file system in memory can be mounted", error))?;
    fs::create_dir(Path::new(PLACE).join(OLD))?;
    pivot_root(PLACE, Path::new(PLACE).join(OLD))
        .map_err(|error| step("the root cannot be changed", error))?;
    chdir("/")?;
    let old = Path::new("/").join(OLD);
    for path in SEEN {
        show(&old, Path::new(path), true).map_err(|error| step(path, error))?;
    }
    for path in DEVICES {
        show(&old, Path::new(path), false).map_err(|error| step(path, error))?;
    }
    if let Some(folder) =
        browser.as_deref().and_then(Path::parent).and_then(|folder| folder.strip_prefix("/").ok())
        && !Path::new("/").join(folder).exists()
    {
        show(&old, folder, true).map_err(|error| step("the browser's folder", error))?;
    }
    for folder in ["dev/shm", "tmp"] {
        DirBuilder::new().recursive(true).mode(0o777).create(Path::new("/").join(folder))?;
    }
    fs::create_dir("/proc")?;
    // Where the old root's /proc is partly covered, as in most containers, the kernel refuses this.
    mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
        .map_err(|error| step("/proc cannot be mounted", error))?;
    unmount(&old, UnmountFlags::DETACH).map_err(|error| step("the old root cannot be left", error))?;
    fs::remove_dir(&old)
}

/// Makes a file or folder of the old root seen at the same place in the new one.
fn show(old: &Path, path: &Path, read_only: bool) -> io::Result<()> {
    let (from, to): (PathBuf, PathBuf) = (old.join(path), Path::new("/").join(path));
    let Ok(metadata) = fs::symlink_metadata(&from) else { return Ok(()) };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if metadata.is_symlink() {
        return symlink(fs::read_link(&from)?, &to);
    }
    if metadata.is_dir() {
        fs::create_dir(&to)?;
    } else {
        File::create(&to)?;
    }
    mount_bind_recursive(&from, &to)?;
    if read_only {
        mount_remount(&to, MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | kept(&to)?, c"")?;
    }
    Ok(())
}

/// The bytes that files in the root take: the profile, and what processes share through `/dev/shm`.
pub(super) fn bytes_of_files() -> u64 {
    statvfs("/")
        .map_or(0, |system| system.f_blocks.saturating_sub(system.f_bfree).saturating_mul(system.f_frsize))
}

/// The flags of a mount that a user namespace may not take away (mount_namespaces(7)).
fn kept(path: &Path) -> io::Result<MountFlags> {
    const PAIRS: [(StatVfsMountFlags, MountFlags); 6] = [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let has = statvfs(path)?.f_flag;
    let mut kept = MountFlags::empty();
    for (flag, same) in PAIRS {
        if has.contains(flag) {
            kept |= same;
        }
    }
    if !has.intersects(StatVfsMountFlags::NOATIME | StatVfsMountFlags::RELATIME) {
        kept |= MountFlags::STRICTATIME;
    }
    Ok(kept)
}
