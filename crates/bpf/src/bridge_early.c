/* A control that responds to delay, under names of its own. */
#include ALGORITHM

void MEASURED(struct delays *delays, unsigned int rtt)
{
	measured(delays, rtt);
}

unsigned long long CHANCE(const struct delays *delays, unsigned long long now, int repairing,
			  unsigned int cwnd, unsigned long long credit)
{
	return chance(delays, now, repairing, ((long long)cwnd << CREDIT_BITS) + credit);
}

struct outcome ACKNOWLEDGED(struct delays *delays, const struct group *group, unsigned long long now, int repairing,
			    unsigned int draw, int limited, unsigned int cwnd, unsigned long long credit,
			    unsigned int ssthresh, unsigned int acked)
{
	return acknowledged(delays, increase(group), now, repairing, draw, limited, cwnd, credit, ssthresh, acked);
}

unsigned int LOST(struct delays *delays, const struct group *group)
{
	lost(delays);
	return remaining(group);
}

void FOUND(struct delays *delays)
{
	found(delays);
}
