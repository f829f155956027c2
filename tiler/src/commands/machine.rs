//! The number of jobs that a machine carries.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use edgezoom_codecs::machine_memory;

/// The machine, as far as this program may use it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    cores: NonZeroUsize,
    /// Bytes.
    memory: u64,
}

impl Machine {
    /// Returns this machine.
    pub(super) fn this() -> Self {
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { cores, memory: machine_memory().unwrap_or_default() }
    }

    /// Returns the number of jobs that it carries: two for each core, because half of a job's time is a download, each
    /// with a renderer's memory.
    pub(super) fn jobs(self, renderer: u64) -> NonZeroUsize {
        self.cores.saturating_mul(NonZeroUsize::MIN.saturating_add(1)).min(self.fitting(renderer))
    }

    /// Returns the number of web pages that may be open at once, of this number of jobs: each takes a core, and the
    /// memory of a browser and its renderer. A place is left for a picture, which takes less.
    pub(super) fn pages(self, jobs: NonZeroUsize, renderer: u64, page: u64) -> NonZeroUsize {
        let others = NonZeroUsize::new(jobs.get() - 1).unwrap_or(NonZeroUsize::MIN);
        let left = Self { memory: self.memory.saturating_sub(renderer), ..self };
        others.min(self.cores).min(left.fitting(page.saturating_add(renderer)))
    }

    /// Returns how often some bytes fit into the memory; at least 1.
    fn fitting(self, bytes: u64) -> NonZeroUsize {
        let number = usize::try_from(self.memory / bytes.max(1)).unwrap_or(usize::MAX);
        NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_pages_are_as_many_as_cores_and_memory_carry() {
        let number = |number| NonZeroUsize::new(number).unwrap();
        let machine = |cores, memory: u64| Machine { cores: number(cores), memory: memory << 30 };
        let (renderer, page) = (1 << 30, 2 << 30);
        let jobs = |cores, memory| machine(cores, memory).jobs(renderer).get();
        assert_eq!((jobs(4, 12), jobs(64, 12), jobs(1, 64), jobs(1, 0)), (8, 12, 2, 1));
        let pages = |jobs, cores, memory| machine(cores, memory).pages(number(jobs), renderer, page).get();
        assert_eq!(pages(8, 4, 12), 3, "one of Cloudflare's largest containers");
        assert_eq!(pages(32, 8, 64), 8);
        assert_eq!(pages(32, 64, 25), 8);
        assert_eq!(pages(4, 64, 64), 3, "a picture finds a place");
        assert_eq!((pages(4, 8, 1), pages(1, 8, 64)), (1, 1));
    }
}
