/* The wire of the Fleet API: libmicrohttpd's callbacks, one thread per connection, so that a slow upload or a
 * scripted delay holds up nobody else. */
#include "http.h"
#include "base/files.h"
#include "base/text.h"
#include "exchange.h"
#include "json.h"
#include "sockets.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONNECTION_BYTES = 512 * 1024, IDLE_SECONDS = 300 };

struct api_server {
    struct sim *sim;
    struct MHD_Daemon *daemon;
    long accepted; /* atomic */
};

/* What libmicrohttpd keeps for us with a connection. */
struct api_connection {
    long number;
    long requests;
};

static void *begin_target(void *context, const char *target, struct MHD_Connection *wire)
{
    struct api_server *server = context;
    (void)wire;
    return exchange_new(server->sim, target);
}

static void note_connection(void *context, struct MHD_Connection *wire, void **kept,
                            enum MHD_ConnectionNotificationCode what)
{
    struct api_server *server = context;
    (void)wire;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        struct api_connection *connection = allocate(sizeof *connection);
        connection->number = __atomic_add_fetch(&server->accepted, 1, __ATOMIC_RELAXED);
        *kept = connection;
    } else {
        free(*kept);
        *kept = NULL;
    }
}

static void note_completed(void *context, struct MHD_Connection *wire, void **kept,
                           enum MHD_RequestTerminationCode how)
{
    struct exchange *exchange = *kept;
    (void)context;
    (void)wire;
    if (exchange == NULL)
        return;
    exchange_log(exchange, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    exchange_free(exchange);
    *kept = NULL;
}

/* Ends the connection without an answer. */
static enum MHD_Result hang_up(struct exchange *exchange, bool reset)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->wire, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (reset && info != NULL) {
        /* libmicrohttpd would shut the connection down with a FIN first; dissolving it sends the RST now. */
        struct sockaddr nobody = {.sa_family = AF_UNSPEC};
        if (connect(info->connect_fd, &nobody, sizeof nobody) < 0)
            fprintf(stderr, "fleetsim: a connection could not be reset\n");
    }
    return MHD_NO;
}

/* Half of a body whose whole length was announced. */
struct cut_body {
    char *bytes;
    size_t length;
};

static ssize_t read_cut_body(void *context, uint64_t position, char *out, size_t max)
{
    struct cut_body *cut = context;
    size_t half = cut->length / 2;
    if (position >= half)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t length = half - (size_t)position < max ? half - (size_t)position : max;
    memcpy(out, cut->bytes + position, length);
    return (ssize_t)length;
}

static void free_cut_body(void *context)
{
    struct cut_body *cut = context;
    free(cut->bytes);
    free(cut);
}

/* Takes over the text. */
static struct MHD_Response *response_of_text(struct exchange *exchange, char *text, size_t length)
{
    exchange->sent_bytes = length;
    if (exchange->request.fault.kind != FAULT_APPLY_THEN_CUT)
        return MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);
    struct cut_body *cut = allocate(sizeof *cut);
    *cut = (struct cut_body){.bytes = text, .length = length};
    return MHD_create_response_from_callback(length, CONNECTION_BYTES / 8, read_cut_body, cut, free_cut_body);
}

static struct MHD_Response *response_of_file(struct exchange *exchange, const struct answer *answer)
{
    struct stat status;
    int file = open(answer->file, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) < 0) {
        file_close_cleanup(&file);
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    }
    exchange->sent_bytes = (uint64_t)status.st_size;
    return MHD_create_response_from_fd64((uint64_t)status.st_size, file);
}

static struct MHD_Response *response_of(struct exchange *exchange, struct answer *answer)
{
    if (answer->file != NULL)
        return response_of_file(exchange, answer);
    answer_render(answer);
    char *text = answer->text != NULL ? TAKE(answer->text) : copy_text("");
    return response_of_text(exchange, text, strlen(text));
}

static void add_script_headers(struct MHD_Response *response, const json_t *headers)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)headers, name, value)
    {
        if (json_is_string(value))
            MHD_add_response_header(response, name, json_string_value(value));
    }
}

