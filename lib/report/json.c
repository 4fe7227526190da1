/* The report for programs: docs/report.md names every field. */
#include "base/clock.h"
#include "base/text.h"
#include "report/page.h"
#include <string.h>

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *time_value(int64_t wall_ms)
{
    char text[CLOCK_TEXT_BYTES];
    return json_string(clock_iso8601(wall_ms, text));
}

static json_t *place_value(const struct place *place, bool *failed)
{
    if (place->file == NULL)
        return json_null();
    json_t *value = json_object();
    json_put(value, "file", json_text(place->file), failed);
    json_put(value, "line", json_integer(place->line), failed);
    json_put(value, "column", json_integer(place->column), failed);
    return value;
}

static json_t *fields_value(unsigned fields, bool *failed)
{
    json_t *array = json_array();
    for (int i = 0; i < SOFTWARE_FIELD_COUNT; i++)
        if (fields & 1u << i)
            json_add(array, json_text(software_field_name((enum software_field)(1 << i))), failed);
    return array;
}

static json_t *error_value(const struct err *e, bool *failed)
{
    if (!err_is_set(e))
        return json_null();
    json_t *value = json_object();
    json_put(value, "class", json_text(err_class_name(e->class)), failed);
    json_put(value, "text", json_text(e->text), failed);
    json_put(value, "file", json_text(e->file), failed);
    json_put(value, "line", json_integer(e->line), failed);
    json_put(value, "column", json_integer(e->column), failed);
    return value;
}

static json_t *attempt_value(const struct attempt *attempt, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "number", json_integer(attempt->number), failed);
    json_put(value, "started_at", time_value(attempt->started_wall_ms), failed);
    json_put(value, "waited_ms", json_integer(attempt->waited_ms), failed);
    json_put(value, "duration_ms", json_integer(attempt->duration_ms), failed);
    json_put(value, "resolve_ms", json_integer(attempt->times.resolve_ms), failed);
    json_put(value, "connect_ms", json_integer(attempt->times.connect_ms), failed);
    json_put(value, "tls_ms", json_integer(attempt->times.tls_ms), failed);
    json_put(value, "first_byte_ms", json_integer(attempt->times.first_byte_ms), failed);
    json_put(value, "url", json_text(attempt->url), failed);
    json_put(value, "remote_address", json_text(attempt->remote_address), failed);
    json_put(value, "status", json_integer(attempt->status), failed);
    json_put(value, "bytes", number(attempt->bytes), failed);
    json_put(value, "resumed_from", number(attempt->resumed_from), failed);
    json_put(value, "cause", json_text(attempt->cause), failed);
    return value;
}

static json_t *fetch_value(const struct package *package, bool *failed)
{
    if (package == NULL)
        return json_null();
    json_t *value = json_object();
    json_t *attempts = json_array();
    for (size_t i = 0; i < package->attempt_count; i++)
        json_add(attempts, attempt_value(&package->attempts[i], failed), failed);
    json_put(value, "state", json_text(package_state_name(package->state)), failed);
    json_put(value, "sha256", json_text(package->sha256), failed);
    json_put(value, "file_name", json_text(package->file_name), failed);
    json_put(value, "size_bytes", number(package->size_bytes), failed);
    json_put(value, "received_bytes", number(package->received_bytes), failed);
    json_put(value, "waited_ms", json_integer(package->waited_ms), failed);
    json_put(value, "error", error_value(&package->err, failed), failed);
    json_put(value, "attempts", attempts, failed);
    return value;
}

static json_t *item_value(const struct outcome *outcome, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "outcome", json_text(outcome_kind_name(outcome->kind)), failed);
    json_put(value, "name", json_text(outcome->name), failed);
    json_put(value, "kind", json_text(software_kind_name(outcome->software_kind)), failed);
    json_put(value, "place", place_value(&outcome->place, failed), failed);
    json_put(value, "package_file", json_text(outcome->package_file), failed);
    json_put(value, "url", json_text(outcome->url), failed);
    json_put(value, "title_id", outcome->title_id == 0 ? json_null() : json_integer(outcome->title_id),
             failed);
    json_put(value, "sha256", json_text(outcome->sha256), failed);
    json_put(value, "version", json_text(outcome->version), failed);
    json_put(value, "changed_fields", fields_value(outcome->changed_fields, failed), failed);
    json_put(value, "assumed_fields", fields_value(outcome->assumed_fields, failed), failed);
    json_put(value, "ignored_fields", fields_value(outcome->ignored_fields, failed), failed);
    json_put(value, "what", json_text(outcome->what), failed);
    json_put(value, "kept", json_text(outcome->kept), failed);
    json_put(value, "advice", json_text(outcome->advice), failed);
    json_put(value, "uploaded_bytes", number(outcome->uploaded_bytes), failed);
    json_put(value, "fetch", fetch_value(outcome->package, failed), failed);
    return value;
}

