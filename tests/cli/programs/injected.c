// A program in which a known share of switches or of CPU time can be injected.
// injected pipe ROUNDS WORK PERCENT: two processes hand a byte to and fro on one CPU, PERCENT more rounds at the same work in all.
// injected preempt WORK TIMES PERCENT: a worker on one CPU wakes a logger TIMES times, PERCENT more often, and is preempted by it.
// injected work ROUNDS WORK PERCENT: as pipe, with PERCENT more work and no more rounds.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned sink;
static int poked;

static void spin(long steps)
{
	unsigned x = sink;
	for (long i = 0; i < steps; i++) x = x * 1664525u + 1013904223u;
	sink = x;
}

static void stay_on_one_cpu(void)
{
	cpu_set_t allowed, one;
	sched_getaffinity(0, sizeof allowed, &allowed);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed)) { CPU_SET(cpu, &one); break; }
	sched_setaffinity(0, sizeof one, &one);
}

static void pipes(long rounds, long work)
{
	int there[2], back[2];
	char byte = 0;
	if (pipe(there) || pipe(back)) exit(1);
	pid_t child = fork();
	prctl(PR_SET_NAME, child ? "asks" : "answers");
	for (long i = 0; i < rounds; i++) {
		if (child) {
			spin(work);
			if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) exit(1);
		} else if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) {
			_exit(1);
		}
	}
	if (!child) _exit(0);
	wait(NULL);
}

static void *logger(void *unused)
{
	eventfd_t count;
	prctl(PR_SET_NAME, "logger");
	while (!eventfd_read(poked, &count) && count < 1000000) spin(1000);
	return unused;
}

static void preempted(long work, long times)
{
	pthread_t id;
	poked = eventfd(0, 0);
	prctl(PR_SET_NAME, "worker");
	// A niced task is preempted as soon as another one wakes.
	pthread_create(&id, NULL, logger, NULL);
	setpriority(PRIO_PROCESS, 0, 19);
	for (long i = 0; i < times; i++) {
		spin(work / times);
		eventfd_write(poked, 1);
	}
	eventfd_write(poked, 1000000);
	pthread_join(id, NULL);
}

int main(int count, char **words)
{
	if (count < 5) return 2;
	long first = atol(words[2]), second = atol(words[3]), percent = atol(words[4]);
	stay_on_one_cpu();
	if (!strcmp(words[1], "pipe")) {
		long rounds = first * (100 + percent) / 100;
		pipes(rounds, second * first / rounds);
	} else if (!strcmp(words[1], "work")) {
		pipes(first, second * (100 + percent) / 100);
	} else {
		preempted(first, second * (100 + percent) / 100);
	}
	return 0;
}
