/* The middle of the API server: what libmicrohttpd brings becomes a decoded request, a handler makes an
 * answer of it, and the whole exchange becomes one line of the log. */
#include "exchange.h"
#include "access.h"
#include "base/text.h"
#include "json.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *query_value(const struct request *request, const char *key)
{
    const char *value = NULL;
    size_t length = 0;
    enum MHD_Result found = MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, key,
                                                          strlen(key), &value, &length);
    if (found != MHD_YES)
        return NULL;
    return value != NULL ? value : "";
}

struct exchange *exchange_new(struct sim *sim, const char *target)
{
    struct exchange *exchange = allocate(sizeof *exchange);
    exchange->request.sim = sim;
    exchange->target = copy_text(target);
    exchange->body = BUF_INIT(EXCHANGE_BODY_BYTES);
    err_init(&exchange->form_error);
    return exchange;
}

void exchange_free(struct exchange *exchange)
{
    if (exchange == NULL)
        return;
    json_decref(exchange->request.json);
    multipart_free(exchange->request.form);
    buf_done(&exchange->body);
    free(exchange->target);
    free(exchange->path);
    free(exchange->method);
    free(exchange);
}

static char *temporary_path(void *context)
{
    return store_temporary_path(context);
}

static const char *header(const struct exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->wire, MHD_HEADER_KIND, name);
}

static bool is_hook(const struct exchange *exchange)
{
    return text_starts_with(exchange->path, "/fleetsim/");
}

void exchange_begin(struct exchange *exchange, struct MHD_Connection *wire, const char *path,
                    const char *method, long connection_number, bool reused)
{
    struct request *request = &exchange->request;
    exchange->started = true;
    exchange->wire = wire;
    exchange->path = copy_text(path);
    exchange->method = copy_text(method);
    exchange->connection_number = connection_number;
    exchange->log_number = is_hook(exchange) ? 0 : request_log_begin(&request->sim->log);
    request->connection = wire;
    request->query = query_value;
    exchange->found = route_find(exchange->method, exchange->path, &request->route, request->ids,
                                 &request->word, &exchange->api_path);
    script_fault(&request->sim->script, exchange->method, exchange->api_path, reused, &request->fault);
    if (exchange->found == ROUTE_FOUND && request->route->body == BODY_FORM)
        request->form = multipart_new(header(exchange, "Content-Type"), temporary_path, &request->sim->store,
                                      &exchange->form_error);
}

void exchange_receive(struct exchange *exchange, const char *bytes, size_t length)
{
    exchange->body_bytes += length;
    /* After the first error the rest is read and dropped, so that the answer can be delivered. */
    if (err_is_set(&exchange->form_error))
        return;
    int result = exchange->request.form != NULL
                     ? multipart_feed(exchange->request.form, bytes, length, &exchange->form_error)
                     : buf_add(&exchange->body, bytes, length, &exchange->form_error);
    (void)result; /* the error is kept and answered at the end */
}

/* False: the answer is the refusal. */
static bool decode(struct exchange *exchange, struct answer *answer)
{
    struct request *request = &exchange->request;
    if (request->route->body == BODY_FORM && request->form != NULL && !err_is_set(&exchange->form_error)) {
        int result = multipart_finish(request->form, &exchange->form_error);
        (void)result;
    }
    if (err_is_set(&exchange->form_error)) {
        refuse(answer, REFUSE_UNDECODABLE, "base", "%s", exchange->form_error.text);
        return false;
    }
    if (request->route->body != BODY_JSON)
        return true;
    json_error_t where;
    request->json = json_loadb(buf_text(&exchange->body), exchange->body.length, 0, &where);
    if (json_is_object(request->json))
        return true;
    refuse(answer, REFUSE_UNDECODABLE, "base", "json decoder error");
    return false;
}

/* The answer of who came without a good token. */
static bool authorise(struct exchange *exchange, struct answer *answer)
{
    struct request *request = &exchange->request;
    const char *authorization = header(exchange, "Authorization");
    if (authorization == NULL) {
        refuse(answer, REFUSE_UNAUTHORISED, "base", "Authorization header required");
        return false;
    }
    store_lock(&request->sim->store);
    bool known = access_identify(request->sim, authorization, &request->caller);
    store_unlock(&request->sim->store);
    if (!known)
        refuse(answer, REFUSE_UNAUTHORISED, "base", "Authentication required");
    return known;
}

