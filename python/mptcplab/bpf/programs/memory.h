/* A control that keeps more than its credit: include it below MEMORY, the type of what it keeps. The kernel's memory is
 * accessed at fixed places only, so its functions work on a copy.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#include "subflows.h"

/* In icsk_ca_priv. */
struct remembered {
	__u64 credit;
	MEMORY memory;
};

#define REMEMBERED(tp) (((struct remembered *)((tp)->inet_conn.icsk_ca_priv))->memory)

SEC("struct_ops/start")
void start(__u64 *arguments)
{
	struct tcp_sock *tp = (struct tcp_sock *)arguments[0];
	MEMORY none = {};

	STATE(tp)->credit = 0;
	REMEMBERED(tp) = none;
}
