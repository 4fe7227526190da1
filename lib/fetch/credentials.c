/* Secrets come from tender.yml's variables, or from files that are read anew for each request, so that a
 * rotated one is taken without a restart. They are wiped behind the request. */
#include "fetch/credentials.h"
#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "fetch/origin.h"
#include <stdlib.h>
#include <string.h>

enum { SECRET_BYTES = 16 * 1024, NETRC_BYTES = 256 * 1024 };

/* The first line of a secret's file. */
static int read_secret(const char *path, const char *what, struct buf *into, const char **out, struct err *e)
{
    if (file_read(path, into, e) < 0) {
        e->class = ERR_CONFIG;
        return err_prefix(e, "%s", what);
    }
    if (into->bytes != NULL)
        into->bytes[strcspn(into->bytes, "\r\n")] = '\0';
    if (buf_text(into)[0] == '\0')
        return err_set(e, ERR_CONFIG, "%s: the first line of %s is empty", what, path);
    *out = buf_text(into);
    return 0;
}

static int find_in_rule(struct credentials *credentials, const struct source_rule *rule, struct err *e)
{
    credentials->header = rule->header;
    if (rule->client_cert != NULL) {
        credentials->client_cert = rule->client_cert;
        credentials->client_key = rule->client_key;
    }
    if (rule->header_file != NULL) {
        if (read_secret(rule->header_file, "header_file", &credentials->header_text, &credentials->header,
                        e) < 0)
            return -1;
        if (strchr(credentials->header, ':') == NULL)
            return err_set(e, ERR_CONFIG, "header_file: %s must hold \"Name: value\"", rule->header_file);
    }
    credentials->username = rule->username;
    credentials->password = rule->password;
    return rule->password_file == NULL ? 0
                                       : read_secret(rule->password_file, "password_file",
                                                     &credentials->password_text, &credentials->password, e);
}

/* Words as curl's and ftp's netrc have them; a quoted one may hold blanks. NULL: the end. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t\r\n");
    while (*word == '#') {
        word += strcspn(word, "\n");
        word += strspn(word, " \t\r\n");
    }
    if (*word == '\0')
        return NULL;
    bool is_quoted = *word == '"';
    word += is_quoted;
    char *end = word + strcspn(word, is_quoted ? "\"\n" : " \t\r\n");
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

bool netrc_find(char *text, const char *host, const char **username, const char **password)
{
    const char *login = NULL, *secret = NULL;
    bool is_ours = false;
    for (char *word; (word = next_word(&text)) != NULL;) {
        bool is_machine = strcmp(word, "machine") == 0, is_default = strcmp(word, "default") == 0;
        if ((is_machine || is_default) && is_ours && (login != NULL || secret != NULL))
            break;
        if (is_machine || strcmp(word, "login") == 0 || strcmp(word, "password") == 0 ||
            strcmp(word, "account") == 0) {
            char *value = next_word(&text);
            if (value == NULL)
                break;
            if (is_machine)
                is_ours = strcmp(value, host) == 0;
            else if (is_ours && word[0] == 'l')
                login = value;
            else if (is_ours && word[0] == 'p')
                secret = value;
        } else if (is_default) {
            is_ours = true;
        }
    }
    if (login == NULL && secret == NULL)
        return false;
    *username = login == NULL ? "" : login;
    *password = secret == NULL ? "" : secret;
    return true;
}

/* netrc knows no ports and no brackets. */
static void bare_host(const char *url, char host[URL_HOST_BYTES])
{
    url_host(url, host, URL_HOST_BYTES);
    if (host[0] == '[')
        memmove(host, host + 1, strlen(host));
    host[host[0] != '\0' && strchr(host, ']') != NULL ? strcspn(host, "]") : strcspn(host, ":")] = '\0';
}

static int find_in_netrc(struct credentials *credentials, const char *path, const char *url, struct err *e)
{
    char host[URL_HOST_BYTES];
    if (file_read(path, &credentials->netrc_text, e) < 0) {
        e->class = ERR_CONFIG;
        return err_prefix(e, "netrc_file");
    }
    bare_host(url, host);
    if (credentials->netrc_text.bytes != NULL)
        netrc_find(credentials->netrc_text.bytes, host, &credentials->username, &credentials->password);
    return 0;
}

int credentials_find(struct credentials *credentials, const struct settings *settings, const char *url,
                     const char *source_url, struct err *e)
{
    *credentials = (struct credentials){
        .header_text = BUF_INIT(SECRET_BYTES),
        .password_text = BUF_INIT(SECRET_BYTES),
        .netrc_text = BUF_INIT(NETRC_BYTES),
        .client_cert = settings->client_cert,
        .client_key = settings->client_key,
    };
    const struct source_rule *rule = settings_source_for(settings, url);
    if (rule != NULL && find_in_rule(credentials, rule, e) < 0)
        return -1;
    /* What stands in the URL itself is curl's to use. */
    if (origin_has_userinfo(url)) {
        credentials->username = credentials->password = NULL;
        return 0;
    }
    bool has_own = credentials->header != NULL || credentials->username != NULL;
    if (has_own || settings->netrc_file == NULL || !origin_is_same(url, source_url))
        return 0;
    return find_in_netrc(credentials, settings->netrc_file, url, e);
}

static void wipe(struct buf *text)
{
    if (text->bytes != NULL)
        explicit_bzero(text->bytes, text->length);
    buf_done(text);
}

void credentials_done(struct credentials *credentials)
{
    wipe(&credentials->header_text);
    wipe(&credentials->password_text);
    wipe(&credentials->netrc_text);
}

bool credentials_exist(const struct settings *settings, const char *url, const char *source_url)
{
    struct credentials credentials = {.header = NULL};
    struct err ignored;
    err_init(&ignored);
    bool exist = origin_has_userinfo(url) ||
                 (credentials_find(&credentials, settings, url, source_url, &ignored) == 0 &&
                  (credentials.header != NULL || credentials.username != NULL));
    if (!origin_has_userinfo(url))
        credentials_done(&credentials);
    return exist;
}
