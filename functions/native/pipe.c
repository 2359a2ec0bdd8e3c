/* Two threads pass one byte back and forth over two pipes, and one thread through one pipe as the baseline. Python's
 * handler measures the same; this is without the interpreter. ctypes gives the interpreter's lock back during these
 * calls. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

struct pair {
	int there[2], back[2], own[2];
	pthread_t partner;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *answer(void *argument)
{
	struct pair *pair = argument;
	char byte;

	while (read(pair->there[0], &byte, 1) == 1)
		if (write(pair->back[1], &byte, 1) != 1)
			break;
	return NULL;
}

static void shut(const int fds[2])
{
	for (int end = 0; end < 2; end++)
		if (fds[end] >= 0)
			close(fds[end]);
}

static void shut_all(struct pair *pair)
{
	shut(pair->there);
	shut(pair->back);
	shut(pair->own);
	free(pair);
}

/* A pair with its partner waiting; NULL when the system refuses. */
PUBLIC struct pair *swtch_pipe_open(void)
{
	struct pair *pair = malloc(sizeof(*pair));

	if (!pair)
		return NULL;
	*pair = (struct pair){ .there = { -1, -1 }, .back = { -1, -1 }, .own = { -1, -1 } };
	if (pipe(pair->there) || pipe(pair->back) || pipe(pair->own) ||
	    pthread_create(&pair->partner, NULL, answer, pair)) {
		shut_all(pair);
		return NULL;
	}
	return pair;
}

static int64_t through_ns(int go, int come, uint32_t rounds)
{
	int64_t start = now_ns();
	char byte = 'x';

	for (uint32_t round = 0; round < rounds; round++)
		if (write(go, &byte, 1) != 1 || read(come, &byte, 1) != 1)
			return -1;
	return now_ns() - start;
}

/* The time of this many round trips; -1 when a pipe broke. */
PUBLIC int64_t swtch_pipe_gross_ns(struct pair *pair, uint32_t rounds)
{
	return through_ns(pair->there[1], pair->back[0], rounds);
}

/* The time of this many writes and reads through one pipe. */
PUBLIC int64_t swtch_pipe_baseline_ns(struct pair *pair, uint32_t rounds)
{
	return through_ns(pair->own[1], pair->own[0], rounds);
}

/* Ends the partner and closes everything. */
PUBLIC void swtch_pipe_close(struct pair *pair)
{
	if (!pair)
		return;
	close(pair->there[1]);
	pair->there[1] = -1;
	pthread_join(pair->partner, NULL);
	shut_all(pair);
}
