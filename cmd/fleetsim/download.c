/* The batch worker's way to the package host: a small HTTP/1.1 client on a raw socket. */
#include "download.h"
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "json.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    REDIRECTS_MAX = 10,
    HEAD_MAX_BYTES = 64 * 1024,
    STREAM_BYTES = 256 * 1024,
    URL_MAX_BYTES = 8192,
    WAIT_MS = 100
};

/* One connection, read through a buffer. */
struct stream {
    struct sim *sim;
    int socket;
    char *bytes; /* owned, STREAM_BYTES */
    size_t from, to;
    char ends[160]; /* "127.0.0.1:54670->127.0.0.1:9090", for the error text */
};

struct target {
    char host[256], port[8];
    const char *path; /* with the query; points into the URL */
};

struct head {
    unsigned status;
    int64_t length; /* -1: not said */
    bool chunked;
    char location[URL_MAX_BYTES];
    char disposition[1024];
};

static void stream_done(struct stream *stream)
{
    file_close_cleanup(&stream->socket);
    free(stream->bytes);
    stream->bytes = NULL;
}

static bool split_url(const char *url, struct target *out)
{
    const char *host = url + strlen("http://");
    const char *end = host + strcspn(host, "/?#");
    const char *at = memchr(host, '@', (size_t)(end - host));
    if (at != NULL)
        host = at + 1;
    const char *colon = memchr(host, ':', (size_t)(end - host));
    const char *host_end = colon != NULL ? colon : end;
    snprintf(out->host, sizeof out->host, "%.*s", (int)(host_end - host), host);
    snprintf(out->port, sizeof out->port, "%.*s", colon != NULL ? (int)(end - colon - 1) : 2,
             colon != NULL ? colon + 1 : "80");
    out->path = end;
    return out->host[0] != '\0';
}

static void name_ends(struct stream *stream)
{
    struct sockaddr_in mine, theirs;
    socklen_t length = sizeof mine;
    char left[INET_ADDRSTRLEN] = "?", right[INET_ADDRSTRLEN] = "?";
    memset(&mine, 0, sizeof mine);
    memset(&theirs, 0, sizeof theirs);
    getsockname(stream->socket, (struct sockaddr *)&mine, &length);
    length = sizeof theirs;
    getpeername(stream->socket, (struct sockaddr *)&theirs, &length);
    inet_ntop(AF_INET, &mine.sin_addr, left, sizeof left);
    inet_ntop(AF_INET, &theirs.sin_addr, right, sizeof right);
    snprintf(stream->ends, sizeof stream->ends, "%s:%u->%s:%u", left, ntohs(mine.sin_port), right,
             ntohs(theirs.sin_port));
}

static int stream_connect(struct stream *stream, const struct target *target, struct err *e)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char shown[INET_ADDRSTRLEN] = "?";
    if (getaddrinfo(target->host, target->port, &hints, &found) != 0)
        return err_set(e, ERR_NETWORK, "dial tcp: lookup %s: no such host", target->host);
    const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)found->ai_addr;
    inet_ntop(AF_INET, &address->sin_addr, shown, sizeof shown);
    stream->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = stream->socket >= 0 && connect(stream->socket, found->ai_addr, found->ai_addrlen) == 0;
    int number = errno;
    freeaddrinfo(found);
    if (!connected)
        return err_set(e, ERR_NETWORK, "dial tcp %s:%s: connect: %s", shown, target->port,
                       number == ECONNREFUSED ? "connection refused" : strerror(number));
    name_ends(stream);
    return 0;
}

/* Something in the buffer: 1; the end: 0; trouble: -1. */
static int stream_fill(struct stream *stream, struct err *e)
{
    while (stream->from == stream->to) {
        struct pollfd item = {.fd = stream->socket, .events = POLLIN};
        if (sim_stopping(stream->sim))
            return err_set(e, ERR_INTERRUPTED, "context canceled");
        if (poll(&item, 1, WAIT_MS) <= 0)
            continue;
        ssize_t got = recv(stream->socket, stream->bytes, STREAM_BYTES, 0);
        if (got < 0)
            return err_set(e, ERR_NETWORK, "read tcp %s: read: %s", stream->ends,
                           errno == ECONNRESET ? "connection reset by peer" : strerror(errno));
        if (got == 0)
            return 0;
        stream->from = 0;
        stream->to = (size_t)got;
    }
    return 1;
}

