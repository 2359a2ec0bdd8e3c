/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs that walk stacks share with the recorder (src/stacks/programs.rs). */
#ifndef SWTCH_STACKS_H
#define SWTCH_STACKS_H

enum stack_reason {
	STACK_VOLUNTARY = 1,
	STACK_INVOLUNTARY = 2,
	/* the stack of the task that wakes another */
	STACK_WAKE = 3,
};

/* Powers of two: most frames of a program's stack, of the kernel's, and most bytes of a program's stack that are copied. */
#define USER_FRAMES 128
#define KERNEL_FRAMES 64
#define COPIED_BYTES 8192

/* One row: tasks of one process and one name, with one stack and one reason. */
struct stack_key {
	u64 hash; /* of the frames as they were walked */
	u32 pid;
	u32 reason;
	char comm[16];
};

struct stack_counts {
	u64 switches;
	u64 off_cpu_ns; /* from the switch until the task had a CPU again, waiting for one included */
	u64 wait_ns;	/* of it, ready and waiting for a CPU */
	u64 check;	/* another hash of the frames */
};

/* How the caller of an instruction is found. */
enum rule_base {
	RULE_FRAME_POINTER = 1,
	RULE_STACK_POINTER = 2,
	RULE_BASE_POINTER = 3,
	RULE_END = 4,
};

/* As .eh_frame says it: where the frame begins (CFA), relative to a register, and where in it the caller's base pointer was saved. */
struct rule {
	int base;
	int cfa;
	int saved; /* of the base pointer, from the CFA; 0 when it is still in its register */
};

struct rule_key {
	u64 ip;
	u64 pid;
};

/* A stack that is seen for the first time: its frames, and, where a rule was missing, a copy of the program's stack. */
struct stack_record {
	struct stack_key key;
	u64 at_ns;
	u64 ip, sp, bp;
	u32 user;	/* frames of the program, the innermost first; the kernel's follow them */
	u32 kernel;
	u32 copied;	/* bytes of the program's stack, from sp on; they follow the frames */
	u32 kernel_thread;
	u64 frames[USER_FRAMES + KERNEL_FRAMES];
	u8 copy[COPIED_BYTES];
};

/* A task that is away from the CPU. */
struct away {
	u64 out_ns;
	u64 woken_ns;
	struct stack_key key;
	struct stack_key waker;
};

struct stack_losses {
	u64 full;	/* the table of stacks was full */
	u64 ring;	/* the ring of new stacks was full */
	u64 storage;	/* the kernel had no storage for a task, or none at this moment */
	u64 collided;	/* counted with another stack of the same hash */
	/* stacks of which a rule was missing: those of the current stretch of time, and when it began */
	u64 unsettled;
	u64 since_ns;
};

/* In a stretch of time, this number of stacks a CPU at most are told apart by what lies on them, for lack of rules. */
#define STRETCH_NS 10000000
#define UNSETTLED 64
#define TOLD_APART_BYTES 256

#endif
