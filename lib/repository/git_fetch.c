/* From a remote Git server into the bare mirror, over http by lib/net (git_http.c), over ssh and
 * from files by libgit2's own transports: credentials, and errors that name no secret. Runs in a child
 * process; git_child.c keeps the limits in time. */
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "repository/git.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { KEY_FILES = 3 };

struct watch {
    const struct repository_options *options;
    bool asked_password;
    bool asked_agent;
    int next_key;
};

/* Replaces every `needle` in `text` by "***". */
static void mask(char *text, const char *needle)
{
    size_t length = needle == NULL ? 0 : strlen(needle);
    if (length == 0)
        return;
    for (char *at = strstr(text, needle); at != NULL; at = strstr(at, needle)) {
        size_t kept = length < 3 ? length : 3;
        memset(at, '*', kept);
        memmove(at + kept, at + length, strlen(at + length) + 1);
        at += kept;
    }
}

/* The password inside the URL's userinfo, as written there. */
static void mask_userinfo(char *text, const char *url)
{
    const char *marker = strstr(url, "://");
    if (marker == NULL)
        return;
    const char *authority = marker + 3;
    const char *at = memrchr(authority, '@', strcspn(authority, "/?#"));
    if (at == NULL)
        return;
    CLEANUP(file_free_cleanup) char *userinfo = strndup(authority, (size_t)(at - authority));
    if (userinfo == NULL)
        return;
    char *colon = strchr(userinfo, ':');
    mask(text, userinfo);
    if (colon != NULL)
        mask(text, colon + 1);
}

