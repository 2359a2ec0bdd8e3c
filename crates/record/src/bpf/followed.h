/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose events count: all tasks', or those with a bit in `followed`, which the recorder sets and births pass on. */
#ifndef SWTCH_FOLLOWED_H
#define SWTCH_FOLLOWED_H

/* Whether only the tasks in `followed` are recorded, and how many words it has. */
const volatile bool scoped = false;
const volatile u32 followed_words = 0;

/* One bit a task. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} followed SEC(".maps");

static __always_inline u64 *followed_word(u32 tid)
{
	u32 word = tid >> 6;

	return word < followed_words ? bpf_map_lookup_elem(&followed, &word) : NULL;
}

static __always_inline bool is_followed(u32 tid)
{
	u64 *word = followed_word(tid);

	return word && (*word >> (tid & 63)) & 1;
}

static __always_inline void set_followed(u32 tid, bool value)
{
	u64 *word = followed_word(tid);

	if (!word)
		return;
	if (value)
		__sync_fetch_and_or(word, 1ULL << (tid & 63));
	else
		__sync_fetch_and_and(word, ~(1ULL << (tid & 63)));
}

#endif
