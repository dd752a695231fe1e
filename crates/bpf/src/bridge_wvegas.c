/* wVegas, under names of its own. */
#include "wvegas.h"

void mptcplab_wvegas_sampled(struct rounds *rounds, int rtt)
{
	sampled_rtt(rounds, rtt);
}

struct outcome mptcplab_wvegas_acknowledged(struct rounds *rounds, const struct group *group, unsigned int cwnd,
					    unsigned long long credit, unsigned int ssthresh, unsigned int acked,
					    int repairing, unsigned int in_flight)
{
	return round_acknowledged(rounds, group, cwnd, credit, ssthresh, acked, repairing, in_flight);
}

unsigned int mptcplab_wvegas_lost(struct rounds *rounds, const struct group *group)
{
	rounds->measuring = 0;
	return remaining(group);
}
