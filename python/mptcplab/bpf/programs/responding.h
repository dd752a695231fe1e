/* PERT's arithmetic (Bhandarkar 2007; Kotla and Reddy 2008; Singh 2012 chapter III A) in integers: the average of the RTT,
 * the three modes of α, the curve of early responses and β.
 *
 * Pure functions over the state of one subflow. Times are in microseconds, the average with SMOOTHED_BITS behind the point,
 * delays with DELAY_BITS, α and β with ALPHA_BITS, probabilities with 32. The constants are the simulator's defaults.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#ifndef MPTCPLAB_RESPONDING_H
#define MPTCPLAB_RESPONDING_H

#include "arithmetic.h"

#define SMOOTHED_BITS 20
#define DELAY_BITS 12
#define ALPHA_BITS 20
#define MAX_RTT_US (1U << 21)
#define INTERVALS 8

#define LOW_DELAY (5000ULL << DELAY_BITS)   /* early responses begin */
#define HIGH_DELAY (10000ULL << DELAY_BITS) /* probability P_MAX; 1 at twice this */
#define CERTAIN (1ULL << 32)
#define P_MAX (CERTAIN / 20)
#define ALPHA_ONE (1U << ALPHA_BITS)
#define ALPHA_MAX (32U << ALPHA_BITS)     /* of the high-speed mode */
#define ALPHA_COMPETE (16U << ALPHA_BITS) /* of the compete mode */
#define ALPHA_STEP (ALPHA_ONE / 10)       /* a round trip */
/* What a response leaves at least: the acknowledgment of a lone segment is delayed by the receiver, which is no queue. */
#define LEAST_AFTER_RESPONSE (2LL << CREDIT_BITS)

/* 80 bytes: it has its place in icsk_ca_priv behind the credit. */
struct delays {
	unsigned long long smoothed; /* 0: no sample yet */
	unsigned long long next_change, next_response;
	unsigned int base, largest; /* least RTT; largest queueing delay of a sample */
	unsigned int alpha;         /* 0: not begun, one segment a round trip */
	unsigned int losses, since_loss, reserved;
	unsigned int between_losses[INTERVALS]; /* early responses, the latest first */
};

/* A sample of the RTT: weight 0.99 for the past. */
INLINE void measured(struct delays *d, unsigned int rtt)
{
	if (rtt > MAX_RTT_US)
		rtt = MAX_RTT_US;
	if (!d->smoothed) {
		d->smoothed = (unsigned long long)rtt << SMOOTHED_BITS;
		d->base = rtt;
	} else {
		d->smoothed = (99 * d->smoothed + ((unsigned long long)rtt << SMOOTHED_BITS)) / 100;
	}
	if (rtt < d->base)
		d->base = rtt;
	if (rtt - d->base > d->largest)
		d->largest = rtt - d->base;
}

INLINE unsigned long long queueing_delay(const struct delays *d)
{
	unsigned long long base = (unsigned long long)d->base << SMOOTHED_BITS;

	return d->smoothed > base ? (d->smoothed - base) >> (SMOOTHED_BITS - DELAY_BITS) : 0;
}

/* Gentle RED's curve: 0 below LOW_DELAY, P_MAX at HIGH_DELAY, 1 at twice that. */
INLINE unsigned long long probability(unsigned long long delay)
{
	if (delay < LOW_DELAY)
		return 0;
	if (delay < HIGH_DELAY)
		return P_MAX * (delay - LOW_DELAY) / (HIGH_DELAY - LOW_DELAY);
	if (delay >= 2 * HIGH_DELAY)
		return CERTAIN;
	return P_MAX + (CERTAIN - P_MAX) * (delay - HIGH_DELAY) / HIGH_DELAY;
}

/* q/(q + q_max): the part of the window that an early response takes. */
INLINE unsigned long long beta(const struct delays *d)
{
	unsigned long long delay = queueing_delay(d);

	return delay ? (delay << ALPHA_BITS) / (delay + ((unsigned long long)d->largest << DELAY_BITS)) : 0;
}