/* A line without its end; -1 at the connection's end too. */
static int stream_line(struct stream *stream, char *out, size_t size, struct err *e)
{
    size_t used = 0;
    for (;;) {
        int filled = stream_fill(stream, e);
        if (filled < 0)
            return -1;
        if (filled == 0)
            return err_set(e, ERR_NETWORK, "EOF");
        char byte = stream->bytes[stream->from++];
        if (byte == '\n')
            break;
        if (used + 1 < size)
            out[used++] = byte;
    }
    if (used > 0 && out[used - 1] == '\r')
        used--;
    out[used] = '\0';
    return 0;
}

static int send_request(struct stream *stream, const struct target *target, struct err *e)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(HEAD_MAX_BYTES);
    bool is_default = text_equal(target->port, "80");
    if (buf_printf(&text, e,
                   "GET %s%s HTTP/1.1\r\nHost: %s%s%s\r\nUser-Agent: Go-http-client/1.1\r\nConnection: "
                   "close\r\n\r\n",
                   target->path[0] == '/' ? "" : "/", target->path, target->host, is_default ? "" : ":",
                   is_default ? "" : target->port) < 0)
        return -1;
    for (size_t at = 0; at < text.length;) {
        ssize_t sent = send(stream->socket, text.bytes + at, text.length - at, MSG_NOSIGNAL);
        if (sent < 0)
            return err_set_errno(e, "write tcp %s", stream->ends);
        at += (size_t)sent;
    }
    return 0;
}

