//! Work that is spread over threads: the tiles of a picture that are decoded independently of each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{iter, thread};

use crate::SourceError;

/// Calls `work` for each number below `count`, on as many threads as given, and returns the results in order.
///
/// # Errors
/// One of those that occurred. The rest of the work is not begun then.
pub fn in_parallel<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, SourceError> + Sync,
) -> Result<Vec<T>, SourceError> {
    if threads.min(count) <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<T>>> = Mutex::new(iter::repeat_with(|| None).take(count).collect());
    let failure = Mutex::new(None);
    let run = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            match work(index) {
                Ok(result) => {
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(slot) = results.get_mut(index) {
                        *slot = Some(result);
                    }
                }
                Err(error) => {
                    failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    next.store(count, Ordering::Relaxed);
                }
            }
        }
    };
    // A panic in one of the threads goes on here when all of them have ended.
    thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            // With fewer threads than hoped for the work is still done.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => {
            Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_from_any_number_of_threads() {
        for threads in [0, 1, 3, 100] {
            let squares = in_parallel(20, threads, |number| Ok(number * number)).unwrap();
            assert_eq!(squares, (0..20).map(|number| number * number).collect::<Vec<_>>());
        }
        assert!(in_parallel(0, 4, Ok).unwrap().is_empty());
    }

    #[test]
    fn an_error_ends_the_work() {
        let result = in_parallel(1000, 2, |number| match number {
            3 => Err(SourceError::Empty),
            _ => Ok(number),
        });
        assert!(matches!(result, Err(SourceError::Empty)));
    }
}
