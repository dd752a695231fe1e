/* One algorithm of the kernel's programs under names of its own. */
#include ALGORITHM

long long WINDOW(const struct group *group, unsigned int cwnd, unsigned long long credit, unsigned int ssthresh,
		 unsigned int acked)
{
	return grown(cwnd, credit, ssthresh, acked, increase(group));
}

unsigned int REMAINING(const struct group *group)
{
	return remaining(group);
}
