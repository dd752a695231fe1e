/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define NAME "ewtcp"
#include "ewtcp.h"
#include "control.h"
