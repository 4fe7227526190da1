/* tender.yml's `backup_urls` laid over the packages that they are for, when all teams were read: the package
 * files stay as fleetctl accepts them. */
#include "base/text.h"
#include "base/url.h"
#include "manifest/schema.h"
#include <string.h>

/* Each rule, and whether a package was found for it. */
struct backup {
    const struct backup_rule *rule;
    bool is_used;
};

static const char *key_of(const struct backup_rule *rule)
{
    return rule->url != NULL ? rule->url : rule->package_file;
}

static bool has(const struct software_item *item, const char *const *urls, size_t count, const char *url)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(urls[i], url) == 0)
            return true;
    return text_equal(item->url, url);
}

static int append(struct load *load, struct software_item *item, const struct string_list *more,
                  struct err *e)
{
    size_t count = item->backup_urls.count;
    const char **urls = arena_alloc_array(load->arena, count + more->count, sizeof *urls, e);
    if (urls == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        urls[i] = item->backup_urls.items[i];
    for (size_t i = 0; i < more->count; i++)
        if (!has(item, urls, count, more->items[i]))
            urls[count++] = more->items[i];
    item->backup_urls = (struct string_list){.is_set = true, .count = count, .items = urls};
    return 0;
}

static int apply(struct load *load, const struct map *by_key, struct backup *backups,
                 struct software_item *item, struct err *e)
{
    const char *const keys[] = {item->package_file, item->url};
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        if (text_is_empty(keys[i]))
            continue;
        const struct backup *found = map_get(by_key, keys[i]);
        if (found == NULL)
            continue;
        backups[found - backups].is_used = true;
        if (append(load, item, &found->rule->urls, e) < 0)
            return -1;
    }
    return 0;
}

static int complain(struct load *load, const struct backup_rule *rule, enum rule failed, const char *advice,
                    const char *text, struct err *e)
{
    struct yaml_file *file;
    return settings_reopen(load, &file, e) < 0
               ? -1
               : diagnose(load, failed, file, rule->place, advice, e, "%s", text);
}

/* A file with several packages: which of them would lie there? */
static int check_single(struct load *load, const struct backup_rule *rule, struct err *e)
{
    const struct package_file *file =
        rule->package_file == NULL ? NULL : map_get(&load->packages, rule->package_file);
    if (file == NULL || file->count < 2)
        return 0;
    const char *text =
        arena_printf(load->arena, e, "%s has %zu packages: backup URLs by file are for a file with one",
                     rule->package_file, file->count);
    return text == NULL
               ? -1
               : complain(load, rule, RULE_BACKUP_URLS, "name the URL of the package that is meant", text, e);
}

/* `may_be_hidden`: the package may be one of those with a mistake. */
static int tell_unused(struct load *load, const struct backup_rule *rule, bool all_teams, bool may_be_hidden,
                       struct err *e)
{
    char shown[URL_TEXT_BYTES];
    struct yaml_file file;
    struct file_problem problem = {.text = NULL};
    const char *advice = NULL;
    const char *text;
    if (rule->package_file != NULL && reference_read(load, rule->package_file, &file, &problem, e) < 0)
        return -1;
    if (problem.text != NULL)
        return reference_advice(load, rule->package_file, &advice, e) < 0
                   ? -1
                   : complain(load, rule, RULE_BACKUP_URLS, advice, problem.text, e);
    if (!all_teams || (rule->url != NULL && may_be_hidden))
        return 0;
    if (rule->url != NULL)
        text = arena_printf(load->arena, e, "no package has the URL %s",
                            url_redact(rule->url, shown, sizeof shown));
    else if (map_get(&load->packages, rule->package_file) != NULL)
        return 0; /* a team names it, in an entry with a mistake */
    else
        text = arena_printf(load->arena, e, "no team has the package file %s", rule->package_file);
    return text == NULL ? -1 : complain(load, rule, RULE_UNUSED_SETTING, NULL, text, e);
}

int backups_apply(struct load *load, struct desired_team *teams, size_t count, struct err *e)
{
    const struct settings *settings = load->options->settings;
    struct map by_key = {.count = 0};
    if (settings == NULL || settings->backup_count == 0)
        return 0;
    bool all_teams = settings_name_teams(load);
    bool may_be_hidden = load->error_count > 0;
    struct backup *backups = arena_alloc_array(load->arena, settings->backup_count, sizeof *backups, e);
    if (backups == NULL)
        return -1;
    for (size_t i = 0; i < settings->backup_count; i++) {
        backups[i].rule = &settings->backups[i];
        if (map_put(&by_key, load->arena, key_of(backups[i].rule), &backups[i], e) < 0)
            return -1;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < teams[i].packages.count; k++)
            if (teams[i].packages.items[k].kind == SOFTWARE_PACKAGE &&
                apply(load, &by_key, backups, &teams[i].packages.items[k], e) < 0)
                return -1;
    for (size_t i = 0; i < settings->backup_count; i++)
        if (backups[i].is_used ? check_single(load, backups[i].rule, e) < 0
                               : tell_unused(load, backups[i].rule, all_teams, may_be_hidden, e) < 0)
            return -1;
    return 0;
}