static enum MHD_Result deliver(struct exchange *exchange, struct answer *answer, const json_t *headers)
{
    struct MHD_Response *response = response_of(exchange, answer);
    if (response == NULL)
        return MHD_NO;
    if (answer->content_type != NULL)
        MHD_add_response_header(response, "Content-Type", answer->content_type);
    if (answer->file_name != NULL) {
        char disposition[1100];
        snprintf(disposition, sizeof disposition, "attachment;filename=\"%.1000s\"", answer->file_name);
        MHD_add_response_header(response, "Content-Disposition", disposition);
    }
    add_script_headers(response, headers);
    exchange->answered = true;
    exchange->status = answer->status;
    enum MHD_Result result = MHD_queue_response(exchange->wire, answer->status, response);
    MHD_destroy_response(response);
    return result;
}

/* The answer that the script puts in the place of ours. */
static void scripted_answer(const struct fault *fault, struct answer *answer)
{
    answer_done(answer);
    *answer = (struct answer){.status = fault->status, .content_type = fault->content_type};
    if (json_is_string(fault->body)) {
        answer->text = copy_text(json_string_value(fault->body));
        if (answer->content_type == NULL)
            answer->content_type = answer->text[0] == '<' ? "text/html; charset=utf-8" : content_type_text;
    } else if (fault->body != NULL) {
        answer->json = copy_of(fault->body);
        if (answer->content_type == NULL)
            answer->content_type = content_type_json;
    }
}

static enum MHD_Result respond(struct exchange *exchange)
{
    const struct fault *fault = &exchange->request.fault;
    struct answer answer = {.status = 0};
    enum MHD_Result result = MHD_NO;
    sim_sleep(exchange->request.sim, fault->delay_ms);
    if (fault->kind != FAULT_STATUS && fault->kind != FAULT_CLOSE && fault->kind != FAULT_RESET)
        exchange_run(exchange, &answer);
    switch (fault->kind) {
    case FAULT_CLOSE:
    case FAULT_APPLY_THEN_CLOSE:
        result = hang_up(exchange, false);
        break;
    case FAULT_RESET:
    case FAULT_APPLY_THEN_RESET:
        result = hang_up(exchange, true);
        break;
    case FAULT_STATUS:
    case FAULT_APPLY_THEN_STATUS:
        scripted_answer(fault, &answer);
        result = deliver(exchange, &answer, fault->headers);
        break;
    case FAULT_NONE:
    case FAULT_DELAY:
    case FAULT_APPLY_THEN_CUT:
    case FAULT_CORRUPT:
    case FAULT_STUCK:
    case FAULT_APPLY_THEN_STUCK:
        result = deliver(exchange, &answer, NULL);
        break;
    }
    answer_done(&answer);
    return result;
}

static enum MHD_Result begin(struct exchange *exchange, struct MHD_Connection *wire, const char *path,
                             const char *method)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(wire, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct api_connection *connection = info != NULL ? info->socket_context : NULL;
    long number = connection != NULL ? connection->number : 0;
    bool reused = connection != NULL && connection->requests++ > 0;
    exchange_begin(exchange, wire, path, method, number, reused);
    return exchange->request.fault.early ? respond(exchange) : MHD_YES;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *wire, const char *path,
                                  const char *method, const char *version, const char *bytes, size_t *length,
                                  void **kept)
{
    struct exchange *exchange = *kept;
    (void)context;
    (void)version;
    if (exchange == NULL)
        return MHD_NO;
    if (!exchange->started)
        return begin(exchange, wire, path, method);
    if (*length > 0) {
        if (!exchange->answered)
            exchange_receive(exchange, bytes, *length);
        *length = 0;
        return MHD_YES;
    }
    return exchange->answered ? MHD_YES : respond(exchange);
}

struct api_server *api_server_start(struct sim *sim, const char *listen, char *address, size_t address_size,
                                    unsigned short *port, struct err *e)
{
    int socket = -1;
    if (socket_listen(listen, &socket, address, address_size, port, e) < 0)
        return NULL;
    struct api_server *server = allocate(sizeof *server);
    server->sim = sim;
    server->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0, NULL,
        NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_NOTIFY_COMPLETED,
        note_completed, server, MHD_OPTION_URI_LOG_CALLBACK, begin_target, server,
        MHD_OPTION_NOTIFY_CONNECTION, note_connection, server, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    if (server->daemon == NULL) {
        close(socket);
        free(server);
        err_fill(e, ERR_SYSTEM, "can't start the API server");
        return NULL;
    }
    return server;
}

void api_server_stop(struct api_server *server)
{
    if (server == NULL)
        return;
    MHD_stop_daemon(server->daemon);
    free(server);
}
