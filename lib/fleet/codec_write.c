/* From the model to the bodies of Fleet's calls, and what the calls that write answer. */
#include "base/text.h"
#include "base/url.h"
#include "fleet/codec.h"
#include "fleet/json_read.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static int unreadable(const char *what, const char *body, size_t length, struct err *e)
{
    char line[120];
    return err_set(e, ERR_SERVER, "the server's answer to %s makes no sense: \"%s\"", what,
                   codec_redact_text(body, length, line, sizeof line));
}

static json_t *load(const char *body, size_t length)
{
    return json_loadb(body == NULL ? "" : body, length, 0, NULL);
}

int codec_package_answer(const char *body, size_t length, struct package_answer *out, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = load(body, length);
    const json_t *package = json_object_get(root, "software_package");
    if (!json_is_object(package))
        package = json_object_get(root, "software_installer");
    if (!json_is_object(package))
        return unreadable("a package", body, length, e);
    *out = (struct package_answer){.title_id = json_number(package, "title_id")};
    const char *sha256 = json_text(package, "hash_sha256", "");
    if (digest_is_hex(sha256))
        for (size_t i = 0; i < DIGEST_HEX_BYTES - 1; i++)
            out->sha256[i] = (char)tolower((unsigned char)sha256[i]);
    return 0;
}

int codec_batch_started(const char *body, size_t length, char id[BATCH_ID_BYTES], struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = load(body, length);
    const char *text = json_text(root, "request_uuid", "");
    size_t size = strlen(text);
    if (size == 0 || size >= BATCH_ID_BYTES || strspn(text, "0123456789abcdefABCDEF-") != size)
        return unreadable("the team's batch", body, length, e);
    memcpy(id, text, size + 1);
    return 0;
}

int codec_batch_answer(const char *body, size_t length, struct batch_answer *out, struct err *e)
{
    static const struct {
        const char *word;
        enum batch_state state;
    } states[] = {
        {"processing", BATCH_PROCESSING},
        {"completed", BATCH_COMPLETED},
        {"failed", BATCH_FAILED},
    };
    CLEANUP(json_cleanup) json_t *root = load(body, length);
    const char *status = json_text(root, "status", "");
    const char *message = json_text(root, "message", "");
    for (size_t i = 0; i < ARRAY_LENGTH(states); i++) {
        if (strcmp(status, states[i].word) != 0)
            continue;
        out->state = states[i].state;
        codec_redact_text(message, strlen(message), out->message, sizeof out->message);
        return 0;
    }
    return unreadable("how the team's batch stands", body, length, e);
}

static const json_t *first_error(const json_t *root)
{
    return json_array_get(json_object_get(root, "errors"), 0);
}

void codec_refusal(const char *body, size_t length, struct refusal *out)
{
    CLEANUP(json_cleanup) json_t *root = load(body, length);
    const char *message = json_text(root, "message", NULL);
    const char *reason = json_text(first_error(root), "reason", message);
    out->is_fleet_json = reason != NULL;
    if (reason != NULL)
        codec_redact_text(reason, strlen(reason), out->reason, sizeof out->reason);
    else
        codec_redact_text(body, length < 200 ? length : 200, out->reason, sizeof out->reason);
}

/* Where the URL that has its "://" at `marker` begins: letters, digits, '+', '-', '.' before it. */
static size_t scheme_start(const char *text, size_t marker)
{
    size_t start = marker;
    while (start > 0 && (isalnum((unsigned char)text[start - 1]) || strchr("+-.", text[start - 1]) != NULL))
        start--;
    return start;
}

/* The text's first line without blanks at its ends. */
static void one_line(const char **text, size_t *length)
{
    while (*length > 0 && isspace((unsigned char)**text))
        (*text)++, (*length)--;
    for (size_t i = 0; i < *length; i++)
        if ((*text)[i] == '\n' || (*text)[i] == '\r' || (*text)[i] == '\0')
            *length = i;
    while (*length > 0 && isspace((unsigned char)(*text)[*length - 1]))
        (*length)--;
}

const char *codec_redact_text(const char *text, size_t length, char *out, size_t size)
{
    char whole[4096];
    size_t used = 0;
    one_line(&text, &length);
    for (size_t i = 0; i < length && used + URL_TEXT_BYTES < sizeof whole;) {
        const char *marker = memmem(text + i, length - i, "://", 3);
        size_t start = marker == NULL ? length : scheme_start(text, (size_t)(marker - text));
        start = start < i ? i : start;
        size_t plain = start - i < sizeof whole - URL_TEXT_BYTES - used
                           ? start - i
                           : sizeof whole - URL_TEXT_BYTES - used;
        memcpy(whole + used, text + i, plain);
        used += plain;
        i = start;
        if (marker == NULL)
            break;
        char url[4096];
        size_t end = 0;
        while (i + end < length && !isspace((unsigned char)text[i + end]) &&
               strchr("\"'<>`", text[i + end]) == NULL)
            end++;
        snprintf(url, sizeof url, "%.*s", (int)(end < sizeof url ? end : sizeof url - 1), text + i);
        used += strlen(url_redact(url, whole + used, URL_TEXT_BYTES));
        i += end;
    }
    return text_first_line(whole, used, out, size);
}

