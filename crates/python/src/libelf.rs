//! libelf's record of its last error, in place of its own.
//!
//! libbpf needs libelf, which is linked in. Distributions compile its static library for programs. Its last error is in thread-local
//! storage that no shared library can have, and a Python module is one. These are all the functions of that file (elfutils,
//! libelf/elf_error.c).

use std::cell::Cell;
use std::ffi::{c_char, c_int};

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

// SAFETY: the functions have libelf's names and types (libelf.h, libelfP.h). Nothing else has those names: the linker takes a library's
// file only for symbols that are still missing, and none of that file is.
#[unsafe(no_mangle)]
extern "C" fn __libelf_seterrno(error: c_int) {
    LAST.set(error);
}

/// The last error's number, which is forgotten with it.
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn elf_errno() -> c_int {
    LAST.replace(0)
}

/// What an error is in words: libbpf writes them into its messages.
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn elf_errmsg(_error: c_int) -> *const c_char {
    c"libelf refused it".as_ptr()
}
