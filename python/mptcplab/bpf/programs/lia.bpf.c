/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define NAME "lia"
#include "lia.h"
#include "control.h"