static const char *header_value(const char *line, const char *name)
{
    size_t length = strlen(name);
    if (strncasecmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + strspn(line + length + 1, " \t");
}

static int read_head(struct stream *stream, struct head *out, struct err *e)
{
    char line[URL_MAX_BYTES] = "";
    *out = (struct head){.length = -1};
    if (stream_line(stream, line, sizeof line, e) < 0)
        return -1;
    const char *space = strchr(line, ' ');
    out->status = space != NULL ? (unsigned)strtoul(space + 1, NULL, 10) : 0;
    for (;;) {
        const char *value;
        if (stream_line(stream, line, sizeof line, e) < 0)
            return -1;
        if (line[0] == '\0')
            return 0;
        if ((value = header_value(line, "Content-Length")) != NULL)
            out->length = strtoll(value, NULL, 10);
        if ((value = header_value(line, "Transfer-Encoding")) != NULL)
            out->chunked = strcasestr(value, "chunked") != NULL;
        if ((value = header_value(line, "Location")) != NULL)
            snprintf(out->location, sizeof out->location, "%.*s", (int)sizeof out->location - 1, value);
        if ((value = header_value(line, "Content-Disposition")) != NULL)
            snprintf(out->disposition, sizeof out->disposition, "%.*s", (int)sizeof out->disposition - 1,
                     value);
    }
}

/* Up to `length` bytes into the file; -1 as length: to the connection's end. */
static int copy_bytes(struct stream *stream, int64_t length, int file, struct digest *digest, struct err *e)
{
    while (length != 0) {
        int filled = stream_fill(stream, e);
        if (filled < 0)
            return -1;
        if (filled == 0)
            return length < 0 ? 0 : err_set(e, ERR_NETWORK, "unexpected EOF");
        size_t piece = stream->to - stream->from;
        if (length > 0 && (int64_t)piece > length)
            piece = (size_t)length;
        if (digest_update(digest, stream->bytes + stream->from, piece, e) < 0 ||
            file_write_all(file, stream->bytes + stream->from, piece, e) < 0)
            return -1;
        stream->from += piece;
        if (length > 0)
            length -= (int64_t)piece;
    }
    return 0;
}

static int copy_chunks(struct stream *stream, int file, struct digest *digest, struct err *e)
{
    char line[256];
    for (;;) {
        if (stream_line(stream, line, sizeof line, e) < 0)
            return -1;
        int64_t length = strtoll(line, NULL, 16);
        if (copy_bytes(stream, length, file, digest, e) < 0 || stream_line(stream, line, sizeof line, e) < 0)
            return -1;
        if (length == 0)
            return 0;
    }
}

static int copy_body(struct stream *stream, const struct head *head, struct download *out, struct err *e)
{
    CLEANUP(digest_cleanup) struct digest *digest = digest_new(e);
    CLEANUP(file_close_cleanup) int file = open(out->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (digest == NULL)
        return -1;
    if (file < 0)
        return err_set_errno(e, "can't create %s", out->path);
    int result = head->chunked ? copy_chunks(stream, file, digest, e)
                               : copy_bytes(stream, head->length, file, digest, e);
    return result < 0 ? -1 : digest_finish(digest, out->sha256, e);
}

/* filename="…" of Content-Disposition, else the last part of the URL's path. */
static void choose_file_name(const struct head *head, const char *url, char *out, size_t size)
{
    const char *name = strcasestr(head->disposition, "filename=");
    if (name == NULL) {
        url_file_name(url, out, size);
        return;
    }
    name += strlen("filename=");
    bool quoted = *name == '"';
    snprintf(out, size, "%.*s", (int)strcspn(name + quoted, quoted ? "\"" : ";"), name + quoted);
    char *slash = strrchr(out, '/');
    if (slash != NULL)
        memmove(out, slash + 1, strlen(slash));
}

static int check_status(const struct head *head, const char *url, struct err *e)
{
    static const char what[] = "validation failed: software.url Couldn't edit software. URL";
    if (head->status == 404)
        return err_set(
            e, ERR_SERVER,
            "%s (\"%s\") returned \"Not Found\". Please make sure that URLs are reachable from your Fleet "
            "server.",
            what, url);
    if (head->status < 200 || head->status > 299)
        return err_set(e, ERR_SERVER, "%s (\"%s\") received response status code %u.", what, url,
                       head->status);
    return 0;
}

/* One hop. *next gets a redirect's target, else "". */
static int fetch_hop(struct sim *sim, const char *first_url, const char *url, char *next, size_t next_size,
                     struct download *out, struct err *e)
{
    CLEANUP(stream_done) struct stream stream = {.sim = sim, .socket = -1, .bytes = allocate(STREAM_BYTES)};
    struct target target;
    struct head head = {.status = 0};
    int scheme = (int)strcspn(url, ":");
    if (!text_starts_with(url, "http://") || !split_url(url, &target))
        err_fill(e, ERR_NETWORK, "unsupported protocol scheme \"%.*s\"", scheme, url);
    else if (stream_connect(&stream, &target, e) == 0 && send_request(&stream, &target, e) == 0)
        if (read_head(&stream, &head, e) < 0 && !err_is_set(e))
            err_fill(e, ERR_NETWORK, "EOF");
    if (err_is_set(e))
        return err_prefix(e, "performing request for URL \"%s\": Get \"%s\"", first_url, url);
    next[0] = '\0';
    if (head.status >= 301 && head.status <= 308 && head.status != 304 && head.location[0] != '\0') {
        if (head.location[0] == '/')
            snprintf(next, next_size, "http://%s:%s%s", target.host, target.port, head.location);
        else
            snprintf(next, next_size, "%s", head.location);
        return 0;
    }
    if (check_status(&head, first_url, e) < 0)
        return -1;
    choose_file_name(&head, url, out->file_name, sizeof out->file_name);
    if (copy_body(&stream, &head, out, e) < 0)
        return err_prefix(e, "reading installer \"%s\" contents", first_url);
    return 0;
}

int download_fetch(struct sim *sim, const char *url, struct download *out, struct err *e)
{
    char here[URL_MAX_BYTES + 512], next[URL_MAX_BYTES + 512];
    *out = (struct download){.path = store_temporary_path(&sim->store)};
    snprintf(here, sizeof here, "%s", url);
    for (int hop = 0; hop <= REDIRECTS_MAX; hop++) {
        if (fetch_hop(sim, url, here, next, sizeof next, out, e) < 0)
            return -1;
        if (next[0] == '\0')
            return 0;
        memcpy(here, next, sizeof here);
    }
    return err_set(e, ERR_NETWORK,
                   "performing request for URL \"%s\": Get \"%s\": stopped after %d redirects", url, here,
                   REDIRECTS_MAX);
}

void download_done(struct download *download)
{
    if (download->path != NULL)
        unlink(download->path);
    free(download->path);
    download->path = NULL;
}
