//! Many runs at once; none of them knows of it.

use anyhow::Result;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What `run` makes of each item, in the order of the items whatever the number of threads.
///
/// # Errors
/// The first error in that order.
pub(crate) fn map<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    run: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let results: Vec<Mutex<Option<Result<R>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    // Runs take very different times: a free thread takes the next.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(place) =
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|place| *place < items.len())
        {
            let result = run(&items[place]);
            *results[place].lock().expect("no thread panics with it") = Some(result);
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(work)).collect();
        work();
        for helper in helpers {
            helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    let taken = |result: Mutex<Option<Result<R>>>| {
        result.into_inner().expect("no thread panics with it").expect("all have been run")
    };
    results.into_iter().map(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_the_first_error_wins() {
        let items: Vec<u32> = (0..100).collect();
        for threads in [1, 3, 200] {
            let doubled = map(threads, &items, |item| Ok(2 * item)).unwrap();
            assert!(doubled.iter().zip(&items).all(|(two, one)| *two == 2 * one));
            let error =
                map(threads, &items, |item| if *item > 40 { anyhow::bail!("{item}") } else { Ok(()) });
            assert_eq!(error.unwrap_err().to_string(), "41");
        }
    }
}
