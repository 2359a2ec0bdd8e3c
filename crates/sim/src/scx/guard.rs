//! Calls into a scheduler's code that end after a number of steps, also where the code would not.
//!
//! The kernel's verifier refuses a program that may not end; the simulator has no verifier. So every basic block of a scheduler counts
//! itself (`guard.c`), and `longjmp` leaves a callback that executes more than [`MOST_BLOCKS`] of them. The limit is a count and not a
//! time, so a run ends in the same way on every machine.

use std::ffi::{c_int, c_void};

/// Basic blocks that a callback may execute: eight for each of the 2^23 turns that the kernel allows a `bpf_loop` (`BPF_MAX_LOOPS`).
/// This number keeps a CPU busy for some 50 ms.
pub(super) const MOST_BLOCKS: u64 = 1 << 26;

/// `struct swtch_guard` of guard.c.
#[repr(C)]
#[derive(Debug)]
pub(super) struct GuardState {
    left: u64,
    place: *mut c_void,
    instructions: u64,
}

type Guarded = unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void) -> c_int;

/// The guard that an object was compiled with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    state: *mut GuardState,
    guarded: Guarded,
}

/// A call and its result, behind a pointer that C passes through.
struct Call<F, R> {
    function: F,
    result: Option<R>,
}

impl Guard {
    /// The guard of a loaded object, by the addresses of `swtch_guard` and `swtch_guarded`.
    ///
    /// # Safety
    /// They must be those of guard.c, and stay loaded as long as the guard is used.
    pub(super) unsafe fn new(state: *mut u8, guarded: *mut u8) -> Self {
        // SAFETY: the caller's promise; the types are those of guard.c.
        let guarded = unsafe { std::mem::transmute::<*mut u8, Guarded>(guarded) };
        Self { state: state.cast(), guarded }
    }

    /// The instructions of the basic blocks that the last call executed which was not made out of another one.
    pub(super) fn executed(self) -> u64 {
        // SAFETY: the state is the object's own, and only its code and this use it, on one thread at a time.
        unsafe { (*self.state).instructions }
    }

    /// Calls the scheduler. `None` if the call was ended because it went on for too long.
    ///
    /// # Safety
    /// `function` calls one function of the object that this guard belongs to. It is `Copy`: nothing in it or in the functions between
    /// here and that function has a destructor, which `longjmp` would leave out.
    pub(super) unsafe fn call<R: Copy, F: Fn() -> R + Copy>(self, function: F) -> Option<R> {
        unsafe extern "C" fn body<R: Copy, F: Fn() -> R + Copy>(call: *mut c_void) {
            let call: *mut Call<F, R> = call.cast();
            // SAFETY: from `call` below, where it lives and is not used meanwhile.
            unsafe { (*call).result = Some(((*call).function)()) };
        }
        let mut call = Call { function, result: None };
        // SAFETY: the state is the object's own, and only its code and this use it, on one thread at a time. Frames that `longjmp` leaves
        // are the scheduler's and `body`'s, which have no destructors (Rust RFC 2945: plain old frames).
        let ended = unsafe {
            // A call out of another one has what that one has left.
            if (*self.state).place.is_null() {
                (*self.state).left = MOST_BLOCKS;
                (*self.state).instructions = 0;
            }
            (self.guarded)(body::<R, F>, (&raw mut call).cast())
        };
        // A call out of this one may have been ended, with no block after it to end this one.
        // SAFETY: as above.
        let left = unsafe { (*self.state).left };
        if ended == 0 && left > 0 { call.result } else { None }
    }
}
