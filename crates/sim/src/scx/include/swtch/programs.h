/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Programs beside the callbacks, at tracepoints and at functions of the kernel. Nothing calls them in the simulator: it has none of
 * these places. They are compiled, as other functions may be called from nowhere else.
 */
#ifndef SWTCH_PROGRAMS_H
#define SWTCH_PROGRAMS_H

#include "kfuncs.h"

#define BPF_PROG(name, args...) name(unsigned long long *ctx, ##args)
#define BPF_PROG2(name, args...) name(unsigned long long *ctx, ##args)
#define BPF_KPROBE(name, args...) name(void *ctx, ##args)
#define BPF_KRETPROBE(name, args...) name(void *ctx, ##args)
#define ___bpf_concat(a, b) a##b
#define ___bpf_apply(macro, what) ___bpf_concat(macro, what)

SWTCH_KFUNC long bpf_get_func_ret(void *ctx, u64 *value)
{
	(void)ctx, (void)value;
	return -EOPNOTSUPP;
}
SWTCH_KFUNC long bpf_get_current_comm(void *to, u32 bytes)
{
	return swtch_copy_text((char *)to, bytes, SWTCH_K.current()->comm) < 0 ? -EINVAL : 0;
}

#endif
