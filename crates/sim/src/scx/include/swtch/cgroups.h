/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cgroups: there is only the root. */
#ifndef SWTCH_CGROUPS_H
#define SWTCH_CGROUPS_H

#include "kfuncs.h"

SWTCH_KFUNC struct cgroup *bpf_cgroup_acquire(struct cgroup *cgrp) { return cgrp; }
SWTCH_KFUNC void bpf_cgroup_release(struct cgroup *cgrp) { (void)cgrp; }
SWTCH_KFUNC struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, int level) { return level ? NULL : cgrp; }
SWTCH_KFUNC struct cgroup *bpf_cgroup_from_id(u64 id) { return id == 1 ? SWTCH_K.task_cgroup(NULL) : NULL; }

/* A walk over a group and those below it, in any order. */
struct bpf_iter_css {
	struct cgroup_subsys_state *next;
};
enum { BPF_CGROUP_ITER_SELF_ONLY = 1, BPF_CGROUP_ITER_DESCENDANTS_PRE, BPF_CGROUP_ITER_DESCENDANTS_POST, BPF_CGROUP_ITER_ANCESTORS_UP };
SWTCH_KFUNC int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start, unsigned int flags)
{
	(void)flags;
	it->next = start;
	return 0;
}
SWTCH_KFUNC struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it)
{
	struct cgroup_subsys_state *next = it->next;

	it->next = NULL;
	return next;
}
SWTCH_KFUNC void bpf_iter_css_destroy(struct bpf_iter_css *it) { (void)it; }

#endif
