/*
 * storm CPU: marks 24 spans on this CPU. Each computes for 20 ms and sends 200 packets. Those of every eighth go to very many sockets, and
 * the softirq that delivers them takes most of the span. Prints the length of each span and how long it waited for the CPU, in ns. Both are
 * from the kernel's own account of the thread.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "before_others.h"
#include "swtch_span.h"

#define SOCKETS 900
#define PACKETS 200
/* What else runs on the machine is to change little. */
#define NICE -15

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long waited_ns(void)
{
	long long waited = -1;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (!file || fscanf(file, "%*d %lld", &waited) != 1)
		exit(3);
	fclose(file);
	return waited;
}

int main(int count, char **words)
{
	struct rlimit files = { 4096, 4096 };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(34568) };
	struct ip_mreqn group = { .imr_ifindex = if_nametoindex("lo") };
	int one, number, yes = 1, sender = socket(AF_INET, SOCK_DGRAM, 0);
	cpu_set_t cpus;

	if (count != 2)
		return 2;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(words[1]), &cpus);
	setrlimit(RLIMIT_NOFILE, &files);
	/* Without the right, others take more of the time. */
	before_others(NICE);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 3;
	to.sin_addr.s_addr = group.imr_multiaddr.s_addr = inet_addr("239.1.2.4");
	for (one = 0; one < SOCKETS; one++) {
		int receiver = socket(AF_INET, SOCK_DGRAM, 0);

		setsockopt(receiver, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		if (bind(receiver, (struct sockaddr *)&to, sizeof(to)) ||
		    setsockopt(receiver, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)))
			return 3;
	}
	setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof(group));
	for (number = 0; number < 24; number++) {
		long long waited = waited_ns();
		struct swtch_span span = swtch_span_begin("stormed", NULL);
		int64_t began = clock_ns(CLOCK_MONOTONIC), until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 20000000;

		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
			;
		/* No socket listens at the other port. */
		to.sin_port = htons(number % 8 == 3 ? 34568 : 34569);
		for (one = 0; one < PACKETS; one++)
			sendto(sender, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
		swtch_span_end(&span);
		printf("%d %lld %lld\n", number % 8 == 3, (long long)(clock_ns(CLOCK_MONOTONIC) - began), waited_ns() - waited);
	}
	return 0;
}
