/* PERT on each subflow by itself (Bhandarkar 2007; Singh 2012 chapter III A): α/w_r a segment, early responses by delay.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "responding.h"

INLINE long long increase(const struct group *group)
{
	return reciprocal(group->own.window, 1);
}

INLINE unsigned int remaining(const struct group *group)
{
	return half(group, group->count < 2 ? 2 : 1);
}
