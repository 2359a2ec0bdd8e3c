/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Macros and small functions that schedulers expect of libbpf's and sched_ext's headers, written for a native compiler. */
#ifndef SWTCH_HELPERS_H
#define SWTCH_HELPERS_H

#include "cpumask.h"
#include "cgroups.h"

/*
 * The loader first looks through the preprocessed text for maps (SWTCH_SEC), settings of the kernel (SWTCH_KCONFIG) and pointers to its
 * objects (SWTCH_KPTR), and says SWTCH_SCAN then.
 */
#ifdef SWTCH_SCAN
#define SEC(name) SWTCH_SEC(name)
#define __kconfig SWTCH_KCONFIG
#define __kptr SWTCH_KPTR
#else
#define SEC(name) __attribute__((used))
#define __kconfig
#define __kptr
#endif

#define __uint(name, val) int (*name)[val]
#define __type(name, val) __typeof__(val) *name
#define __array(name, val) __typeof__(val) *name[]
#define __ulong(name, val) unsigned long name
#define __ksym
#define __kptr_untrusted
#define __percpu_kptr
#define __arena
#define __arena_global
#define __arg_arena
#define cast_kern(pointer)
#define cast_user(pointer)
typedef u64 __attribute__((__may_alias__)) __u64_alias_t;
#define __arg_ctx
#define __arg_nonnull
#define __arg_nullable
#define __arg_trusted
#define __contains(name, node)
#define __weak __attribute__((weak))
#define __hidden __attribute__((visibility("hidden")))
#define __noinline __attribute__((noinline))
#define __maybe_unused __attribute__((unused))
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))
#define RESIZABLE_ARRAY(section, array) array[1] SEC("." #section "." #array)

#define BPF_STRUCT_OPS(name, args...) name(args)
#define BPF_STRUCT_OPS_SLEEPABLE(name, args...) name(args)
#define SCX_OPS_DEFINE(name, ...)                       \
	SEC(".struct_ops.link")                         \
	struct sched_ext_ops name = { __VA_ARGS__ };    \
	struct sched_ext_ops *const swtch_ops = &name;

