/* Switches that are known: of many short processes, and of one that sleeps. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 0;
	struct rusage own, children;
	cpu_set_t cpus;

	if (number < 1 || (strcmp(argv[1], "processes") && strcmp(argv[1], "sleeps"))) {
		fprintf(stderr, "usage: counts processes|sleeps NUMBER [CPU]\n");
		return 2;
	}
	if (argc > 3) {
		CPU_ZERO(&cpus);
		CPU_SET(atoi(argv[3]), &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	for (int i = 0; i < number; i++) {
		if (argv[1][0] == 's') {
			nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
			continue;
		}
		pid_t child = vfork();
		if (child == 0)
			_exit(0);
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
	}
	/* What comes after this: the last switch. */
	getrusage(RUSAGE_CHILDREN, &children);
	setvbuf(stdout, NULL, _IOFBF, 4096);
	getrusage(RUSAGE_SELF, &own);
	printf("%ld %ld %ld %ld\n", own.ru_nvcsw, own.ru_nivcsw, children.ru_nvcsw, children.ru_nivcsw);
	return 0;
}