void exchange_run(struct exchange *exchange, struct answer *answer)
{
    struct request *request = &exchange->request;
    if (exchange->found == ROUTE_UNKNOWN_PATH) {
        answer_page_not_found(answer);
        return;
    }
    if (exchange->found == ROUTE_OTHER_METHOD) {
        answer_nothing(answer, 405, NULL);
        return;
    }
    if (!decode(exchange, answer) || (!is_hook(exchange) && !authorise(exchange, answer)))
        return;
    if (!request->route->locks_itself)
        store_lock(&request->sim->store);
    request->route->handle(request, answer);
    answer_render(answer); /* while the store is locked: the answer may share values with it */
    if (!request->route->locks_itself)
        store_unlock(&request->sim->store);
}

static enum MHD_Result add_header_to_log(void *context, enum MHD_ValueKind kind, const char *name,
                                         const char *value)
{
    struct exchange *exchange = ((void **)context)[0];
    json_t *headers = ((void **)context)[1];
    (void)kind;
    if (strcasecmp(name, "Authorization") == 0) {
        /* Tokens stay out of the log: it says whose it was. */
        char shown[64];
        const char *role = exchange->request.caller.role;
        snprintf(shown, sizeof shown, "Bearer %s", role != NULL ? role : "(not looked at)");
        put_text(headers, name, shown);
    } else {
        put_text(headers, name, value != NULL ? value : "");
    }
    return MHD_YES;
}

static json_t *form_for_log(struct multipart *form)
{
    json_t *fields = new_array(), *files = new_array();
    for (size_t i = 0; i < multipart_count(form); i++) {
        const struct form_part *part = multipart_part(form, i);
        json_t *row = new_array();
        append(row, new_text(part->name));
        if (part->file_name == NULL) {
            append(row, new_text(part->value != NULL ? part->value : ""));
            append(fields, row);
        } else {
            append(row, new_text(part->file_name));
            append(row, new_number((json_int_t)part->bytes));
            append(row, new_text(part->sha256));
            append(files, row);
        }
    }
    json_t *both = new_object();
    put(both, "fields", fields);
    put(both, "files", files);
    return both;
}

/* The values of secret variables are the one thing in a body that nobody may read in a log. */
static json_t *json_for_log(const struct exchange *exchange)
{
    size_t i;
    json_t *secret;
    json_t *copy = copy_of(exchange->request.json);
    json_array_foreach(json_object_get(copy, "secrets"), i, secret)
    {
        if (json_is_object(secret))
            put_text(secret, "value", "(a secret)");
    }
    return copy;
}

void exchange_log(struct exchange *exchange, bool finished)
{
    if (exchange->log_number == 0)
        return;
    const char *question = strchr(exchange->target, '?');
    json_t *line = new_object();
    put_text(line, "server", "fleet");
    put_text(line, "method", exchange->method);
    put_text(line, "path", exchange->path);
    put_text(line, "query", question != NULL ? question + 1 : "");
    put(line, "role",
        exchange->request.caller.role != NULL ? new_text(exchange->request.caller.role) : json_null());
    put_number(line, "status", exchange->status);
    json_t *headers = new_object();
    void *context[] = {exchange, headers};
    MHD_get_connection_values(exchange->wire, MHD_HEADER_KIND, add_header_to_log, context);
    put(line, "headers", headers);
    put_number(line, "body_bytes", (json_int_t)exchange->body_bytes);
    put_number(line, "sent_bytes", (json_int_t)(finished ? exchange->sent_bytes : 0));
    if (exchange->request.json != NULL)
        put(line, "json", json_for_log(exchange));
    if (exchange->request.form != NULL)
        put(line, "multipart", form_for_log(exchange->request.form));
    put(line, "behaviour",
        exchange->request.fault.kind != FAULT_NONE ? new_text(exchange->request.fault.name) : json_null());
    put_flag(line, "finished", finished);
    put_number(line, "connection", exchange->connection_number);
    request_log_write(&exchange->request.sim->log, exchange->log_number, line);
}
