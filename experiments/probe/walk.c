/*
 * Goes through an array again and again and marks every time as a span: a program to probe whose refill `swtch measure` knows as c2 - c1. It goes as
 * that does: from element 0 every stride-th, then from element 1, until each was touched once, in small pages (crates/measure/src/traversal.rs).
 *
 *	gcc -O2 -I crates/span/include -o walk experiments/probe/walk.c
 *	swtch probe -- ./walk BYTES STRIDE
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <swtch_span.h>

int main(int count, char **words)
{
	size_t bytes, stride;
	volatile uint64_t *array;

	if (count != 3)
		return fprintf(stderr, "walk BYTES STRIDE\n"), 2;
	bytes = strtoul(words[1], NULL, 0);
	stride = strtoul(words[2], NULL, 0);
	array = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (array == MAP_FAILED || stride < sizeof(*array))
		return fprintf(stderr, "no array of %zu bytes\n", bytes), 1;
	madvise((void *)array, bytes, MADV_NOHUGEPAGE);
	memset((void *)array, 1, bytes);
	for (;;) {
		SWTCH_SPAN("pass", NULL);

		for (size_t first = 0; first < stride / sizeof(*array); first++)
			for (size_t i = first; i < bytes / sizeof(*array); i += stride / sizeof(*array))
				array[i]++;
	}
}
