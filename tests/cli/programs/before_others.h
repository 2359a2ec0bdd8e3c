#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* A session has a share of its own where the kernel groups tasks by sessions; nice values count within it only. Returns whether the task has it. */
static int before_others(int nice_value)
{
	FILE *group;

	setsid();
	group = fopen("/proc/self/autogroup", "w");
	if (group) {
		fprintf(group, "%d", nice_value);
		fclose(group);
	}
	return !setpriority(PRIO_PROCESS, 0, nice_value);
}
