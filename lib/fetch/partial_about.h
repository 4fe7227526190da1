/* Between partial.c and its sidecar only. */
#ifndef TENDER_FETCH_PARTIAL_ABOUT_H
#define TENDER_FETCH_PARTIAL_ABOUT_H

#include "fetch/partial.h"

/* Fills source, validator, expected_bytes and file_name. -1: there is no sidecar that can be believed. With
 * `is_pinned` one from before the machine's last start is believed too. */
int about_read(struct partial *partial, bool is_pinned, struct err *e) MUST_CHECK;
int about_write(const struct partial *partial, struct err *e) MUST_CHECK;

#endif
