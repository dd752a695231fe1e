/* EWTCP (Honda 2009; Singh 2012 chapter II): a/w_r a segment with a = 1/n² on n subflows; half on loss.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "arithmetic.h"

INLINE long long increase(const struct group *group)
{
	unsigned long long n = group->count ? group->count : 1;

	return reciprocal(group->own.window, n * n);
}

INLINE unsigned int remaining(const struct group *group)
{
	return half(group, 2);
}
