/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ends a callback that runs too long; and variables of the kernel. The compiler calls __sanitizer_cov_trace_pc in every basic block of a scheduler
 * (-fsanitize-coverage=trace-pc), and block_sizes.rs adds the number of the block's instructions. Blocks are counted, so the limit is the same on
 * every machine. This file is compiled without that option. guard.rs has the same struct.
 */

/* At least as large and as aligned as the C libraries' jmp_buf: glibc has 200 bytes on x86-64 and 312 on aarch64, musl less. */
struct swtch_place {
	unsigned long words[64];
} __attribute__((aligned(16)));

int _setjmp(struct swtch_place *place) __attribute__((returns_twice));
void longjmp(struct swtch_place *place, int value) __attribute__((noreturn));

struct swtch_guard {
	/* Blocks that may still be executed. */
	unsigned long left;
	/* Where the callback was called from; null outside of a guarded call. */
	struct swtch_place *place;
	/* Of the blocks that were executed. */
	unsigned long instructions;
};

struct swtch_guard swtch_guard;

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(unsigned int instructions)
{
	if (__builtin_expect(swtch_guard.left == 0, 0)) {
		if (swtch_guard.place)
			longjmp(swtch_guard.place, 1);
		return;
	}
	swtch_guard.left--;
	swtch_guard.instructions += instructions;
}

/*
 * Calls body(data), which calls the scheduler. 0 when it returned, 1 when it was ended. The frames that longjmp leaves are the scheduler's
 * and body's own, neither of which has anything to clean up.
 */
int swtch_guarded(void (*body)(void *), void *data)
{
	struct swtch_place here, *volatile before = swtch_guard.place;
	int ended = _setjmp(&here);

	if (!ended) {
		swtch_guard.place = &here;
		body(data);
	}
	swtch_guard.place = before;
	return ended;
}

/*
 * Variables of the kernel that schedulers take the address of. Here, because sources declare them with types of their own. CPUs have no
 * policy of frequencies.
 */
void *cpufreq_cpu_data[8192];
