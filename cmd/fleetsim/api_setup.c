/* Software that is installed while a computer is set up: in this version on Macs only. */
#include "access.h"
#include "base/text.h"
#include "json.h"
#include "parameters.h"
#include "routes.h"
#include "software.h"
#include <stdio.h>
#include <string.h>

void list_setup_software(struct request *request, struct answer *answer)
{
    json_int_t team_id;
    bool given;
    json_t *page;
    if (!query_number(request, "team_id", &team_id, &given, answer))
        return;
    if (!may_read_software(request->sim, &request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    const char *platform = request->query(request, "platform");
    bool is_mac = text_is_empty(platform) || text_equal(platform, "macos") || text_equal(platform, "darwin");
    CLEANUP(json_cleanup)
    json_t *rows = is_mac ? titles_of_team(&request->sim->store, team_id, "darwin", true) : new_array();
    CLEANUP(json_cleanup) json_t *body = new_object();
    if (!take_page(request, rows, &page, body, answer))
        return;
    if (json_array_size(page) == 0) {
        json_decref(page);
        page = json_null();
    }
    put(body, "software_titles", page);
    put_number(body, "count", (json_int_t)json_array_size(rows));
    answer_json(answer, 200, TAKE(body));
}

static bool has_number(const json_t *numbers, json_int_t number)
{
    size_t i;
    json_t *candidate;
    json_array_foreach(numbers, i, candidate)
    {
        if (json_integer_value(candidate) == number)
            return true;
    }
    return false;
}

/* Each title must be the team's, and for the Mac. These refusals are 500, for good. */
static bool titles_are_fine(struct store *store, json_int_t team_id, const json_t *ids, struct answer *answer)
{
    size_t i;
    json_t *id;
    char missing[1024] = "";
    json_array_foreach(ids, i, id)
    {
        json_int_t title_id = json_integer_value(id);
        const json_t *installer = store_installer(store, team_id, title_id);
        const json_t *item = installer != NULL ? installer : store_app(store, team_id, title_id);
        size_t used = strlen(missing);
        if (item == NULL) {
            snprintf(missing + used, sizeof missing - used, "%s%lld", used > 0 ? ", " : "",
                     (long long)title_id);
        } else if (!text_equal(text_at(item, "platform"), "darwin")) {
            refuse(answer, REFUSE_INTERNAL, "base",
                   "only MacOS supported, unsupported software installer: %lld (%s, %s)",
                   (long long)number_at(item, "id"), text_at(store_title(store, title_id), "name"),
                   text_at(item, "platform"));
            return false;
        }
    }
    if (missing[0] == '\0')
        return true;
    refuse(answer, REFUSE_INTERNAL, "base", "title IDs not available: %s", missing);
    return false;
}

void put_setup_software(struct request *request, struct answer *answer)
{
    static const char *const lists[] = {"installers", "apps"};
    struct store *store = &request->sim->store;
    size_t i;
    json_t *row;
    json_int_t team_id = number_at(request->json, "team_id");
    const json_t *ids = list_at(request->json, "software_title_ids");
    if (!may_write_software(&request->caller, team_id)) {
        refuse(answer, REFUSE_FORBIDDEN, "base", "forbidden");
        return;
    }
    if (!titles_are_fine(store, team_id, ids, answer))
        return;
    for (size_t k = 0; k < ARRAY_LENGTH(lists); k++) {
        json_array_foreach(store_list(store, lists[k]), i, row)
        {
            if (number_at(row, "team_id") == team_id)
                put_flag(row, "install_during_setup", has_number(ids, number_at(row, "title_id")));
        }
    }
    store_save(store);
    answer_json(answer, 200, new_object());
}
