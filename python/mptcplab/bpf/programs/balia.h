/* BALIA (Peng 2016): with x = w/rtt and β = max x/x_r, w_r/rtt_r²/(Σ x)²·(1 + β)/2·(4 + β)/5 a segment; a loss takes
 * w_r/2·min(β, 1.5), and with several paths the least threshold is one segment, as in the authors' code.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "arithmetic.h"

#define BETA_BITS 16

/* β with BETA_BITS behind the point, at most 4096: for a path whose rate is less than that part of the best one's. */
INLINE unsigned long long rate_ratio(const struct group *group)
{
	unsigned long long own = group->own.window, largest = own;

	for (unsigned int i = 0; i < MAX_SUBFLOWS; i++) {
		unsigned long long there = scaled(group->path[i].window, group->own.srtt, group->path[i].srtt);

		if (there > largest)
			largest = there;
	}
	if (largest >= own << 12)
		return 4096ULL << BETA_BITS;
	return (largest << BETA_BITS) / own;
}

INLINE long long increase(const struct group *group)
{
	unsigned long long b, factor;

	if (group->count < 2)
		return reciprocal(group->own.window, 1);
	b = rate_ratio(group);
	/* (1 + β)(4 + β)/10, of at most 58 bits, cut to 16 behind the point; the term it multiplies is at most 1/(β²w), so the
	 * product fits. */
	factor = ((1ULL << BETA_BITS) + b) * ((4ULL << BETA_BITS) + b) / 10 >> (2 * BETA_BITS - 16);
	return (coupled_term(group, group->own.window, group->own.srtt) >> 4) * factor >> 12;
}

INLINE unsigned int remaining(const struct group *group)
{
	unsigned long long window = group->own.window, most = 3ULL << (BETA_BITS - 1), b, left;

	if (group->count < 2)
		return half(group, 2);
	b = rate_ratio(group);
	left = window - ((window >> 1) * (b < most ? b : most) >> BETA_BITS);
	left >>= WINDOW_BITS;
	return left > 1 ? left : 1;
}
