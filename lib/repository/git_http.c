/* Git over http and https, carried by lib/net: Git has the same proxies, CA and rules for credentials as
 * packages and the API, where libgit2's own transport has others. Only the bytes of the smart protocol are
 * libgit2's. It asks for the list of references, then for packs, and reads while the loop brings them. */
#include "base/text.h"
#include "base/url.h"
#include "net/http.h"
#include "net/retry.h"
#include "repository/git.h"
#include <git2/sys/transport.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CONNECT_MS = 60 * 1000,
    STALL_MS = 5 * 60 * 1000, /* a server may be long at its pack; the whole has a limit of its own */
    STEP_MS = 200,            /* how soon a stop is seen */
    MOST_REDIRECTS = 5,
    MOST_REQUEST_BYTES = 64 * 1024 * 1024,
    MOST_WAITING_BYTES = 256 * 1024 * 1024,
    ENOUGH_WAITING_BYTES = 4 * 1024 * 1024, /* then the server has to wait */
    HEADER_COUNT = 2
};

static const char list_path[] = "/info/refs";
static const char list_query[] = "?service=git-upload-pack";

struct git_http {
    git_smart_subtransport parent;
    const struct repository_options *options;
    struct loop *loop;
    struct http *http;
    char *base; /* the repository's URL, where redirects led */
    int redirects;
    int64_t limit_ms;   /* of the whole (0: none) */
    bool is_elsewhere;  /* a redirect led to another host: what was given is not for it */
    bool gives_login;   /* the server asked for one */
    bool *has_given_it; /* told to who explains the failure */
};

/* One request and its answer. */
struct stream {
    git_smart_subtransport_stream parent;
    struct git_http *git;
    bool is_list;
    struct buf request, received;
    size_t taken;
    struct http_exchange *exchange;
    bool is_good;       /* the answer is what was asked for */
    bool has_delivered; /* some of it is libgit2's already: too late for another try */
    int64_t failures;   /* that passed */
    int64_t due_ms;     /* of the next try */
    bool is_over, is_again, is_paused;
    int code; /* libgit2's, once it failed */
};

static int fail(int code, const char *text)
{
    git_error_set_str(GIT_ERROR_HTTP, text);
    return code;
}

static int fail_with(int code, const char *format, ...) PRINTF_LIKE(2, 3);

