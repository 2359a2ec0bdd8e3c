/*
 * waits AGGRESSOR CPU MS: a service of a dispatcher and three workers on one CPU, and beside it what takes that CPU from them.
 *   scan        a short task at nice -18, again and again: the children of one process
 *   nice        one task at nice -18
 *   rt          one task of the real-time class FIFO
 *   pinned      one ordinary task that never sleeps and is pinned to this CPU
 *   interrupts  packets to very many sockets: the softirq that delivers them
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "before_others.h"

#define WORKERS 3
#define SOCKETS 900
/* Of the service: what else runs on the machine is to change little. */
#define NICE -10

static sem_t work[WORKERS];

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static int64_t end_us;

static void spin(int64_t us)
{
	for (int64_t until = now_us() + us; now_us() < until;)
		;
}

static void name(const char *comm)
{
	prctl(PR_SET_NAME, comm);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void *worker(void *of)
{
	for (;;) {
		sem_wait(of);
		spin(150);
	}
	return NULL;
}

/* Wakes its workers in turn, as a server does that receives requests. */
static void service(void)
{
	pthread_t thread;

	name("service");
	for (int one = 0; one < WORKERS; one++) {
		sem_init(&work[one], 0, 0);
		pthread_create(&thread, NULL, worker, &work[one]);
	}
	for (int one = 0; now_us() < end_us; one = (one + 1) % WORKERS) {
		usleep(3000);
		sem_post(&work[one]);
	}
	_exit(0);
}

static void scan(void)
{
	name("auditd");
	while (now_us() < end_us) {
		usleep(40000);
		if (!fork()) {
			/* Before its name: whatever is seen of a task of this name has this nice value. */
			setpriority(PRIO_PROCESS, 0, -18);
			name("auditd-scan");
			spin(50000);
			_exit(0);
		}
		wait(NULL);
	}
	_exit(0);
}

static void bursts(const char *comm, int64_t on_us, int64_t off_us)
{
	name(comm);
	while (now_us() < end_us) {
		spin(on_us);
		if (off_us)
			usleep(off_us);
	}
	_exit(0);
}

static void flood(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(34567) };
	struct ip_mreqn group = { .imr_ifindex = 1 };
	int yes = 1, sender = socket(AF_INET, SOCK_DGRAM, 0);

	name("flood");
	to.sin_addr.s_addr = group.imr_multiaddr.s_addr = inet_addr("239.1.2.3");
	for (int one = 0; one < SOCKETS; one++) {
		int receiver = socket(AF_INET, SOCK_DGRAM, 0);

		setsockopt(receiver, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		if (bind(receiver, (struct sockaddr *)&to, sizeof(to)) || setsockopt(receiver, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)))
			exit(3);
	}
	setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof(group));
	while (now_us() < end_us) {
		for (int64_t until = now_us() + 20000; now_us() < until;)
			sendto(sender, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
		usleep(20000);
	}
	_exit(0);
}

int main(int count, char **words)
{
	struct rlimit files = { 4096, 4096 };
	struct sched_param first = { .sched_priority = 1 };
	pid_t served;
	cpu_set_t cpus;

	if (count != 4)
		return 2;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(words[2]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 3;
	if (!before_others(NICE))
		return 3;
	setrlimit(RLIMIT_NOFILE, &files);
	end_us = now_us() + atoi(words[3]) * 1000LL;
	served = fork();
	if (!served)
		service();
	if (!fork()) {
		const char *kind = words[1];

		if (!strcmp(kind, "scan"))
			scan();
		if (!strcmp(kind, "nice") && !setpriority(PRIO_PROCESS, 0, -18))
			bursts("nicehog", 20000, 20000);
		if (!strcmp(kind, "rt") && !sched_setscheduler(0, SCHED_FIFO, &first))
			bursts("rtloop", 15000, 25000);
		if (!strcmp(kind, "pinned"))
			bursts("pinnedhog", 100000, 0);
		if (!strcmp(kind, "interrupts"))
			flood();
		exit(3);
	}
	waitpid(served, NULL, 0);
	return 0;
}
