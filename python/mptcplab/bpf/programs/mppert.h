/* MPPERT (Singh 2012 chapter III) with k = 0, the value that the thesis proposes for kernels (page 14): min(a·α_r, α_r/w_r)
 * a segment, a = max(w_i/rtt_i²)/(Σ w_i/rtt_i)², so LIA's share times α_r; early responses by delay.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "responding.h"

INLINE long long increase(const struct group *group)
{
	return share_of_best(group);
}

INLINE unsigned int remaining(const struct group *group)
{
	return half(group, group->count < 2 ? 2 : 1);
}
