/* What a handler answers: JSON, nothing, or a stored file. The refusals are one table, as a real server words
 * and labels them (content type, with or without a uuid). */
#ifndef FLEETSIM_ANSWER_H
#define FLEETSIM_ANSWER_H

#include "base/attributes.h"
#include <jansson.h>

struct answer {
    unsigned status;
    const char *content_type; /* NULL: none. Static, or a string of the script */
    json_t *json;             /* owned, or NULL */
    char *text;               /* owned, or NULL: a body that is not JSON, or is rendered */
    char *file;               /* owned, or NULL: path of a stored package */
    char *file_name;          /* owned: for Content-Disposition */
};

enum refusal {
    REFUSE_UNDECODABLE,   /* 400 as text/plain: the request could not be read */
    REFUSE_BAD_TYPE,      /* the same with "Bad Request" */
    REFUSE_BAD_REQUEST,   /* 400 */
    REFUSE_UNAUTHORISED,  /* 401 as text/plain */
    REFUSE_FORBIDDEN,     /* 403 */
    REFUSE_NOT_FOUND,     /* 404 */
    REFUSE_NO_CATALOGUE,  /* 404 with a sentence */
    REFUSE_EXISTS,        /* 409 */
    REFUSE_DUPLICATE,     /* 409 from the database */
    REFUSE_IN_USE,        /* 409 with a sentence */
    REFUSE_INVALID,       /* 422 */
    REFUSE_DATABASE,      /* 422 from the database */
    REFUSE_UNPROCESSABLE, /* 422 */
    REFUSE_INTERNAL,      /* 500, for good */
};

void answer_done(struct answer *answer);
/* Takes over the reference. */
void answer_json(struct answer *answer, unsigned status, json_t *json);
/* Turns the JSON into text. */
void answer_render(struct answer *answer);
void answer_nothing(struct answer *answer, unsigned status, const char *content_type);
void answer_page_not_found(struct answer *answer);
/* `name`: errors[0].name, mostly "base". */
void refuse(struct answer *answer, enum refusal refusal, const char *name, const char *format, ...)
    PRINTF_LIKE(4, 5);

extern const char content_type_json[];
extern const char content_type_text[];

enum { UUID_BYTES = 37 };
void uuid_make(char out[UUID_BYTES]); /* a random one, version 4 */

#endif
