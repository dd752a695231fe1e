/* Behind all controls of a guest's kernel: what follows is the kernel's own.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 */
#undef start
#undef avoid
#undef sampled
#undef threshold
#undef undo
#undef control
#undef increase
#undef remaining
#undef remembered
#undef LICENSE
#undef path
#undef tcp_congestion_ops
