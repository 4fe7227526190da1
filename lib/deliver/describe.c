/* The outcomes of a plan as it stands: what tender plan shows. Nothing is asked of the server. */
#include "deliver/work.h"

int deliver_describe(const struct plan *plan, const struct known_package *packages, size_t package_count,
                     struct arena *arena, struct team_outcome *results, struct err *e)
{
    for (size_t i = 0; i < plan->team_count; i++)
        if (outcomes_of_team(&plan->teams[i], packages, package_count, arena, &results[i], e) < 0)
            return -1;
    return 0;
}
