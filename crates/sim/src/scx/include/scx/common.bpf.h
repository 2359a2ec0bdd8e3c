/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a sched_ext scheduler includes, for the simulator instead of a kernel. */
#ifndef SWTCH_COMMON_BPF_H
#define SWTCH_COMMON_BPF_H

#include "../swtch/helpers.h"
#include "compat.bpf.h"

#endif
