/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names by which schedulers run on older kernels too. The simulated one has everything that they ask for. */
#ifndef SWTCH_COMPAT_BPF_H
#define SWTCH_COMPAT_BPF_H

#include "../swtch/helpers.h"

#define KERNEL_VERSION(major, minor, patch) (((major) << 16) + ((minor) << 8) + (patch))
#define LINUX_KERNEL_VERSION KERNEL_VERSION(7, 3, 0)
#define __COMPAT_ENUM_OR_ZERO(type, value) (value)
#define __COMPAT_HAS_scx_bpf_select_cpu_and true
#define __COMPAT_is_enq_cpu_selected(enq_flags) (((enq_flags) & SCX_ENQ_CPU_SELECTED) != 0)
#define __COMPAT_scx_bpf_dsq_peek(dsq_id) scx_bpf_dsq_peek(dsq_id)
#define __COMPAT_scx_bpf_cpu_curr(cpu) scx_bpf_cpu_curr(cpu)
#define __COMPAT_scx_bpf_cpu_node(cpu) scx_bpf_cpu_node(cpu)
#define __COMPAT_scx_bpf_nr_node_ids() scx_bpf_nr_node_ids()
#define __COMPAT_scx_bpf_get_idle_cpumask_node(node) scx_bpf_get_idle_cpumask_node(node)
#define __COMPAT_scx_bpf_get_idle_smtmask_node(node) scx_bpf_get_idle_smtmask_node(node)
#define __COMPAT_scx_bpf_pick_idle_cpu_node(mask, node, flags) scx_bpf_pick_idle_cpu_node(mask, node, flags)
#define __COMPAT_scx_bpf_pick_any_cpu_node(mask, node, flags) scx_bpf_pick_any_cpu_node(mask, node, flags)
#define __COMPAT_bpf_cpumask_populate(mask, from, bytes) bpf_cpumask_populate(mask, from, bytes)
#define __COMPAT_scx_bpf_events(events, bytes) ((void)__builtin_memset(events, 0, bytes))
#define __COMPAT_dsq_move_to_local(dsq_id) scx_bpf_dsq_move_to_local(dsq_id, 0)

#endif