#define UEI_DEFINE(name)                                \
	char RESIZABLE_ARRAY(data, name##_dump);        \
	const volatile u32 name##_dump_len;             \
	struct user_exit_info name SEC(".data")
#define UEI_RECORD(name, ei)                                                            \
	({                                                                              \
		bpf_probe_read_kernel_str(name.reason, sizeof(name.reason), (ei)->reason); \
		bpf_probe_read_kernel_str(name.msg, sizeof(name.msg), (ei)->msg);       \
		name.exit_code = (ei)->exit_code;                                       \
		name.exit_cpu = (ei)->exit_cpu;                                         \
		name.kind = (ei)->kind;                                                 \
	})

struct user_exit_info {
	int kind;
	s32 exit_cpu;
	s64 exit_code;
	char reason[128];
	char msg[1024];
};

/* The texts of errors are put together here, so that their arguments keep their types. */
#define swtch_say(call, fmt, args...)                                           \
	({                                                                      \
		char ___text[1024];                                             \
		__builtin_snprintf(___text, sizeof(___text), fmt, ##args);      \
		call;                                                           \
	})
#define scx_bpf_error(fmt, args...) swtch_say(SWTCH_K.error(___text), fmt, ##args)
#define scx_bpf_exit(code, fmt, args...) swtch_say(SWTCH_K.exit(code, ___text), fmt, ##args)
#define scx_bpf_dump(fmt, args...) ((void)0)
#define scx_bpf_dump_header() ((void)0)
#define bpf_printk(fmt, args...) ((void)0)
#define bpf_trace_printk(args...) ((void)0)

/* Only ops.cpu_release may call it, which is never called: no class above runs in the simulator. */
static inline u32 scx_bpf_reenqueue_local(void)
{
	scx_bpf_error("scx_bpf_reenqueue_local is not simulated");
	return 0;
}
#define scx_bpf_reenqueue_local_from_anywhere() scx_bpf_reenqueue_local()

/* An object has exactly the fields, types and functions that it is compiled with. */
#define bpf_ksym_exists(symbol) 1
#define bpf_core_field_exists(field...) 1
#define bpf_core_type_exists(type) 1
#define bpf_core_type_matches(type) 1
#define bpf_core_enum_value_exists(type, value) 1
#define bpf_core_enum_value(type, value) (value)
#define bpf_core_field_size(field...) sizeof(field)
#define bpf_core_cast(pointer, type) ((type *)(pointer))
#define bpf_rdonly_cast(pointer, type) ((void *)(pointer))
#define bpf_get_kern_ctx(pointer) (pointer)
#define bpf_probe_read_kernel(to, bytes, from) (__builtin_memcpy(to, from, bytes), 0)
#define bpf_core_read(to, bytes, from) (__builtin_memcpy(to, from, bytes), 0)
#define BPF_CORE_READ_1(p, a) ((p)->a)
#define BPF_CORE_READ_2(p, a, b) ((p)->a->b)
#define BPF_CORE_READ_3(p, a, b, c) ((p)->a->b->c)
#define BPF_CORE_READ_4(p, a, b, c, d) ((p)->a->b->c->d)
#define swtch_fifth(a, b, c, d, e, ...) e
#define BPF_CORE_READ(p, fields...)                                                                                             \
	swtch_fifth(fields, BPF_CORE_READ_4, BPF_CORE_READ_3, BPF_CORE_READ_2, BPF_CORE_READ_1)(p, fields)
#define bpf_probe_read_kernel_str(to, bytes, from) swtch_copy_text(to, bytes, from)

static inline long swtch_copy_text(char *to, u32 bytes, const char *from)
{
	u32 i = 0;

	if (!bytes || !from)
		return -EFAULT;
	for (; i + 1 < bytes && from[i]; i++)
		to[i] = from[i];
	to[i] = 0;
	return i + 1;
}

static inline int bpf_strncmp(const char *one, u32 bytes, const char *other) { return __builtin_strncmp(one, other, bytes); }

#define bpf_for(i, start, end) for (__typeof__(i) ___end = ((i) = (start), (end)); (i) < ___end; (i)++)
#define bpf_repeat(times) for (int ___turn = 0, ___turns = (times); ___turn < ___turns; ___turn++)
/* bpf_experimental.h of the sched_ext project is left out: its loops end by an instruction of BPF. Here they end as the callback does. */
#define __BPF_EXPERIMENTAL__
#define can_loop 1
#define cond_break
#define cond_break_label(label)
#define bpf_cmp_likely(one, op, other) ((one) op (other))
#define bpf_cmp_unlikely(one, op, other) ((one) op (other))
#define bpf_assert(holds) ((void)(holds))
#define bpf_assert_range(value, low, high) ((void)(value))
/* The simulator has no interrupts: a wake-up by a timer is not told from others. */
SWTCH_KFUNC int bpf_in_hardirq(void) { return 0; }
SWTCH_KFUNC int bpf_in_serving_softirq(void) { return 0; }
SWTCH_KFUNC int bpf_in_nmi(void) { return 0; }
#define bpf_for_each(type, cur, args...)                                                                                         \
	for (struct bpf_iter_##type ___it __attribute__((cleanup(bpf_iter_##type##_destroy))),                                  \
	     *___iterator __attribute__((unused)) = (bpf_iter_##type##_new(&___it, args), &___it);                               \
	     ((cur) = bpf_iter_##type##_next(&___it));)
#define BPF_FOR_EACH_ITER (&___it)
#define bpf_loop(times, callback, context, flags)                                                                               \
	({                                                                                                                      \
		u32 ___i = 0, ___times = (times);                                                                               \
		while (___i < ___times && !((long (*)(u32, void *))(void *)(callback))(___i++, context))                        \
			;                                                                                                       \
		(long)___i;                                                                                                     \
	})

static inline int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end)
{
	*it = (struct bpf_iter_num){ .next = start, .end = end };
	return 0;
}
static inline int *bpf_iter_num_next(struct bpf_iter_num *it)
{
	if (it->next >= it->end)
		return NULL;
	it->value = it->next++;
	return &it->value;
}
static inline void bpf_iter_num_destroy(struct bpf_iter_num *it) { (void)it; }

#define bpf_kptr_xchg(place, pointer) __atomic_exchange_n(place, pointer, __ATOMIC_SEQ_CST)
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))
#define barrier() __asm__ volatile("" ::: "memory")
#define barrier_var(x) __asm__ volatile("" : "+r"(x))
#define __sink(x) __asm__ volatile("" : "+g"(x))
#define smp_mb() __sync_synchronize()
#define smp_rmb() __sync_synchronize()
#define smp_wmb() __sync_synchronize()
#define smp_load_acquire(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define smp_store_release(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
#define cmpxchg(place, old, new) __sync_val_compare_and_swap(place, old, new)
#define xchg(place, value) __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST)
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define div_round_up(a, b) (((a) + (b) - 1) / (b))
#define MEMBER_VPTR(base, member) ((__typeof__((base) member) *)swtch_within(&(base), sizeof(base), &((base) member)))
#define ARRAY_ELEM_PTR(array, i, n) ((u64)(i) < (u64)(n) ? &(array)[i] : NULL)
#ifndef container_of
#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#endif

static inline void *swtch_within(const volatile void *base, size_t bytes, const volatile void *member)
{
	return (size_t)((const char *)member - (const char *)base) < bytes ? (void *)member : NULL;
}

static inline s64 time_delta(u64 after, u64 before) { return (s64)(after - before) > 0 ? (s64)(after - before) : 0; }
static inline bool time_after(u64 a, u64 b) { return (s64)(b - a) < 0; }
static inline bool time_before(u64 a, u64 b) { return time_after(b, a); }
static inline bool time_after_eq(u64 a, u64 b) { return (s64)(a - b) >= 0; }
static inline bool time_before_eq(u64 a, u64 b) { return time_after_eq(b, a); }
static inline bool time_in_range(u64 a, u64 b, u64 c) { return time_after_eq(a, b) && time_before_eq(a, c); }

static inline u64 scale_by_task_weight(const struct task_struct *p, u64 value) { return value * p->scx.weight / 100; }
static inline u64 scale_by_task_weight_inverse(const struct task_struct *p, u64 value) { return value * 100 / p->scx.weight; }
static inline bool is_migration_disabled(const struct task_struct *p) { return p->migration_disabled != 0; }
static inline u64 get_prandom_u64(void) { return (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32(); }
static inline u32 log2_u32(u32 v) { return v ? 32 - __builtin_clz(v) : 1; }
static inline u32 log2_u64(u64 v) { return v ? 64 - __builtin_clzll(v) : 1; }
static inline int ctzll(u64 v) { return v ? __builtin_ctzll(v) : -1; }
#define __calc_avg(old, new, decay) ((u64)(old) - ((u64)(old) >> (decay)) + ((u64)(new) >> (decay)))
static inline u64 scx_clock_task(u32 cpu) { return SWTCH_K.cpu_rq(cpu) ? SWTCH_K.now() : 0; }

static inline u64 __sqrt_u64(u64 x)
{
	u64 root = 0, bit = 1ULL << 62;

	for (; bit; bit >>= 2) {
		bool fits = x >= root + bit;

		x -= fits ? root + bit : 0;
		root = (root >> 1) + (fits ? bit : 0);
	}
	return root;
}

#include "programs.h"

#endif