static int dump(json_t *root, bool is_whole, struct buf *out, struct err *e)
{
    char *text = is_whole && root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;
    if (text == NULL)
        return err_set(e, ERR_MEMORY, "out of memory while writing a request");
    int result = buf_add_text(out, text, e);
    /* Bodies may hold secret variables: they do not stay in freed memory. */
    explicit_bzero(text, strlen(text));
    free(text);
    return result;
}

/* Texts of scripts may hold any bytes; what is not UTF-8 can't be said in JSON and fails here, named. */
static bool put_text(json_t *object, const char *key, const char *text)
{
    return text == NULL || json_object_set_new(object, key, json_string(text)) == 0;
}

static bool put_names(json_t *object, const char *key, const struct string_list *names)
{
    json_t *list = json_array();
    bool done = list != NULL;
    for (size_t i = 0; done && i < names->count; i++)
        done = json_array_append_new(list, json_string(names->items[i])) == 0;
    return json_object_set_new(object, key, list) == 0 && done;
}

static bool put_flag(json_t *object, const char *key, enum tristate flag)
{
    return flag == TRISTATE_ABSENT ||
           json_object_set_new(object, key, json_boolean(flag == TRISTATE_TRUE)) == 0;
}

static json_t *batch_item(const struct package_fields *item)
{
    json_t *object = json_object();
    bool done = object != NULL && put_text(object, "url", item->url) &&
                put_text(object, "sha256", item->sha256) &&
                put_text(object, "install_script", item->install_script) &&
                put_text(object, "uninstall_script", item->uninstall_script) &&
                put_text(object, "post_install_script", item->post_install_script) &&
                put_text(object, "pre_install_query", item->pre_install_query) &&
                put_flag(object, "self_service", item->self_service) &&
                put_flag(object, "install_during_setup", item->install_during_setup) &&
                put_text(object, "display_name", item->display_name);
    if (done && item->label_mode != LABELS_NONE && item->labels.count > 0)
        done = put_names(object, label_mode_name(item->label_mode), &item->labels);
    if (done && item->categories.is_set && item->categories.count > 0)
        done = put_names(object, "categories", &item->categories);
    if (done)
        return object;
    json_decref(object);
    return NULL;
}

static int check_texts(const struct package_fields *item, struct err *e)
{
    const struct {
        const char *name, *text;
    } texts[] = {
        {"install_script", item->install_script},
        {"uninstall_script", item->uninstall_script},
        {"post_install_script", item->post_install_script},
        {"pre_install_query", item->pre_install_query},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        if (texts[i].text != NULL && !text_is_utf8(texts[i].text, strlen(texts[i].text), NULL))
            return err_set(e, ERR_MANIFEST, "its %s is not UTF-8 text, so the batch call can't carry it",
                           texts[i].name);
    return 0;
}

int codec_write_batch(const struct package_fields *items, size_t count, struct buf *out, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = json_object();
    json_t *list = json_array();
    bool done = json_object_set_new(root, "software", list) == 0;
    for (size_t i = 0; i < count && done; i++) {
        if (check_texts(&items[i], e) < 0)
            return -1;
        done = json_array_append_new(list, batch_item(&items[i])) == 0;
    }
    return dump(root, done, out, e);
}

int codec_write_team(const char *name, struct buf *out, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = json_object();
    return dump(root, root != NULL && put_text(root, "name", name), out, e);
}

int codec_write_setup_experience(const char *platform, int64_t team_id, const int64_t *title_ids,
                                 size_t count, struct buf *out, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = json_object();
    json_t *ids = json_array();
    bool done = json_object_set_new(root, "software_title_ids", ids) == 0 &&
                put_text(root, "platform", platform) &&
                json_object_set_new(root, "team_id", json_integer(team_id)) == 0;
    for (size_t i = 0; i < count && done; i++)
        done = json_array_append_new(ids, json_integer(title_ids[i])) == 0;
    return dump(root, done, out, e);
}

int codec_write_secrets(const struct secret_value *secrets, size_t count, struct buf *out, struct err *e)
{
    CLEANUP(json_cleanup) json_t *root = json_object();
    json_t *list = json_array();
    bool done = json_object_set_new(root, "secrets", list) == 0;
    for (size_t i = 0; i < count && done; i++) {
        json_t *entry = json_object();
        done = json_array_append_new(list, entry) == 0 && put_text(entry, "name", secrets[i].name) &&
               put_text(entry, "value", secrets[i].value);
    }
    return dump(root, done, out, e);
}