static const char *delivery_name(enum plan_delivery delivery)
{
    static const char *const names[] = {"none", "whole", "item-by-item"};
    return names[delivery];
}

static json_t *team_value(const struct team_outcome *team, bool *failed)
{
    json_t *value = json_object();
    json_t *items = json_array();
    for (size_t i = 0; i < team->outcome_count; i++)
        json_add(items, item_value(&team->outcomes[i], failed), failed);
    json_put(value, "name", json_text(team->name), failed);
    json_put(value, "file", json_text(team->file), failed);
    json_put(value, "team_id", team->team_id < 0 ? json_null() : json_integer(team->team_id), failed);
    json_put(value, "delivery", json_text(delivery_name(team->delivery)), failed);
    json_put(value, "error", json_text(team->error), failed);
    json_put(value, "removals_withheld", json_text(team->removals_withheld), failed);
    json_put(value, "items", items, failed);
    return value;
}

static json_t *teams_value(const struct run_report *report, bool *failed)
{
    json_t *teams = json_array();
    for (size_t i = 0; i < report->team_count; i++)
        json_add(teams, team_value(&report->teams[i], failed), failed);
    return teams;
}

static json_t *counts_value(const struct run_report *report, bool *failed)
{
    json_t *counts = json_object();
    for (int kind = 0; kind < OUTCOME_KIND_COUNT; kind++)
        json_put(counts, outcome_kind_name((enum outcome_kind)kind), number(report->counts[kind]), failed);
    return counts;
}

static json_t *calls_value(const struct run_report *report, bool *failed)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < report->call_count; i++) {
        json_t *call = json_object();
        json_put(call, "call", json_text(report->calls[i].call), failed);
        json_put(call, "count", number(report->calls[i].count), failed);
        json_put(call, "total_ms", json_integer(report->calls[i].total_ms), failed);
        json_put(call, "longest_ms", json_integer(report->calls[i].longest_ms), failed);
        json_add(calls, call, failed);
    }
    return calls;
}

int json_run(const struct run_report *report, const struct report_style *style, struct buf *out,
             struct err *e)
{
    (void)style;
    bool failed = false;
    json_t *document = json_object();
    json_put(document, "format_version", json_integer(REPORT_FORMAT_VERSION), &failed);
    json_put(document, "command", json_text(report->command), &failed);
    json_put(document, "dry_run", json_boolean(report->is_plan), &failed);
    json_put(document, "tender_version", json_text(report->tender_version), &failed);
    json_put(document, "repository", json_text(report->repository), &failed);
    json_put(document, "revision", json_text(report->revision), &failed);
    json_put(document, "fleet_url", json_text(report->fleet_url), &failed);
    json_put(document, "fleet_version", json_text(report->server_version), &failed);
    json_put(document, "started_at", time_value(report->started_wall_ms), &failed);
    json_put(document, "duration_ms", json_integer(report->duration_ms), &failed);
    json_put(document, "interrupted", json_boolean(report->was_interrupted), &failed);
    json_put(document, "exit_status", json_integer(report->exit_status), &failed);
    json_put(document, "failure", error_value(&report->failure, &failed), &failed);
    json_put(document, "warning", json_text(report->warning), &failed);
    json_put(document, "counts", counts_value(report, &failed), &failed);
    json_put(document, "received_bytes", number(report->received_bytes), &failed);
    json_put(document, "uploaded_bytes", number(report->uploaded_bytes), &failed);
    json_put(document, "diagnostics",
             json_diagnostic_list(report->diagnostics, report->diagnostic_count, false), &failed);
    json_put(document, "teams", teams_value(report, &failed), &failed);
    json_put(document, "api_calls", calls_value(report, &failed), &failed);
    return json_write(document, failed, out, e);
}
