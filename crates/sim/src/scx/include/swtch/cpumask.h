/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sets of CPUs (Linux kernel/bpf/cpumask.c). Only the words that the machine's CPUs take are looked at. */
#ifndef SWTCH_CPUMASK_H
#define SWTCH_CPUMASK_H

#include "kfuncs.h"

#define SWTCH_EACH_WORD(i) for (unsigned int i = 0; i < swtch_mask_words; i++)

SWTCH_KFUNC struct bpf_cpumask *bpf_cpumask_create(void) { return SWTCH_K.mask_new(); }
SWTCH_KFUNC struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *mask)
{
	mask->usage++;
	return mask;
}
SWTCH_KFUNC void bpf_cpumask_release(struct bpf_cpumask *mask)
{
	if (--mask->usage == 0)
		SWTCH_K.mask_free(mask);
}
SWTCH_KFUNC bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return cpu < SWTCH_MAX_CPUS && (mask->bits[cpu / 64] >> (cpu % 64) & 1);
}
SWTCH_KFUNC void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *mask)
{
	if (cpu < SWTCH_K.nr_cpu_ids())
		mask->cpumask.bits[cpu / 64] |= 1UL << (cpu % 64);
}
SWTCH_KFUNC void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *mask)
{
	if (cpu < SWTCH_K.nr_cpu_ids())
		mask->cpumask.bits[cpu / 64] &= ~(1UL << (cpu % 64));
}
SWTCH_KFUNC bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *mask)
{
	bool was = bpf_cpumask_test_cpu(cpu, &mask->cpumask);

	bpf_cpumask_set_cpu(cpu, mask);
	return was;
}
SWTCH_KFUNC bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *mask)
{
	bool was = bpf_cpumask_test_cpu(cpu, &mask->cpumask);

	bpf_cpumask_clear_cpu(cpu, mask);
	return was;
}
/* The first of none is the number of CPUs. */
SWTCH_KFUNC u32 bpf_cpumask_first_and(const struct cpumask *one, const struct cpumask *other)
{
	SWTCH_EACH_WORD(i)
		if (one->bits[i] & other->bits[i])
			return i * 64 + __builtin_ctzl(one->bits[i] & other->bits[i]);
	return SWTCH_K.nr_cpu_ids();
}
SWTCH_KFUNC u32 bpf_cpumask_first(const struct cpumask *mask) { return bpf_cpumask_first_and(mask, mask); }
SWTCH_KFUNC u32 bpf_cpumask_first_zero(const struct cpumask *mask)
{
	u32 cpu = 0;

	while (cpu < SWTCH_K.nr_cpu_ids() && bpf_cpumask_test_cpu(cpu, mask))
		cpu++;
	return cpu;
}
SWTCH_KFUNC void bpf_cpumask_copy(struct bpf_cpumask *to, const struct cpumask *from)
{
	SWTCH_EACH_WORD(i)
		to->cpumask.bits[i] = from->bits[i];
}
SWTCH_KFUNC void bpf_cpumask_setall(struct bpf_cpumask *mask) { bpf_cpumask_copy(mask, SWTCH_K.online_mask()); }
SWTCH_KFUNC void bpf_cpumask_clear(struct bpf_cpumask *mask)
{
	SWTCH_EACH_WORD(i)
		mask->cpumask.bits[i] = 0;
}
SWTCH_KFUNC bool bpf_cpumask_and(struct bpf_cpumask *to, const struct cpumask *one, const struct cpumask *other)
{
	unsigned long any = 0;

	SWTCH_EACH_WORD(i)
		any |= to->cpumask.bits[i] = one->bits[i] & other->bits[i];
	return any != 0;
}
SWTCH_KFUNC void bpf_cpumask_or(struct bpf_cpumask *to, const struct cpumask *one, const struct cpumask *other)
{
	SWTCH_EACH_WORD(i)
		to->cpumask.bits[i] = one->bits[i] | other->bits[i];
}
SWTCH_KFUNC void bpf_cpumask_xor(struct bpf_cpumask *to, const struct cpumask *one, const struct cpumask *other)
{
	SWTCH_EACH_WORD(i)
		to->cpumask.bits[i] = one->bits[i] ^ other->bits[i];
}
SWTCH_KFUNC bool bpf_cpumask_equal(const struct cpumask *one, const struct cpumask *other)
{
	SWTCH_EACH_WORD(i)
		if (one->bits[i] != other->bits[i])
			return false;
	return true;
}
SWTCH_KFUNC bool bpf_cpumask_intersects(const struct cpumask *one, const struct cpumask *other)
{
	SWTCH_EACH_WORD(i)
		if (one->bits[i] & other->bits[i])
			return true;
	return false;
}
SWTCH_KFUNC bool bpf_cpumask_subset(const struct cpumask *one, const struct cpumask *other)
{
	SWTCH_EACH_WORD(i)
		if (one->bits[i] & ~other->bits[i])
			return false;
	return true;
}
SWTCH_KFUNC bool bpf_cpumask_empty(const struct cpumask *mask) { return !bpf_cpumask_intersects(mask, mask); }
SWTCH_KFUNC bool bpf_cpumask_full(const struct cpumask *mask) { return bpf_cpumask_equal(mask, SWTCH_K.online_mask()); }
SWTCH_KFUNC u32 bpf_cpumask_weight(const struct cpumask *mask)
{
	u32 weight = 0;

	SWTCH_EACH_WORD(i)
		weight += __builtin_popcountl(mask->bits[i]);
	return weight;
}
SWTCH_KFUNC u32 bpf_cpumask_any_and_distribute(const struct cpumask *one, const struct cpumask *other)
{
	return SWTCH_K.any_distribute(one, other);
}
SWTCH_KFUNC u32 bpf_cpumask_any_distribute(const struct cpumask *mask) { return SWTCH_K.any_distribute(mask, mask); }
SWTCH_KFUNC int bpf_cpumask_populate(struct bpf_cpumask *to, void *from, size_t bytes)
{
	if (bytes < swtch_mask_words * sizeof(long))
		return -EINVAL;
	__builtin_memcpy(to->cpumask.bits, from, swtch_mask_words * sizeof(long));
	return 0;
}

static inline const struct cpumask *cast_mask(struct bpf_cpumask *mask) { return mask ? &mask->cpumask : NULL; }

#endif
