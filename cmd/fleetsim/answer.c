/* The last step of each handler: the answer as a value, before http.c puts it on the wire. */
#include "answer.h"
#include "json.h"
#include <openssl/rand.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char content_type_json[] = "application/json; charset=utf-8";
const char content_type_text[] = "text/plain; charset=utf-8";

struct refusal_row {
    unsigned status;
    const char *message; /* NULL: the reason once more */
    const char *content_type;
    bool uuid; /* errors that come out of the database or as "not found" have none */
};

static const struct refusal_row refusals[] = {
    [REFUSE_UNDECODABLE] = {400, "Bad request", content_type_text, true},
    [REFUSE_BAD_TYPE] = {400, "Bad Request", content_type_text, true},
    [REFUSE_BAD_REQUEST] = {400, "Bad request", content_type_json, true},
    [REFUSE_UNAUTHORISED] = {401, NULL, content_type_text, true},
    [REFUSE_FORBIDDEN] = {403, NULL, content_type_json, true},
    [REFUSE_NOT_FOUND] = {404, "Resource Not Found", content_type_json, false},
    [REFUSE_NO_CATALOGUE] = {404, NULL, content_type_json, true},
    [REFUSE_EXISTS] = {409, "Resource Already Exists", content_type_json, true},
    [REFUSE_DUPLICATE] = {409, "Validation Failed", content_type_json, false},
    [REFUSE_IN_USE] = {409, NULL, content_type_json, false},
    [REFUSE_INVALID] = {422, "Validation Failed", content_type_json, true},
    [REFUSE_DATABASE] = {422, "Validation Failed", content_type_json, false},
    [REFUSE_UNPROCESSABLE] = {422, "Unprocessable Entity", content_type_json, true},
    [REFUSE_INTERNAL] = {500, NULL, content_type_json, false},
};

void answer_done(struct answer *answer)
{
    json_decref(answer->json);
    free(answer->text);
    free(answer->file);
    free(answer->file_name);
    *answer = (struct answer){.status = 0};
}

void answer_json(struct answer *answer, unsigned status, json_t *json)
{
    answer_done(answer);
    *answer = (struct answer){.status = status, .content_type = content_type_json, .json = json};
}

void answer_render(struct answer *answer)
{
    if (answer->json == NULL)
        return;
    free(answer->text);
    answer->text = json_text(answer->json, NULL);
    json_decref(TAKE(answer->json));
}

void answer_nothing(struct answer *answer, unsigned status, const char *content_type)
{
    answer_done(answer);
    *answer = (struct answer){.status = status, .content_type = content_type};
}

void answer_page_not_found(struct answer *answer)
{
    answer_done(answer);
    *answer = (struct answer){
        .status = 404, .content_type = content_type_text, .text = copy_text("404 page not found\n")};
}

void uuid_make(char out[UUID_BYTES])
{
    unsigned char r[16] = {0};
    RAND_bytes(r, sizeof r);
    r[6] = (unsigned char)((r[6] & 0x0F) | 0x40);
    r[8] = (unsigned char)((r[8] & 0x3F) | 0x80);
    snprintf(out, UUID_BYTES, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0],
             r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13], r[14], r[15]);
}

void refuse(struct answer *answer, enum refusal refusal, const char *name, const char *format, ...)
{
    const struct refusal_row *row = &refusals[refusal];
    char reason[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);

    json_t *error = new_object();
    put_text(error, "name", name);
    put_text(error, "reason", reason);
    json_t *errors = new_array();
    append(errors, error);
    json_t *body = new_object();
    put_text(body, "message", row->message != NULL ? row->message : reason);
    put(body, "errors", errors);
    if (row->uuid) {
        char uuid[UUID_BYTES];
        uuid_make(uuid);
        put_text(body, "uuid", uuid);
    }
    answer_json(answer, row->status, body);
    answer->content_type = row->content_type;
}
