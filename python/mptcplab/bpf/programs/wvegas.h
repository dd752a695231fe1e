/* wVegas (Cao, Xu and Fu 2012): once a round trip a window moves by one segment toward α_r segments queued, where all
 * subflows together keep 10 queued, each in proportion to its rate; a window is drained when its queue has doubled.
 *
 * RTTs have RTT_BITS behind the point (of microseconds), segments that are queued, and α, QUEUED_BITS.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "arithmetic.h"

#define RTT_BITS 10
#define QUEUED_BITS 12
#define MAX_RTT_US (1U << 21)
#define TOTAL_ALPHA (10ULL << QUEUED_BITS)
#define MIN_ALPHA (2ULL << QUEUED_BITS)
#define GAMMA (1ULL << QUEUED_BITS) /* what ends slow start */
#define MIN_SAMPLES 3
#define MIN_WINDOW (2ULL << CREDIT_BITS)

/* 48 bytes: it has its place in icsk_ca_priv behind the credit. */
struct rounds {
	unsigned long long sum;     /* of the round's RTT samples, microseconds */
	unsigned long long least;   /* nonzero queueing delay since the queue was drained; 0: none */
	unsigned int samples, base; /* base: the least RTT ever, 0: none */
	unsigned int alpha;         /* 0 before the first round */
	unsigned int sampled;       /* by this acknowledgment; 0: nothing */
	int left;                   /* segments of the round still to be acknowledged */
	unsigned int measuring;     /* 0 from a loss until the first acknowledgment after its repair */
};

INLINE unsigned long long larger(unsigned long long a, unsigned long long b)
{
	return a > b ? a : b;
}

/* Takes the acknowledgment into the round: its mean RTT when this ended one of enough samples, 0 when of too few or while
 * a loss is repaired, −1 within a round. */
INLINE long long round_ended(struct rounds *d, int repairing, unsigned int acked, unsigned int in_flight)
{
	long long mean = 0;

	if (repairing)
		return 0;
	if (!d->measuring) {
		d->sum = d->least = d->samples = d->left = 0;
		d->measuring = 1;
	}
	if (d->sampled) {
		d->sum += d->sampled;
		d->samples++;
	}
	d->left -= acked < MAX_ACKED ? acked : MAX_ACKED;
	if (d->left > 0)
		return -1;
	d->left = in_flight < MAX_WINDOW ? in_flight : MAX_WINDOW;
	if (d->samples >= MIN_SAMPLES)
		mean = (d->sum << RTT_BITS) / d->samples;
	d->sum = d->samples = 0;
	return mean;
}

/* α_r = 10·x_r/Σ x, at least 2. */
INLINE unsigned int weighed(const struct group *group, unsigned long long rtt)
{
	unsigned long long srtt = larger(rtt >> (RTT_BITS - 3), 1), own = group->own.window;
	/* The others' segments in this round trip; the own rate is what the round measured, not that of the smoothed RTT. */
	unsigned long long others = total_at(group, srtt), counted = own * srtt / group->own.srtt;

	others = others > counted ? others - counted : 0;
	return larger(TOTAL_ALPHA * own / (others + own), MIN_ALPHA);
}

/* A round of congestion avoidance. */
INLINE void settle(struct rounds *d, const struct group *group, struct outcome *o, unsigned long long rtt,
		   unsigned long long base, unsigned long long queued)
{
	unsigned long long delay = rtt - base;

	if (d->alpha < MIN_ALPHA)
		d->alpha = MIN_ALPHA;
	if (queued >= d->alpha)
		d->alpha = weighed(group, rtt);
	if (queued > d->alpha) {
		o->window -= CREDIT_ONE;
		if (o->ssthresh > (o->window >> CREDIT_BITS) - 1)
			o->ssthresh = (o->window >> CREDIT_BITS) - 1;
	} else if (queued < d->alpha) {
		o->window += CREDIT_ONE;
	}
	if (delay && (!d->least || delay < d->least)) {
		d->least = delay;
	} else if (d->least && delay >= 2 * d->least) {
		o->window = ((o->window >> 28) * base / (2 * rtt)) << 28;
		d->least = 0;
	}
}

/* Slow start by bytes acknowledged, then Reno's. */
INLINE void reno(struct outcome *o, unsigned int acked)
{
	o->window = grown(o->window >> CREDIT_BITS, o->window & (CREDIT_ONE - 1), o->ssthresh, acked,
			  reciprocal(larger(o->window >> (CREDIT_BITS - WINDOW_BITS), 1), 1));
}

INLINE struct outcome round_acknowledged(struct rounds *d, const struct group *group, unsigned int cwnd,
					 unsigned long long credit, unsigned int ssthresh, unsigned int acked, int repairing,
					 unsigned int in_flight)
{
	struct outcome o = { ((long long)cwnd << CREDIT_BITS) + credit, ssthresh };
	long long rtt = round_ended(d, repairing, acked, in_flight), base = (long long)d->base << RTT_BITS;
	unsigned long long queued;

	if (!rtt) {
		reno(&o, acked);
		return o;
	}
	if (rtt < 0) {
		/* Within a round only slow start goes on. */
		if (cwnd < ssthresh)
			o.window = grown(cwnd, credit, ssthresh, acked, 0);
		return o;
	}
	if (base > rtt)
		base = rtt;
	queued = (unsigned long long)(o.window >> (CREDIT_BITS - QUEUED_BITS)) * (rtt - base) / rtt;
	if (cwnd >= ssthresh) {
		settle(d, group, &o, rtt, base, queued);
	} else if (queued > GAMMA) {
		o.window -= (queued - GAMMA) << (CREDIT_BITS - QUEUED_BITS);
		if (o.ssthresh > (o.window >> CREDIT_BITS) - 1)
			o.ssthresh = (o.window >> CREDIT_BITS) - 1;
	} else {
		reno(&o, acked);
	}
	if (o.window < (long long)MIN_WINDOW)
		o.window = MIN_WINDOW;
	if (o.window > (long long)MAX_WINDOW << CREDIT_BITS)
		o.window = (long long)MAX_WINDOW << CREDIT_BITS;
	o.ssthresh = larger(o.ssthresh, 3 * o.window >> (CREDIT_BITS + 2)); /* ¾ */
	return o;
}

/* The acknowledgment's RTT sample; 0 or less: none. */
INLINE void sampled_rtt(struct rounds *d, int rtt)
{
	d->sampled = rtt > 0 ? rtt : 0;
	if (!d->sampled)
		return;
	if (d->sampled > MAX_RTT_US)
		d->sampled = MAX_RTT_US;
	if (!d->base || d->sampled < d->base)
		d->base = d->sampled;
}

INLINE unsigned int remaining(const struct group *group)
{
	return half(group, 2);
}