static int fail_with(int code, const char *format, ...)
{
    char text[GIT_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fail(code, text);
}

static int on_headers(void *context, const struct http_answer *answer)
{
    struct stream *stream = context;
    const char *type = http_header(answer, "Content-Type");
    const char *wanted = stream->is_list ? "application/x-git-upload-pack-advertisement"
                                         : "application/x-git-upload-pack-result";
    stream->is_good = answer->status == 200 && type != NULL && text_starts_with(type, wanted);
    return 0;
}

static int on_body(void *context, const void *bytes, size_t length)
{
    struct stream *stream = context;
    struct err ignored;
    err_init(&ignored);
    if (!stream->is_good)
        return 0;
    return buf_add(&stream->received, bytes, length, &ignored);
}

static const char *find_last(const char *text, const char *word)
{
    const char *found = NULL;
    for (const char *at = text; at != NULL && (at = strstr(at, word)) != NULL; at++)
        found = at;
    return found;
}

/* The list's new place says where the repository is; its requests go there at once. */
static int follow(struct stream *stream, const char *target)
{
    struct git_http *git = stream->git;
    char shown[URL_TEXT_BYTES], here[URL_HOST_BYTES], there[URL_HOST_BYTES];
    url_redact(target != NULL ? target : "", shown, sizeof shown);
    const char *end = find_last(target, list_path);
    if (!stream->is_list || end == NULL || !url_is_http(target))
        return fail_with(-1, "it redirects to \"%s\", which is no Git repository's address", shown);
    if (++git->redirects > MOST_REDIRECTS)
        return fail_with(-1, "more than %d redirects, the last to %s", MOST_REDIRECTS, shown);
    if (strncasecmp(git->base, "https:", 6) == 0 && strncasecmp(target, "https:", 6) != 0)
        return fail_with(-1, "it redirects from https to %s, which is not followed", shown);
    char *base = strndup(target, (size_t)(end - target));
    if (base == NULL)
        return -1;
    if (strcmp(url_host(git->base, here, sizeof here), url_host(base, there, sizeof there)) != 0) {
        git->is_elsewhere = true;
        git->gives_login = false;
    }
    free(git->base);
    git->base = base;
    stream->is_again = true;
    return 0;
}

/* Once: a server that refuses it would be asked for ever. */
static int log_in(struct stream *stream)
{
    struct git_http *git = stream->git;
    if (git->gives_login || git->is_elsewhere || git->options->password == NULL)
        return fail(GIT_EAUTH, "HTTP 401");
    git->gives_login = stream->is_again = *git->has_given_it = true;
    return 0;
}

static int64_t now_ms(const struct git_http *git)
{
    return git->options->clock->monotonic_ms(git->options->clock->context);
}

/* What may pass is waited for, as with packages: each request says all that it needs, so it may be repeated
 * until libgit2 has begun with the answer. */
static bool will_try_again(struct stream *stream, const struct http_answer *answer, const char *cause)
{
    struct git_http *git = stream->git;
    const struct repository_options *options = git->options;
    const struct retry_policy *policy = options->retry;
    char duration[CLOCK_TEXT_BYTES];
    enum retry_class class = retry_classify(answer);
    bool may_pass = class == RETRY_TRANSIENT || (class == RETRY_TRANSIENT_ONCE && stream->failures == 0);
    if (policy == NULL || stream->has_delivered || !may_pass || stream->failures + 1 >= policy->rounds)
        return false;
    int64_t asked = retry_after_ms(answer, options->clock->wall_ms(options->clock->context));
    int64_t wait = retry_wait_ms(policy, stream->failures, asked, options->jitter);
    stream->due_ms = now_ms(git) + wait;
    if (asked > policy->retry_after_max_ms || (git->limit_ms > 0 && stream->due_ms >= git->limit_ms))
        return false;
    stream->failures++;
    buf_clear(&stream->received);
    stream->is_again = true;
    log_info(options->log, "wait", "the repository: %s; trying again in %s (attempt %lld of %lld)", cause,
             clock_duration_text(wait, duration), (long long)stream->failures + 1, (long long)policy->rounds);
    return true;
}

static int fail_or_wait(struct stream *stream, const struct http_answer *answer, const char *cause)
{
    if (will_try_again(stream, answer, cause))
        return 0;
    return stream->failures == 0
               ? fail(-1, cause)
               : fail_with(-1, "given up after %lld attempts: %s", (long long)stream->failures + 1, cause);
}

static int judge(struct stream *stream, const struct http_answer *answer)
{
    struct git_http *git = stream->git;
    char host[URL_HOST_BYTES], status[URL_HOST_BYTES + 128];
    if (answer->proxy_wants_login)
        return fail_with(-1, "the proxy %s asks for a login (407)", answer->proxy);
    const char *cause = answer->cause != NULL ? answer->cause : "the connection broke off";
    if (answer->is_untrusted)
        return fail(GIT_ECERTIFICATE, cause);
    if (answer->end != HTTP_ANSWERED)
        return fail_or_wait(stream, answer, cause);
    if (stream->is_good)
        return 0;
    if (answer->status >= 300 && answer->status <= 399)
        return follow(stream, answer->redirect_url);
    if (answer->status == 401)
        return log_in(stream);
    url_host(git->base, host, sizeof host);
    if (answer->status == 200)
        return fail_with(-1, "what %s answers is no Git repository (smart HTTP)", host);
    bool may_be_private = (answer->status == 403 || answer->status == 404) && !git->gives_login &&
                          strchr(git->options->url, '@') == NULL;
    snprintf(status, sizeof status, "HTTP %d from %s%s", answer->status, host,
             may_be_private ? " (if it is private: TENDER_GIT_USERNAME and TENDER_GIT_PASSWORD)" : "");
    return fail_or_wait(stream, answer, status);
}

static void on_done(void *context, struct http_answer *answer)
{
    struct stream *stream = context;
    stream->exchange = NULL;
    stream->code = judge(stream, answer);
    stream->is_over = !stream->is_again;
}

/* The user of the repository's URL, where the settings name none; a host that takes tokens wants some name.
 */
static void find_user(const struct repository_options *options, char *out, size_t size)
{
    const char *authority = strstr(options->url, "://");
    size_t length = authority == NULL ? 0 : strcspn(authority + 3, "/?#");
    const char *at = length == 0 ? NULL : memrchr(authority + 3, '@', length);
    snprintf(out, size, "git");
    if (!text_is_empty(options->username))
        snprintf(out, size, "%s", options->username);
    else if (at != NULL && at > authority + 3)
        snprintf(out, size, "%.*s", (int)strcspn(authority + 3, ":@"), authority + 3);
}

static int start(struct stream *stream)
{
    struct git_http *git = stream->git;
    static const char *const list_headers[HEADER_COUNT] = {"Accept: */*", "Pragma: no-cache"};
    static const char *const pack_headers[HEADER_COUNT] = {
        "Content-Type: application/x-git-upload-pack-request",
        "Accept: application/x-git-upload-pack-result"};
    char user[256];
    struct err e;
    err_init(&e);
    CLEANUP(buf_done) struct buf url = BUF_INIT(16 * 1024);
    int made = stream->is_list ? buf_printf(&url, &e, "%s%s%s", git->base, list_path, list_query)
                               : buf_printf(&url, &e, "%s/git-upload-pack", git->base);
    if (made < 0)
        return fail(-1, e.text);
    find_user(git->options, user, sizeof user);
    const struct http_request request = {
        .method = stream->is_list ? "GET" : "POST",
        .url = buf_text(&url),
        .headers = stream->is_list ? list_headers : pack_headers,
        .header_count = HEADER_COUNT,
        .body = stream->is_list ? NULL : buf_text(&stream->request),
        .body_length = stream->request.length,
        .version = HTTP_2_ALLOWED,
        .username = git->gives_login ? user : NULL,
        .password = git->gives_login ? git->options->password : NULL,
        .range_end = -1,
        .connect_timeout_ms = CONNECT_MS,
        .stall_bytes_per_s = 1,
        .stall_ms = STALL_MS,
        .on_headers = on_headers,
        .on_body = on_body,
        .on_done = on_done,
        .context = stream,
    };
    stream->is_again = stream->is_paused = false;
    stream->exchange = http_start(git->http, &request, &e);
    return stream->exchange == NULL ? fail(-1, e.text) : 0;
}

/* What libgit2 is slow to take must not fill the memory. */
static void pace(struct stream *stream)
{
    size_t waiting = stream->received.length - stream->taken;
    bool must_wait = waiting > ENOUGH_WAITING_BYTES;
    if (stream->exchange == NULL || must_wait == stream->is_paused)
        return;
    stream->is_paused = must_wait;
    http_pause(stream->exchange, must_wait);
}

static int step(struct stream *stream)
{
    struct git_http *git = stream->git;
    struct err e;
    err_init(&e);
    if (git->options->stop != NULL && *git->options->stop)
        return GIT_EUSER;
    int64_t until_ms = now_ms(git) + STEP_MS;
    if (stream->is_again && stream->due_ms < until_ms)
        until_ms = stream->due_ms;
    if (loop_step(git->loop, until_ms, &e) < 0)
        return fail(-1, e.text);
    if (stream->is_again && now_ms(git) >= stream->due_ms)
        return start(stream);
    return stream->code;
}

static int stream_read(git_smart_subtransport_stream *parent, char *out, size_t size, size_t *got)
{
    struct stream *stream = (struct stream *)parent;
    *got = 0;
    bool has_begun = stream->exchange != NULL || stream->is_again || stream->is_over;
    int code = has_begun ? 0 : start(stream);
    while (code == 0 && stream->received.length == stream->taken && !stream->is_over)
        code = step(stream);
    if (code != 0)
        return code;
    size_t waiting = stream->received.length - stream->taken;
    *got = waiting < size ? waiting : size;
    if (*got > 0)
        memcpy(out, stream->received.bytes + stream->taken, *got);
    stream->has_delivered = stream->has_delivered || *got > 0;
    stream->taken += *got;
    if (stream->taken == stream->received.length) {
        buf_clear(&stream->received);
        stream->taken = 0;
    }
    pace(stream);
    return *got == 0 ? stream->code : 0;
}

static int stream_write(git_smart_subtransport_stream *parent, const char *bytes, size_t length)
{
    struct stream *stream = (struct stream *)parent;
    struct err e;
    err_init(&e);
    return buf_add(&stream->request, bytes, length, &e) < 0 ? fail(-1, e.text) : 0;
}

static void stream_free(git_smart_subtransport_stream *parent)
{
    struct stream *stream = (struct stream *)parent;
    http_cancel(stream->exchange);
    buf_done(&stream->request);
    buf_done(&stream->received);
    free(stream);
}

static int on_action(git_smart_subtransport_stream **out, git_smart_subtransport *parent, const char *url,
                     git_smart_service_t action)
{
    (void)url; /* ours, which may have moved */
    if (action != GIT_SERVICE_UPLOADPACK_LS && action != GIT_SERVICE_UPLOADPACK)
        return fail(-1, "nothing is pushed");
    struct stream *stream = malloc(sizeof *stream);
    if (stream == NULL) {
        git_error_set_oom();
        return -1;
    }
    *stream = (struct stream){
        .parent = {.subtransport = parent, .read = stream_read, .write = stream_write, .free = stream_free},
        .git = (struct git_http *)parent,
        .is_list = action == GIT_SERVICE_UPLOADPACK_LS,
        .request = BUF_INIT(MOST_REQUEST_BYTES),
        .received = BUF_INIT(MOST_WAITING_BYTES),
    };
    *out = (git_smart_subtransport_stream *)stream; /* its first member */
    return 0;
}

static int on_close(git_smart_subtransport *parent)
{
    (void)parent;
    return 0;
}

static void git_http_free(struct git_http *git)
{
    http_free(git->http);
    loop_free(git->loop);
    free(git->base);
    free(git);
}

static void on_free(git_smart_subtransport *parent)
{
    git_http_free((struct git_http *)parent);
}

static int give(git_smart_subtransport **out, git_transport *owner, void *param)
{
    (void)owner;
    *out = param;
    return 0;
}

/* Without what may stand behind the path. */
static char *base_of(const char *url)
{
    size_t length = strcspn(url, "?#");
    while (length > 0 && url[length - 1] == '/')
        length--;
    return strndup(url, length);
}

int git_http_transport(git_transport **out, git_remote *owner, const struct repository_options *options,
                       bool *has_given_login)
{
    struct err e;
    err_init(&e);
    struct git_http *git = calloc(1, sizeof *git);
    if (git == NULL) {
        git_error_set_oom();
        return -1;
    }
    *git = (struct git_http){.parent = {.action = on_action, .close = on_close, .free = on_free},
                             .options = options,
                             .base = base_of(options->url),
                             .loop = loop_new(options->clock, &e),
                             .limit_ms = options->deadline_monotonic_ms,
                             .has_given_it = has_given_login};
    int64_t end_ms = options->timeout_ms > 0 ? now_ms(git) + options->timeout_ms : 0;
    if (end_ms > 0 && (git->limit_ms == 0 || end_ms < git->limit_ms))
        git->limit_ms = end_ms;
    if (git->loop != NULL) {
        const struct http_options http = {.loop = git->loop,
                                          .user_agent = "git/2.0 (tender)", /* hosts look for "git/" */
                                          .ca_file = options->ca_file,
                                          .clock = options->clock};
        git->http = http_new(&http, &e);
    }
    if (git->base == NULL || git->http == NULL) {
        git_http_free(git);
        return fail(-1, err_is_set(&e) ? e.text : "out of memory");
    }
    git_smart_subtransport_definition smart = {.callback = give, .rpc = 1, .param = git};
    return git_transport_smart(out, owner, &smart);
}
