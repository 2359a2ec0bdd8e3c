/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the kernel keeps by CPU. */
#ifndef SWTCH_PERCPU_BPF_H
#define SWTCH_PERCPU_BPF_H

#include "../swtch/helpers.h"

static inline int cpu_llc_id(s32 cpu) { return SWTCH_K.cpu_llc(cpu); }
static inline int this_cpu_llc_id(void) { return cpu_llc_id(bpf_get_smp_processor_id()); }
static inline int cpu_priority(s32 cpu) { return SWTCH_K.cpu_capacity(cpu); }

#endif
