/* LIA (RFC 6356; Khalili 2013, equation 1): min(max(w_i/rtt_i²)/(Σ w_i/rtt_i)², 1/w_r) a segment; half on loss.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "arithmetic.h"

INLINE long long increase(const struct group *group)
{
	return share_of_best(group);
}

INLINE unsigned int remaining(const struct group *group)
{
	return half(group, 2);
}
