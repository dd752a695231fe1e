/* OLIA (Khalili 2013, equations 3–6): w_r/rtt_r²/(Σ w_p/rtt_p)² + α_r/w_r a segment; half on loss, and with several paths
 * the least threshold is one segment (§IV.B).
 *
 * M: the paths of the largest window; B: those of the largest ℓ/rtt². Where B∖M is not empty, α is 1/(n·|B∖M|) on B∖M and
 * −1/(n·|M|) on M; else 0.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "arithmetic.h"

struct search {
	const struct group *group;
	unsigned long long largest;               /* window */
	unsigned long long between_losses;        /* of the best path … */
	unsigned int srtt;                        /* … and its RTT */
	unsigned int in_m, in_b_only, reserved;
};

static long find_best(unsigned int i, struct search *search)
{
	const struct path *path = &search->group->path[i & (MAX_SUBFLOWS - 1)];

	if (path->window > search->largest)
		search->largest = path->window;
	if (better(path->between_losses, path->srtt, search->between_losses, search->srtt)) {
		search->between_losses = path->between_losses;
		search->srtt = path->srtt;
	}
	return 0;
}

static long count_sets(unsigned int i, struct search *search)
{
	const struct path *path = &search->group->path[i & (MAX_SUBFLOWS - 1)];

	if (path->window == search->largest)
		search->in_m++;
	else if (path->window && !better(search->between_losses, search->srtt, path->between_losses, path->srtt))
		search->in_b_only++;
	return 0;
}

INLINE long long increase(const struct group *group)
{
	const struct path *own = &group->own;
	struct search search = { group, own->window, own->between_losses, own->srtt, 0, 0, 0 };
	unsigned long long term, alpha;
	long long sum;

	if (group->count < 2)
		return reciprocal(own->window, 1);
	EACH(find_best, &search);
	EACH(count_sets, &search);
	term = coupled_term(group, own->window, own->srtt);
	if (!search.in_b_only)
		return term;
	if (own->window == search.largest) {
		alpha = reciprocal(own->window, (unsigned long long)group->count * search.in_m);
		return (long long)term - (long long)alpha;
	}
	if (better(search.between_losses, search.srtt, own->between_losses, own->srtt))
		return term;
	alpha = reciprocal(own->window, (unsigned long long)group->count * search.in_b_only);
	/* Below 1.5 segments both together can ask for more than slow start gives. */
	sum = term + alpha;
	return sum < (long long)CREDIT_ONE ? sum : (long long)CREDIT_ONE;
}

INLINE unsigned int remaining(const struct group *group)
{
	return half(group, group->count < 2 ? 2 : 1);
}
