//! A root directory for Chromium with only what it needs to run (mount_namespaces(7), pivot_root(2)): programs,
//! libraries and fonts, read-only; some devices; the processes of its own namespace; and a file system in memory for
//! its profile. It has no home directories, no configuration of services, and no files of other programs. It disappears
//! with the last process in it, so no profile is left, even when the supervisor is killed.

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

/// The machine's files that are visible, if they exist: programs of any distribution, including Nix, and the files that
/// the dynamic linker and fontconfig read.
const VISIBLE: [&str; 17] = [
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
/// Mount point of the new root before it becomes the root. Every system has this directory.
const MOUNT_POINT: &str = "/tmp";
/// Mount point of the old root until it is unmounted.
const OLD: &str = "old";

/// Moves the calling process into a new root, whose files may take `bytes`. The directory of `browser` is visible in
/// it. Only the first process of a PID namespace can call this, because it mounts `/proc`.
///
/// # Errors
/// The step that the system refuses.
pub(super) fn enter(browser: Option<&Path>, bytes: u64) -> io::Result<()> {
    let browser = browser.and_then(|browser| browser.canonicalize().ok());
    // Mounts from here on are not visible outside.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| step("cannot make the mounts private", error))?;
    let options = CString::new(format!("mode=755,size={bytes}"))?;
    mount("tmpfs", MOUNT_POINT, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
        .map_err(|error| step("cannot mount a file system in memory", error))?;
    fs::create_dir(Path::new(MOUNT_POINT).join(OLD))?;
    pivot_root(MOUNT_POINT, Path::new(MOUNT_POINT).join(OLD))
        .map_err(|error| step("cannot change the root", error))?;
    chdir("/")?;
    let old = Path::new("/").join(OLD);
    for path in VISIBLE {
        show(&old, Path::new(path), true).map_err(|error| step(&format!("cannot mount {path}"), error))?;
    }
    for path in DEVICES {
        show(&old, Path::new(path), false).map_err(|error| step(&format!("cannot mount {path}"), error))?;
    }
    if let Some(folder) =
        browser.as_deref().and_then(Path::parent).and_then(|folder| folder.strip_prefix("/").ok())
        && !Path::new("/").join(folder).exists()
    {
        show(&old, folder, true).map_err(|error| step("cannot mount the browser's directory", error))?;
    }
    for folder in ["dev/shm", "tmp"] {
        DirBuilder::new().recursive(true).mode(0o777).create(Path::new("/").join(folder))?;
    }
    fs::create_dir("/proc")?;
    // The kernel refuses this if the old root's /proc is partly covered, as in most containers.
    mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)
        .map_err(|error| step("cannot mount /proc", error))?;
    unmount(&old, UnmountFlags::DETACH).map_err(|error| step("cannot leave the old root", error))?;
    fs::remove_dir(&old)
}

/// Makes a file or directory of the old root visible at the same path in the new one.
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

/// Returns the size of the files in the root, in bytes: the profile, and memory shared through `/dev/shm`.
pub(super) fn bytes_of_files() -> u64 {
    statvfs("/")
        .map_or(0, |system| system.f_blocks.saturating_sub(system.f_bfree).saturating_mul(system.f_frsize))
}

/// Returns the flags of a mount that a user namespace is not allowed to clear (mount_namespaces(7)).
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
