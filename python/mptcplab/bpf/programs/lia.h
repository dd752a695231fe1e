/* LIA (RFC 6356; Khalili 2013, equation 1): min(max(w_i/rtt_i²)/(Σ w_i/rtt_i)², 1/w_r) a segment; half on loss.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "arithmetic.h"

INLINE long long increase(const struct group *group)
{
	unsigned long long coupled, alone = reciprocal(group->own.window, 1), window = group->own.window;
	unsigned int srtt = group->own.srtt;

	if (group->count < 2)
		return alone;
	for (unsigned int i = 0; i < MAX_SUBFLOWS; i++)
		if (better(group->path[i].window, group->path[i].srtt, window, srtt)) {
			window = group->path[i].window;
			srtt = group->path[i].srtt;
		}
	/* max(w/rtt²)/(Σ w/rtt)² is the coupled term of the best path. */
	coupled = coupled_term(group, window, srtt);
	return coupled < alone ? coupled : alone;
}

INLINE unsigned int remaining(const struct group *group)
{
	unsigned int half = group->own.window >> (WINDOW_BITS + 1);

	return half > 2 ? half : 2;
}
