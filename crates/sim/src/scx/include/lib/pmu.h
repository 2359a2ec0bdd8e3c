/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The simulated machine counts no events: a scheduler that asks for them gets an error. */
#ifndef SWTCH_PMU_H
#define SWTCH_PMU_H

#include "../swtch/helpers.h"

static inline int scx_pmu_install(u64 event) { return event ? -EOPNOTSUPP : 0; }
static inline int scx_pmu_uninstall(u64 event) { return event ? -EOPNOTSUPP : 0; }
static inline int scx_pmu_task_init(struct task_struct *p) { return p ? 0 : -EINVAL; }
static inline int scx_pmu_task_fini(struct task_struct *p) { return p ? 0 : -EINVAL; }
static inline int scx_pmu_event_start(struct task_struct *p, bool update) { return p || update ? 0 : -EINVAL; }
static inline int scx_pmu_event_stop(struct task_struct *p) { return p ? 0 : -EINVAL; }
static inline int scx_pmu_read(struct task_struct *p, u64 event, u64 *value, bool clear)
{
	(void)p, (void)event, (void)value, (void)clear;
	return -EOPNOTSUPP;
}

#endif