/* α in compete mode: 1 + early responses per loss, their mean over the last intervals as RFC 5348 §5.4 has it. */
INLINE unsigned int competing(const struct delays *d)
{
	unsigned int known = d->losses < INTERVALS ? d->losses : INTERVALS;
	unsigned long long past = 0, mean, with_open;

	if (!known)
		return ALPHA_COMPETE;
	for (unsigned int i = 0; i < INTERVALS; i++)
		past += d->between_losses[i]; /* 0 beyond those that are known */
	mean = (past << ALPHA_BITS) / known;
	with_open = ((past + d->since_loss) << ALPHA_BITS) / (known + 1);
	if (with_open > mean)
		mean = with_open;
	return mean < ALPHA_COMPETE - ALPHA_ONE ? ALPHA_ONE + mean : ALPHA_COMPETE;
}

/* In how long something may be again that is once a round trip. */
INLINE unsigned long long a_round_later(const struct delays *d, unsigned long long now)
{
	return now + ((d->smoothed + (1ULL << SMOOTHED_BITS) - 1) >> SMOOTHED_BITS);
}

/* Mode and α, once a round trip. */
INLINE void adapt(struct delays *d, unsigned long long now)
{
	unsigned long long delay = queueing_delay(d);
	unsigned int target;

	if (!d->alpha)
		d->alpha = ALPHA_ONE;
	if (now < d->next_change)
		return;
	d->next_change = a_round_later(d, now);
	if (delay < LOW_DELAY)
		target = ALPHA_MAX;
	else if (2 * delay < (unsigned long long)d->largest << DELAY_BITS)
		target = ALPHA_ONE;
	else
		target = competing(d);
	if (target > d->alpha + ALPHA_STEP)
		d->alpha += ALPHA_STEP;
	else if (target + ALPHA_STEP < d->alpha)
		d->alpha -= ALPHA_STEP;
	else
		d->alpha = target;
}

/* The chance of an early response to this acknowledgment: 0 while a loss is repaired, within a round trip of the last, and
 * for a window of no more than two segments. */
INLINE unsigned long long chance(const struct delays *d, unsigned long long now, int repairing, long long window)
{
	if (repairing || now < d->next_response || window <= LEAST_AFTER_RESPONSE)
		return 0;
	return probability(queueing_delay(d));
}

/* An early response: what it leaves of the window, CREDIT_BITS behind the point. */
INLINE long long responded(struct delays *d, unsigned long long now, long long window)
{
	d->next_response = a_round_later(d, now);
	d->since_loss++;
	window -= (window >> ALPHA_BITS) * (long long)beta(d);
	return window > LEAST_AFTER_RESPONSE ? window : LEAST_AFTER_RESPONSE;
}

/* α times the share, and no more than a segment for a segment. */
INLINE long long faster(const struct delays *d, long long share)
{
	unsigned long long product = ((unsigned long long)share >> 10) * d->alpha >> (ALPHA_BITS - 10);

	return product < CREDIT_ONE ? product : CREDIT_ONE;
}

/* An acknowledgment outside of recovery, `share` what a segment of it gives where α is 1, `draw` one of 2³² equally likely
 * numbers. A window that was not used (`limited` is 0) does not grow. */
INLINE struct outcome acknowledged(struct delays *d, long long share, unsigned long long now, int repairing,
				   unsigned int draw, int limited, unsigned int cwnd, unsigned long long credit,
				   unsigned int ssthresh, unsigned int acked)
{
	struct outcome o = { ((long long)cwnd << CREDIT_BITS) + credit, ssthresh };

	adapt(d, now);
	if (draw < chance(d, now, repairing, o.window)) {
		o.window = responded(d, now, o.window);
		o.ssthresh = o.window >> CREDIT_BITS;
	} else if (limited) {
		o.window = grown(cwnd, credit, ssthresh, acked, faster(d, share));
	}
	return o;
}

INLINE void lost(struct delays *d)
{
	for (int i = INTERVALS - 1; i > 0; i--)
		d->between_losses[i] = d->between_losses[i - 1];
	d->between_losses[0] = d->since_loss;
	d->since_loss = 0;
	d->losses++;
}

/* The last loss was none. */
INLINE void found(struct delays *d)
{
	if (!d->losses)
		return;
	d->losses--;
	d->since_loss += d->between_losses[0];
	for (int i = 0; i < INTERVALS - 1; i++)
		d->between_losses[i] = d->between_losses[i + 1];
	d->between_losses[INTERVALS - 1] = 0;
}

#endif
