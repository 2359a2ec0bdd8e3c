/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a task that lost its CPU worked, or waited for another task on it.
 *
 * A loop that waits has an instruction that tells the CPU so: PAUSE, TPAUSE or UMWAIT on x86; YIELD, WFE or ISB on Arm; PAUSE on RISC-V. Those of ggml,
 * libgomp, libomp, ONNX Runtime, Go, Java's onSpinWait and Rust's spin_loop have. They take most of the loop's time, so a task that
 * is interrupted in such a loop is near one. No symbols are needed.
 */
#ifndef SWTCH_SPINNING_H
#define SWTCH_SPINNING_H

/* Code on either side of the instruction that was next. */
#define NEAR_BYTES 32

#if defined(__TARGET_ARCH_arm64)
#define NR_SCHED_YIELD 124
#define YIELD 0xd503203f
#define WFE 0xd503205f
#define ISB 0xd5033fdf

static __always_inline bool has_spin_hint(const u64 *code)
{
	const u32 *words = (const u32 *)code;

	for (u32 index = 0; index < 2 * NEAR_BYTES / 4; index++) {
		if (words[index] == YIELD || words[index] == WFE || words[index] == ISB)
			return true;
	}
	return false;
}
#elif defined(__TARGET_ARCH_riscv)
#define NR_SCHED_YIELD 124
/* What `cause` holds in a system call (arch/riscv/include/asm/csr.h). */
#define EXC_SYSCALL 8

/* fence w, 0: 0x0100000f, at any even address. */
static __always_inline bool has_spin_hint(const u64 *code)
{
	const u16 *halves = (const u16 *)code;

	for (u32 index = 0; index < 2 * NEAR_BYTES / 2 - 1; index++) {
		if (halves[index] == 0x000f && halves[index + 1] == 0x0100)
			return true;
	}
	return false;
}
#else
#define NR_SCHED_YIELD 24

/* Eight bytes of this value. */
#define EIGHT(byte) (0x0101010101010101ull * (byte))

/* The highest bit of each byte that is 0, and no other bit. */
static __always_inline u64 zeros(u64 bytes)
{
	return ~(((bytes & EIGHT(0x7f)) + EIGHT(0x7f)) | bytes | EIGHT(0x7f));
}

/* Where each byte is that value, moved on by `bytes`; `before` is what the eight bytes before had. */
#define MOVED(here, before, bytes) ((here) << 8 * (bytes) | (before) >> (64 - 8 * (bytes)))

/* Eight bytes at a time and without a branch: the kernel checks each path through a program, and would take long for a loop with branches. */
static __always_inline bool has_spin_hint(const u64 *code)
{
	u64 found = 0, rep_before = 0, prefix_before = 0, escape_before = 0, group_before = 0;

	for (u32 index = 0; index < 2 * NEAR_BYTES / 8; index++) {
		u64 bytes = code[index];
		u64 rep = zeros(bytes ^ EIGHT(0xf3)), prefix = zeros(bytes ^ EIGHT(0x66)) | zeros(bytes ^ EIGHT(0xf2));
		u64 escape = zeros(bytes ^ EIGHT(0x0f)), group = zeros(bytes ^ EIGHT(0xae));

		/* pause: f3 90 */
		found |= MOVED(rep, rep_before, 1) & zeros(bytes ^ EIGHT(0x90));
		/* tpause and umwait: 66 or f2, 0f ae, and f0 to f7 for the register */
		found |= MOVED(prefix, prefix_before, 3) & MOVED(escape, escape_before, 2) & MOVED(group, group_before, 1) &
			 zeros((bytes & EIGHT(0xf8)) ^ EIGHT(0xf0));
		rep_before = rep;
		prefix_before = prefix;
		escape_before = escape;
		group_before = group;
	}
	return found;
}
#endif

/* How a task that could go on waited on its CPU; 0 where it worked. */
static __always_inline u16 spin_kind(struct task_struct *task)
{
	u64 code[2 * NEAR_BYTES / 8] = {};
	struct pt_regs *regs;
	u64 ip;
	int call;

	/* Linux 5.15 */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return 0;
	/* No look at `task->mm`: for each pointer behind a task the kernel's check looks through all of its types by name, for milliseconds. */
	if (task->flags & PF_KTHREAD)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_arm64)
	ip = BPF_CORE_READ(regs, user_regs.pc);
	call = BPF_CORE_READ(regs, syscallno);
#elif defined(__TARGET_ARCH_riscv)
	ip = BPF_CORE_READ(regs, epc);
	call = BPF_CORE_READ(regs, cause) == EXC_SYSCALL ? (int)BPF_CORE_READ(regs, a7) : -1;
#else
	ip = BPF_CORE_READ(regs, ip);
	call = BPF_CORE_READ(regs, orig_ax);
#endif
	if (call == NR_SCHED_YIELD)
		return SPIN_YIELD;
	/* In another system call it works. */
	if (call >= 0)
		return 0;
	if (bpf_probe_read_user(code, sizeof(code), (void *)(ip - NEAR_BYTES)))
		return 0;
	return has_spin_hint(code) ? SPIN_LOOP : 0;
}

#endif
