/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Nothing runs at the same time as a scheduler's function in the simulator: a lock is always free. */
#ifndef SWTCH_ARENA_SPIN_LOCK_H
#define SWTCH_ARENA_SPIN_LOCK_H

#include "swtch/helpers.h"

typedef struct {
	u32 held;
} arena_spinlock_t;

/* Nothing waits, so the library's storage for waiters has no use. */
struct arena_qnode {
	u32 unused;
};
enum { _Q_MAX_CPUS = 1, _Q_MAX_NODES = 1 };
extern struct arena_qnode qnodes[_Q_MAX_CPUS][_Q_MAX_NODES];

static inline int arena_spin_lock(arena_spinlock_t *lock) { return (int)(lock->held = 0); }
static inline void arena_spin_unlock(arena_spinlock_t *lock) { lock->held = 0; }
#define arena_spin_lock_irqsave(lock, flags) ((flags) = 0, arena_spin_lock(lock))
#define arena_spin_unlock_irqrestore(lock, flags) ((void)(flags), arena_spin_unlock(lock))

#endif
