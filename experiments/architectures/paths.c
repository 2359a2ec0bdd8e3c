/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What paths through the kernel take, on a machine whose clock counts instructions:
 *
 *   paths time PATH...        a line for each path: its name, nanoseconds, operations, voluntary context switches
 *   paths trace PATH ROUNDS   the kernel's functions on the way, by its own tracer (function_graph), on standard output
 *
 * Tasks are of the class SCHED_BATCH, so that every switch is one of a task that sleeps. The times are of loops with nothing in them but the calls.
 * Everything runs on CPU 0, but for what is to cross CPUs, which is not traced.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"
/* Rounds before those that count, so that pages are there. */
enum { WARM = 50 };

static char own_path[4096];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Those of tasks that went to sleep. */
static long switches(void)
{
	struct rusage all, ended;

	getrusage(RUSAGE_SELF, &all);
	getrusage(RUSAGE_CHILDREN, &ended);
	return all.ru_nvcsw + ended.ru_nvcsw;
}

static void call(long rounds)
{
	for (long round = 0; round < rounds; round++)
		syscall(SYS_getppid);
}

static int there[2], back[2];

static void pipe_alone(long rounds)
{
	char byte = 0;

	for (long round = 0; round < rounds; round++)
		if (write(there[1], &byte, 1) != 1 || read(there[0], &byte, 1) != 1)
			fail("pipe");
}

/* Two processes pass a byte back and forth. The other one ends when its pipe does. */
static pid_t partner;

static void pipe_pair_begin(void)
{
	char byte;

	partner = fork();
	if (partner < 0)
		fail("fork");
	if (partner)
		return;
	close(there[1]);
	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			_exit(1);
	_exit(0);
}

static void pipe_pair(long rounds)
{
	char byte = 0;

	for (long round = 0; round < rounds; round++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			fail("pipe");
}

static void pipe_pair_end(void)
{
	close(there[1]);
	waitpid(partner, 0, 0);
}

/* Two threads wake each other by a futex each. */
static _Atomic int mine, theirs;
static _Atomic int over;
static pthread_t other;
static int others_cpu;

static void wait_for(_Atomic int *word)
{
	while (!atomic_exchange(word, 0))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}

static void wake(_Atomic int *word)
{
	atomic_store(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void *answer(void *nothing)
{
	run_on(others_cpu);
	for (;;) {
		wait_for(&theirs);
		if (over)
			return nothing;
		wake(&mine);
	}
}

static void futex_begin(void)
{
	over = 0;
	if (pthread_create(&other, 0, answer, 0))
		fail("pthread_create");
}

static void futex_pair(long rounds)
{
	for (long round = 0; round < rounds; round++) {
		wake(&theirs);
		wait_for(&mine);
	}
}

static void futex_end(void)
{
	over = 1;
	wake(&theirs);
	pthread_join(other, 0);
}

static void fork_and_end(long rounds)
{
	for (long round = 0; round < rounds; round++) {
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (!child)
			_exit(0);
		waitpid(child, 0, 0);
	}
}

static void fork_and_exec(long rounds)
{
	char *words[] = { "paths", "end", 0 };

	for (long round = 0; round < rounds; round++) {
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (!child) {
			execv(own_path, words);
			_exit(1);
		}
		waitpid(child, 0, 0);
	}
}

static void nothing(void)
{
}

static void futex_here(void)
{
	others_cpu = 0;
	futex_begin();
}

static void futex_across(void)
{
	others_cpu = 1;
	futex_begin();
}

static const struct path {
	const char *name;
	void (*begin)(void);
	void (*rounds)(long rounds);
	void (*end)(void);
	/* In a measurement. */
	long count;
} paths[] = {
	{ "call", nothing, call, nothing, 20000 },
	{ "pipe-alone", nothing, pipe_alone, nothing, 10000 },
	{ "pipe", pipe_pair_begin, pipe_pair, pipe_pair_end, 10000 },
	{ "futex", futex_here, futex_pair, futex_end, 10000 },
	{ "futex-across", futex_across, futex_pair, futex_end, 10000 },
	{ "fork", nothing, fork_and_end, nothing, 500 },
	{ "exec", nothing, fork_and_exec, nothing, 300 },
};

static void pipes(void)
{
	if (pipe(there) || pipe(back))
		fail("pipe");
}

static void time_one(const struct path *path)
{
	long long begun_ns, took_ns;
	long before, counted;

	pipes();
	path->begin();
	path->rounds(WARM);
	before = switches();
	begun_ns = now_ns();
	path->rounds(path->count);
	took_ns = now_ns() - begun_ns;
	counted = switches() - before;
	path->end();
	printf("%s %lld %ld %ld\n", path->name, took_ns, path->count, counted);
	fflush(stdout);
}

static void set(const char *name, const char *text)
{
	char place[256];
	int file;

	snprintf(place, sizeof(place), TRACING "%s", name);
	file = open(place, O_WRONLY | O_TRUNC);
	if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
		fail(place);
	close(file);
}

/* Everything that CPU 0 does is seen; nothing else runs there. */
static void trace_one(const struct path *path, long rounds)
{
	char piece[65536];
	ssize_t length;
	int file;

	set("tracing_on", "0");
	set("buffer_size_kb", "16384");
	set("tracing_cpumask", "1");
	set("current_tracer", "function_graph");
	set("options/funcgraph-tail", "1");
	set("options/funcgraph-overhead", "0");
	/* Whose function it is; and the time of other tasks does not count as its time. */
	set("options/funcgraph-proc", "1");
	set("options/sleep-time", "0");
	pipes();
	path->begin();
	path->rounds(WARM);
	set("trace", "");
	set("tracing_on", "1");
	path->rounds(rounds);
	set("tracing_on", "0");
	file = open(TRACING "trace", O_RDONLY);
	while ((length = read(file, piece, sizeof(piece))) > 0)
		if (write(1, piece, length) != length)
			fail("writing");
	set("current_tracer", "nop");
	path->end();
}

int main(int count, char **words)
{
	if (count == 2 && !strcmp(words[1], "end"))
		_exit(0);
	if (readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) < 0)
		fail("/proc/self/exe");
	run_on(0);
	/* Such tasks do not preempt each other when they wake up. Whether others do differs between kernels, and then fewer sleep. */
	if (syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &(struct sched_param){ 0 }))
		fail("sched_setscheduler");
	for (size_t index = 0; index < sizeof(paths) / sizeof(*paths); index++) {
		for (int word = 2; count > 2 && !strcmp(words[1], "time") && word < count; word++)
			if (!strcmp(words[word], paths[index].name))
				time_one(&paths[index]);
		if (count == 4 && !strcmp(words[1], "trace") && !strcmp(words[2], paths[index].name))
			trace_one(&paths[index], atol(words[3]));
	}
	return 0;
}
