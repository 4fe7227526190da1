/* Reading requests, shared by the handlers. */
#include "parameters.h"
#include "access.h"
#include "base/text.h"
#include "json.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEFAULT_PER_PAGE = 20 };

bool query_number(const struct request *request, const char *key, json_int_t *out, bool *given,
                  struct answer *answer)
{
    const char *text = request->query(request, key);
    *given = text != NULL && text[0] != '\0';
    *out = 0;
    if (!*given)
        return true;
    char *end;
    *out = strtoll(text, &end, 10);
    if (*end == '\0' && isdigit((unsigned char)text[0]))
        return true;
    refuse(answer, REFUSE_UNDECODABLE, "base",
           "parsing %s: strconv.ParseUint: parsing \"%s\": invalid syntax", key, text);
    return false;
}

bool query_flag(const struct request *request, const char *key)
{
    const char *text = request->query(request, key);
    return text_equal(text, "true") || text_equal(text, "1");
}

bool query_team_to_write(const struct request *request, json_int_t *team_id, struct answer *answer)
{
    const char *name = request->query(request, "team_name");
    *team_id = 0;
    if (!text_is_empty(name)) {
        const json_t *team = store_team_named(&request->sim->store, name);
        if (team == NULL) {
            refuse(answer, REFUSE_NOT_FOUND, "base", "Team %s was not found in the datastore", name);
            return false;
        }
        *team_id = number_at(team, "id");
    }
    if (may_write_software(&request->caller, *team_id))
        return true;
    refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
    return false;
}

static bool page_number(const struct request *request, const char *key, json_int_t least, json_int_t *out,
                        bool *given, struct answer *answer)
{
    const char *text = request->query(request, key);
    *given = text != NULL && text[0] != '\0';
    *out = 0;
    if (!*given)
        return true;
    char *end;
    *out = strtoll(text, &end, 10);
    if (*end == '\0' && *out >= least)
        return true;
    refuse(answer, REFUSE_UNDECODABLE, "base", "invalid %s value", key);
    return false;
}

bool take_page(const struct request *request, const json_t *all, json_t **out, json_t *body,
               struct answer *answer)
{
    json_int_t page, per_page;
    bool page_given, per_page_given;
    if (!page_number(request, "page", 0, &page, &page_given, answer) ||
        !page_number(request, "per_page", 1, &per_page, &per_page_given, answer))
        return false;
    size_t count = json_array_size(all);
    size_t size = per_page_given ? (size_t)per_page : page_given ? DEFAULT_PER_PAGE : count;
    size_t first = (size_t)page > count ? count : (size_t)page * size;
    json_t *rows = new_array();
    for (size_t i = first; i < count && i - first < size; i++)
        append(rows, json_incref(json_array_get(all, i)));
    json_t *meta = new_object();
    put_flag(meta, "has_next_results", first + size < count);
    put_flag(meta, "has_previous_results", page > 0 && first < count);
    put(body, "meta", meta);
    *out = rows;
    return true;
}

/* Unknown ones and one given twice are the same to the server: it counts what it found. */
static json_t *label_ids(const struct request *request, const json_t *names)
{
    size_t i, j;
    json_t *name, *id;
    CLEANUP(json_cleanup) json_t *ids = new_array();
    json_array_foreach(names, i, name)
    {
        const json_t *label = store_label_named(&request->sim->store, json_string_value(name));
        if (label == NULL)
            return NULL;
        json_array_foreach(ids, j, id)
        {
            if (json_integer_value(id) == number_at(label, "id"))
                return NULL;
        }
        append(ids, new_number(number_at(label, "id")));
    }
    return TAKE(ids);
}

bool labels_by_name(const struct request *request, const json_t *include, const json_t *exclude,
                    json_t **include_ids, json_t **exclude_ids, struct answer *answer)
{
    if (json_array_size(include) > 0 && json_array_size(exclude) > 0) {
        refuse(answer, REFUSE_BAD_REQUEST, "base",
               "Only one of \"labels_include_any\" or \"labels_exclude_any\" can be included.");
        return false;
    }
    CLEANUP(json_cleanup) json_t *in = label_ids(request, include);
    CLEANUP(json_cleanup) json_t *out = label_ids(request, exclude);
    if (in == NULL || out == NULL) {
        refuse(answer, REFUSE_BAD_REQUEST, "base", "some or all the labels provided don't exist");
        return false;
    }
    *include_ids = TAKE(in);
    *exclude_ids = TAKE(out);
    return true;
}

json_t *labels_shown(struct store *store, const json_t *ids)
{
    size_t i;
    json_t *id;
    if (json_array_size(ids) == 0)
        return json_null();
    json_t *shown = new_array();
    json_array_foreach(ids, i, id)
    {
        const json_t *label = store_label(store, json_integer_value(id));
        json_t *row = new_object();
        put_text(row, "name", text_at(label, "name"));
        put(row, "id", json_incref(id));
        append(shown, row);
    }
    return shown;
}

static const char *const categories[] = {"Productivity", "Browsers", "Communication", "Developer tools"};

bool category_is_known(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(categories); i++)
        if (text_equal(categories[i], name))
            return true;
    return false;
}

json_t *categories_in_order(const json_t *names)
{
    size_t j;
    json_t *name;
    json_t *found = new_array();
    for (size_t i = 0; i < ARRAY_LENGTH(categories); i++) {
        bool wanted = false;
        json_array_foreach(names, j, name)
        {
            wanted = wanted || text_equal(json_string_value(name), categories[i]);
        }
        if (wanted)
            append(found, new_text(categories[i]));
    }
    if (json_array_size(found) > 0)
        return found;
    json_decref(found);
    return json_null();
}

static bool secret_is_known(struct store *store, const char *name, size_t length)
{
    size_t i;
    json_t *known;
    json_array_foreach(store_list(store, "secrets"), i, known)
    {
        const char *text = json_string_value(known);
        if (text != NULL && strlen(text) == length && strncmp(text, name, length) == 0)
            return true;
    }
    return false;
}

char *unknown_secret(struct store *store, const char *script)
{
    static const char prefix[] = "FLEET_SECRET_";
    for (const char *dollar = strchr(script, '$'); dollar != NULL; dollar = strchr(dollar + 1, '$')) {
        const char *word = dollar + 1 + (dollar[1] == '{');
        if (!text_starts_with(word, prefix))
            continue;
        const char *name = word + strlen(prefix);
        size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
        if (length == 0 || secret_is_known(store, name, length))
            continue;
        char *missing = copy_text(name);
        missing[length] = '\0';
        return missing;
    }
    return NULL;
}