/* Each word with "://" in it becomes what url_redact makes of it. */
static void redact_words(const char *text, char out[GIT_TEXT_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    while (*text != '\0' && used + 1 < GIT_TEXT_BYTES) {
        size_t length = strcspn(text, " \t'\"");
        char word[GIT_TEXT_BYTES];
        char shown[GIT_TEXT_BYTES];
        if (length == 0) {
            out[used++] = *text++;
            out[used] = '\0';
            continue;
        }
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        snprintf(shown, sizeof shown, "%s", word);
        if (strstr(word, "://") != NULL)
            url_redact(word, shown, sizeof shown);
        size_t more = strlen(shown);
        if (used + more >= GIT_TEXT_BYTES)
            return;
        memcpy(out + used, shown, more + 1);
        used += more;
        text += length;
    }
}

const char *git_reason(const struct repository_options *options, char out[GIT_TEXT_BYTES])
{
    const git_error *last = git_error_last();
    char first[GIT_TEXT_BYTES];
    const char *message = last == NULL || last->message == NULL ? "no reason given" : last->message;
    text_first_line(message, strlen(message), first, sizeof first);
    redact_words(first, out);
    if (options->url != NULL)
        mask_userinfo(out, options->url);
    mask(out, options->password);
    return out;
}

int git_fail(const struct repository_options *options, const char *context, struct err *e)
{
    char reason[GIT_TEXT_BYTES];
    const git_error *last = git_error_last();
    enum err_class class_ = last != NULL && last->klass == GIT_ERROR_NOMEMORY ? ERR_MEMORY : ERR_REPOSITORY;
    return err_set(e, class_, "%s: %s", context, git_reason(options, reason));
}

/* What libgit2 asks between reads: whether to go on. */
static int keep_going(const struct watch *watch)
{
    const bool *stop = watch->options->stop;
    return stop != NULL && *stop ? GIT_EUSER : 0;
}

static int on_progress(const git_indexer_progress *progress, void *payload)
{
    (void)progress;
    return keep_going(payload);
}

static int on_sideband(const char *text, int length, void *payload)
{
    (void)text;
    (void)length;
    return keep_going(payload);
}

static int use_key_file(git_credential **out, struct watch *watch, const char *user)
{
    static const char *const names[KEY_FILES] = {"id_ed25519", "id_ecdsa", "id_rsa"};
    while (watch->options->ssh_folder != NULL && watch->next_key < KEY_FILES) {
        char path[PATH_MAX];
        const char *name = names[watch->next_key++];
        int length = snprintf(path, sizeof path, "%s/%s", watch->options->ssh_folder, name);
        if (length < (int)sizeof path && access(path, R_OK) == 0)
            return git_credential_ssh_key_new(out, user, NULL, path, watch->options->password);
    }
    return GIT_EAUTH;
}

/* Each way is offered once: a server that refuses it would be asked for ever. */
static int on_credentials(git_credential **out, const char *url, const char *url_user, unsigned allowed,
                          void *payload)
{
    struct watch *watch = payload;
    const struct repository_options *options = watch->options;
    (void)url;
    if ((allowed & GIT_CREDENTIAL_SSH_KEY) != 0) {
        const char *user = url_user != NULL ? url_user : "git";
        if (!watch->asked_agent) {
            watch->asked_agent = true;
            return git_credential_ssh_key_from_agent(out, user);
        }
        return use_key_file(out, watch, user);
    }
    if ((allowed & GIT_CREDENTIAL_USERNAME) != 0)
        return git_credential_username_new(out, url_user != NULL ? url_user : "git");
    if ((allowed & GIT_CREDENTIAL_USERPASS_PLAINTEXT) == 0 || options->password == NULL ||
        watch->asked_password)
        return GIT_EAUTH;
    watch->asked_password = true;
    const char *user = !text_is_empty(options->username) ? options->username : url_user;
    /* Hosts that take tokens want some name beside it. */
    return git_credential_userpass_plaintext_new(out, user != NULL ? user : "git", options->password);
}

static bool is_mirror_trouble(int klass)
{
    switch (klass) {
    case GIT_ERROR_REFERENCE:
    case GIT_ERROR_ZLIB:
    case GIT_ERROR_ODB:
    case GIT_ERROR_OBJECT:
    case GIT_ERROR_TREE:
    case GIT_ERROR_INDEXER:
    case GIT_ERROR_FILESYSTEM:
    case GIT_ERROR_CONFIG:
        return true;
    default:
        return false;
    }
}

static enum fetch_result explain(const struct watch *watch, int code, struct err *e)
{
    const struct repository_options *options = watch->options;
    char url[URL_TEXT_BYTES];
    char reason[GIT_TEXT_BYTES];
    const git_error *last = git_error_last();
    int klass = last == NULL ? GIT_ERROR_NONE : last->klass;
    url_redact(options->url, url, sizeof url);
    git_reason(options, reason);
    if (options->stop != NULL && *options->stop) {
        err_fill(e, ERR_INTERRUPTED, "fetching %s was stopped by a signal", url);
        return FETCH_FATAL;
    }
    if (klass == GIT_ERROR_NOMEMORY) {
        err_fill(e, ERR_MEMORY, "out of memory while %s was fetched", url);
        return FETCH_FATAL;
    }
    if (code == GIT_EAUTH) {
        /* libgit2 gives no reason of its own here: what it said last is about something else. */
        bool were_given = watch->asked_password || watch->asked_agent || strchr(options->url, '@') != NULL;
        err_fill(
            e, ERR_REPOSITORY,
            "can't fetch %s: the server %s; set TENDER_GIT_USERNAME and TENDER_GIT_PASSWORD for https, or "
            "load a key into the ssh agent",
            url, were_given ? "refuses the credentials" : "asks for credentials, and none are given");
        return FETCH_DENIED;
    }
    if (code == GIT_ECERTIFICATE) {
        err_fill(
            e, ERR_REPOSITORY,
            "can't fetch %s: its certificate or host key is not trusted (%s); name the CA with --ca-file, "
            "or add the host to ~/.ssh/known_hosts",
            url, reason);
        return FETCH_DENIED;
    }
    /* libgit2 takes a path that does not exist for a URL of an unknown kind. */
    bool is_path = strchr(options->url, ':') == NULL;
    err_fill(e, ERR_REPOSITORY, "can't fetch %s: %s", url,
             is_path && access(options->url, F_OK) != 0 ? "there is no such folder" : reason);
    return is_mirror_trouble(klass) ? FETCH_MIRROR_BAD : FETCH_UNREACHABLE;
}

static int on_transport(git_transport **out, git_remote *owner, void *payload)
{
    struct watch *watch = payload;
    return git_http_transport(out, owner, watch->options, &watch->asked_password);
}

/* Its host can't be told with certainty: libgit2 would look up, and name, what may be part of a password. */
static bool is_unclear(const char *url)
{
    return (strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0) && !url_is_http(url);
}

enum fetch_result git_fetch_here(const char *mirror, const struct repository_options *options, struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (is_unclear(options->url)) {
        err_fill(e, ERR_REPOSITORY, "can't fetch %s: the URL can't be read",
                 url_redact(options->url, shown, sizeof shown));
        return FETCH_DENIED;
    }
    struct watch watch = {.options = options};
    /* HEAD by a name of its own: it may be detached, or its branch may be renamed later. */
    char heads[] = "+refs/heads/*:refs/heads/*";
    char tags[] = "+refs/tags/*:refs/tags/*";
    char head[] = "+HEAD:refs/tender/HEAD";
    char *specs[] = {heads, tags, head};
    const git_strarray refspecs = {.strings = specs, .count = ARRAY_LENGTH(specs)};
    git_fetch_options fetch;
    git_fetch_options_init(&fetch, GIT_FETCH_OPTIONS_VERSION);
    fetch.prune = GIT_FETCH_PRUNE;
    fetch.update_fetchhead = 0; /* it would write the URL, password and all, to the disk */
    fetch.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
    fetch.callbacks.transport = url_is_http(options->url) ? on_transport : NULL;
    fetch.callbacks.credentials = on_credentials;
    fetch.callbacks.transfer_progress = on_progress;
    fetch.callbacks.sideband_progress = on_sideband;
    fetch.callbacks.payload = &watch;
    /* `insteadOf` is not applied: libgit2 1.5 loses 20 KiB for each line of configuration that it compares,
     * which a loop would feel after some days. */
    git_remote_create_options create;
    git_remote_create_options_init(&create, GIT_REMOTE_CREATE_OPTIONS_VERSION);
    create.flags = GIT_REMOTE_CREATE_SKIP_INSTEADOF | GIT_REMOTE_CREATE_SKIP_DEFAULT_FETCHSPEC;
    git_error_clear();
    git_remote *remote = NULL;
    int code = git_repository_open_bare(&create.repository, mirror);
    if (code == 0)
        code = git_remote_create_with_opts(&remote, options->url, &create);
    if (code == 0)
        code = git_remote_fetch(remote, &refspecs, &fetch, NULL);
    enum fetch_result result = code == 0 ? FETCH_DONE : explain(&watch, code, e);
    git_remote_free(remote);
    git_repository_free(create.repository);
    return result;
}
