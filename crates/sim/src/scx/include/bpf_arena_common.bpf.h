/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arenas are memory as any other in the simulator. */
#ifndef SWTCH_ARENA_COMMON_H
#define SWTCH_ARENA_COMMON_H

#include "swtch/helpers.h"

#ifndef PAGE_SIZE
#define PAGE_SIZE __PAGE_SIZE
#endif

/* Numbers of CPUs by topology (cids) are not simulated: this is what the library does without them. */
#define cmask_distribute_init(map) 0

#endif
