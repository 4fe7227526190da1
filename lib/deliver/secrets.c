/* Secret variables go to Fleet before the first script that uses them, and only then: a run in which nothing
 * is sent sends no secret either. */
#include "deliver/work.h"

static int send_all(struct delivery *run, struct err *e)
{
    const struct desired *desired = run->input->plan_input->desired;
    struct secret_value *values = arena_alloc_array(run->arena, desired->secret_count, sizeof *values, e);
    if (values == NULL)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < desired->secret_count; i++)
        if (desired->secrets[i].value != NULL)
            values[count++] = (struct secret_value){desired->secrets[i].name, desired->secrets[i].value};
    fleet_know_secrets(run->options->fleet, values, count);
    /* Those without a value here may be known to Fleet; if not, it says so for the item. */
    return count == 0 ? 0 : fleet_put_secrets(run->options->fleet, values, count, e);
}

int secrets_prepare(struct team_delivery *team, struct item_delivery *item, bool *failed, struct err *e)
{
    struct delivery *run = team->run;
    *failed = false;
    if (item->plan->wish == NULL || !fields_use_secrets(item->plan->wish))
        return 0;
    if (!run->secrets_are_sent) {
        struct err trouble;
        err_init(&trouble);
        run->secrets_are_sent = true;
        if (send_all(run, &trouble) < 0) {
            if (delivery_is_fatal(run, &trouble))
                return err_set(e, trouble.class, "%s", trouble.text);
            run->secrets_error =
                arena_printf(run->arena, e, "the secret variables could not be sent: %s", trouble.text);
            if (run->secrets_error == NULL)
                return -1;
        }
    }
    if (run->secrets_error == NULL)
        return 0;
    *failed = true;
    return item_failed_because(team, item, run->secrets_error,
                               "see that the token may write them, and run again", e);
}
