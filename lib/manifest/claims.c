/* What identifies an item (its URL, digest, file, slug or id) belongs to one entry of a team, and of a
 * package file: a second one that has it is told, with the first. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/schema.h"
#include <ctype.h>
#include <string.h>

struct claimant {
    const char *label; /* as a message may show it */
    struct place place;
};

static const char *label_of(struct load *load, const struct software_item *item, struct err *e)
{
    char shown[URL_TEXT_BYTES];
    if (item->script.path != NULL)
        return item->script.path;
    if (!text_is_empty(item->package_file))
        return item->package_file;
    if (item->url != NULL)
        return arena_strdup(load->arena, url_redact(item->url, shown, sizeof shown), e);
    if (item->sha256 != NULL)
        return item->sha256;
    if (item->slug != NULL)
        return item->slug;
    return item->platform == NULL
               ? arena_printf(load->arena, e, "%s (for darwin, ios and ipados)", item->app_store_id)
               : arena_printf(load->arena, e, "%s for %s", item->app_store_id, item->platform);
}

/* `label` is NULL, and so is what this returns, when out of memory. */
static const struct claimant *new_claimant(struct load *load, const char *label, const struct yaml_node *node,
                                           struct err *e)
{
    struct claimant *claimant = label == NULL ? NULL : arena_alloc(load->arena, sizeof *claimant, e);
    if (claimant != NULL)
        *claimant = (struct claimant){.label = label, .place = yaml_use_place(node)};
    return claimant;
}

/* Gives `key` to the entry; *holder is who had it before, NULL if nobody. */
static int claim(struct load *load, struct map *holders, const char *key, const struct claimant *claimant,
                 const struct claimant **holder, struct err *e)
{
    struct map_slot *slot = map_slot(holders, load->arena, key, e);
    if (slot == NULL)
        return -1;
    *holder = slot->value;
    if (slot->value == NULL)
        slot->value = claimant;
    return 0;
}

static int tell(struct load *load, enum claim what, const struct claimant *claimant,
                const struct claimant *holder, const struct yaml_node *node, struct err *e)
{
    static const char *const words[] = {[CLAIM_FILE] = "file",
                                        [CLAIM_URL] = "URL",
                                        [CLAIM_DIGEST] = "bytes (SHA-256)",
                                        [CLAIM_SLUG] = "app",
                                        [CLAIM_STORE] = "app"};
    return diagnose(load, RULE_REPEATED_SOFTWARE, node->file, claimant->place, "remove one of the two", e,
                    "%s: the same %s as %s in line %d; a team can have it once", claimant->label, words[what],
                    holder->label, holder->place.line);
}

/* Then they were compared where that file was read. */
static bool are_of_one_file(const struct claimant *a, const struct claimant *b)
{
    return a->place.line == b->place.line && a->place.column == b->place.column &&
           strcmp(a->label, b->label) == 0;
}

/* Small letters, digits, dots and hyphens up to the path, as nearly all are. */
static bool is_plain(const char *url)
{
    const char *at = url;
    if (strncmp(at, "http", 4) != 0)
        return false;
    at += at[4] == 's' ? 5 : 4;
    if (strncmp(at, "://", 3) != 0)
        return false;
    for (at += 3; (*at >= 'a' && *at <= 'z') || (*at >= '-' && *at <= '9' && *at != '/'); at++)
        ;
    return *at == '/';
}

const char *claims_url(struct load *load, const char *url, struct err *e)
{
    char host[URL_HOST_BYTES];
    if (is_plain(url) || !url_is_http(url) || url_host(url, host, sizeof host)[0] == '\0')
        return url;
    const char *authority = strstr(url, "://") + strlen("://");
    size_t length = strcspn(authority, "/?#");
    const char *at = memrchr(authority, '@', length);
    size_t userinfo = at == NULL ? 0 : (size_t)(at + 1 - authority);
    bool is_https = tolower((unsigned char)url[4]) == 's';
    const char *default_port = is_https ? ":443" : ":80";
    size_t shown = strlen(host) - (text_ends_with(host, default_port) ? strlen(default_port) : 0);
    return arena_printf(load->arena, e, "%s://%.*s%.*s%s", is_https ? "https" : "http", (int)userinfo,
                        authority, (int)shown, host, authority + length);
}

struct claim_key {
    enum claim what;
    const char *key; /* NULL: the item has none */
};
enum { STORE_KEYS = 3, KEYS_MAX = CLAIM_COUNT - 1 + STORE_KEYS };

/* Without a platform, an app is for all of Apple's. */
static int store_keys(struct load *load, const struct software_item *item, struct claim_key *keys,
                      struct err *e)
{
    static const char *const apple[STORE_KEYS] = {"darwin", "ios", "ipados"};
    size_t count = item->app_store_id == NULL ? 0 : item->platform != NULL ? 1 : STORE_KEYS;
    for (size_t i = 0; i < count; i++) {
        const char *platform = item->platform != NULL ? item->platform : apple[i];
        keys[i].what = CLAIM_STORE;
        keys[i].key = arena_printf(load->arena, e, "%s/%s", item->app_store_id, platform);
        if (keys[i].key == NULL)
            return -1;
    }
    return 0;
}

static int list_keys(struct load *load, const struct software_item *item, struct claim_key keys[KEYS_MAX],
                     struct err *e)
{
    keys[0] = (struct claim_key){CLAIM_FILE, item->script.path};
    keys[1] = (struct claim_key){CLAIM_URL, item->url == NULL ? NULL : claims_url(load, item->url, e)};
    keys[2] = (struct claim_key){CLAIM_DIGEST, item->sha256};
    keys[3] = (struct claim_key){CLAIM_SLUG, item->slug};
    if (item->url != NULL && keys[1].key == NULL)
        return -1;
    return store_keys(load, item, keys + 4, e);
}

int claims_add(struct load *load, struct claims *claims, const struct software_item *item,
               const struct yaml_node *node, bool *has_errors, struct err *e)
{
    struct claim_key keys[KEYS_MAX] = {{.key = NULL}};
    const struct claimant *holders[KEYS_MAX] = {NULL};
    const struct claimant *claimant = NULL;
    if (list_keys(load, item, keys, e) < 0)
        return -1;
    for (size_t i = 0; i < KEYS_MAX; i++) {
        if (keys[i].key == NULL)
            continue;
        if (claimant == NULL)
            claimant = new_claimant(load, label_of(load, item, e), node, e);
        if (claimant == NULL ||
            claim(load, &claims->holders[keys[i].what], keys[i].key, claimant, &holders[i], e) < 0)
            return -1;
        bool is_told = holders[i] == NULL || are_of_one_file(holders[i], claimant);
        for (size_t k = 0; k < i; k++)
            is_told = is_told || holders[k] == holders[i];
        if (is_told)
            continue;
        *has_errors = true;
        if (tell(load, keys[i].what, claimant, holders[i], node, e) < 0)
            return -1;
    }
    return 0;
}

int claims_add_file(struct load *load, const char *path, const struct yaml_node *node, bool *is_twice,
                    struct err *e)
{
    const struct claimant *holder;
    const struct claimant *claimant = new_claimant(load, path, node, e);
    if (claimant == NULL || claim(load, &load->claims->holders[CLAIM_FILE], path, claimant, &holder, e) < 0)
        return -1;
    *is_twice = holder != NULL;
    return holder == NULL ? 0 : tell(load, CLAIM_FILE, claimant, holder, node, e);
}
