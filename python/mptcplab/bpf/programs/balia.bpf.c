/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define NAME "balia"
#include "balia.h"
#include "control.h"
