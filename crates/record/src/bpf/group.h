/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which cgroup a task is in. Called when a task begins or ends, and when all are asked for, never at a switch. */
#ifndef SWTCH_GROUP_H
#define SWTCH_GROUP_H

/* Whether the cpu controller has a hierarchy of its own (version 1); the common one (version 2) counts otherwise. */
const volatile bool cpu_hierarchy = false;

/* The number of the group: that of its directory's inode (fs/kernfs, v6.18). 0 for none. */
static __always_inline u64 group_of(struct task_struct *task)
{
	struct cgroup_subsys_state *state = NULL;
	struct css_set *set;

	if (!bpf_core_field_exists(task->cgroups))
		return 0;
	set = BPF_CORE_READ(task, cgroups);
	if (!cpu_hierarchy)
		return BPF_CORE_READ(set, dfl_cgrp, kn, id);
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return 0;
	bpf_core_read(&state, sizeof(state), &set->subsys[0] + bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id));
	return BPF_CORE_READ(state, cgroup, kn, id);
}

#endif
