/* What one answer of the API means: done, refused for good, worth another try, or lost on the way. Parse
 * first, judge the type afterwards: 401 and 400 come as text/plain and are JSON, a proxy's 502 comes as HTML.
 */
#include "base/url.h"
#include "fleet/call.h"
#include "fleet/fleet_private.h"
#include "net/retry.h"

static void refuse_unauthorised(struct call *call)
{
    const char *reason = call->refusal.reason;
    if (call->status == 401) {
        call->fleet->is_locked_out = true;
        err_fill(&call->err, ERR_UNAUTHORISED,
                 "the server does not accept the API token (401: %s): give a valid one in FLEET_API_TOKEN or "
                 "--token-file",
                 reason);
        return;
    }
    if (call->is_write)
        err_fill(&call->err, ERR_UNAUTHORISED,
                 "the token's role may not %s (403: %s): use the token of a user who is maintainer or admin, "
                 "globally or in this team",
                 call->right, reason);
    else
        err_fill(
            &call->err, ERR_UNAUTHORISED,
            "the token's role may not %s (403: %s): the gitops role may not read software in Fleet below "
            "4.85; use the token of an API-only user who is maintainer, or a newer Fleet",
            call->right, reason);
}

static enum err_class class_of(int status)
{
    return status == 404 ? ERR_NOT_FOUND : status == 409 ? ERR_CONFLICT : ERR_SERVER;
}

/* "http://" for "https://", or a host that moved. */
static void refuse_redirect(struct call *call, const char *target)
{
    char shown[URL_TEXT_BYTES];
    err_fill(
        &call->err, ERR_CONFIG,
        "%s: the server answered %d and points to %s; give that server's address as FLEET_URL, so that the "
        "token goes nowhere else",
        call->name, call->status, target != NULL ? url_redact(target, shown, sizeof shown) : "nowhere");
}

static void refuse(struct call *call, const struct http_answer *answer)
{
    const struct refusal *refusal = &call->refusal;
    if (answer->proxy_wants_login)
        err_fill(&call->err, ERR_NETWORK,
                 "%s: the proxy %s asks for a login (407): give user and password in its URL, or except the "
                 "server by no_proxy",
                 call->name, answer->proxy);
    else if (call->status >= 300 && call->status < 400)
        refuse_redirect(call, answer->redirect_url);
    else if (call->status == 401 || call->status == 403)
        refuse_unauthorised(call);
    else if (call->status == 402)
        err_fill(&call->err, ERR_SERVER,
                 "the server's licence does not cover this (402: %s): software of teams needs Fleet Premium",
                 refusal->reason);
    else if (refusal->is_fleet_json)
        err_fill(&call->err, class_of(call->status), "%s: the server answered %d: %s", call->name,
                 call->status, refusal->reason);
    else
        err_fill(
            &call->err, class_of(call->status),
            "%s: the server, or a proxy before it, answered %d with something that is not Fleet's JSON%s%s%s",
            call->name, call->status, refusal->reason[0] != '\0' ? ": \"" : "", refusal->reason,
            refusal->reason[0] != '\0' ? "\"" : "");
}

static enum call_verdict judge_server_error(const struct call *call)
{
    if (call->status == 501 || call->status == 505)
        return VERDICT_REFUSED;
    if (call->refusal.is_fleet_json)
        return VERDICT_AGAIN_ONCE;
    /* A proxy gave up waiting: the server may have done it all the same. */
    return call->is_write ? VERDICT_UNKNOWN : VERDICT_AGAIN;
}

static enum call_verdict judge_failed(struct call *call, const struct http_answer *answer)
{
    const char *cause = answer->cause != NULL ? answer->cause : "the connection failed";
    err_fill(&call->err, ERR_NETWORK, "%s: %s", call->name, cause);
    if (call->is_write && answer->may_have_arrived)
        return VERDICT_UNKNOWN;
    switch (answer->end == HTTP_STOPPED_BY_US ? RETRY_PERMANENT : retry_classify(answer)) {
    case RETRY_TRANSIENT:
    case RETRY_SUCCESS:
        return VERDICT_AGAIN;
    case RETRY_TRANSIENT_ONCE:
        return VERDICT_AGAIN_ONCE;
    case RETRY_PERMANENT:
    case RETRY_FATAL:
        break;
    }
    return VERDICT_REFUSED;
}

enum call_verdict call_judge(struct call *call, struct http_answer *answer)
{
    err_init(&call->err);
    call->status = answer->status;
    call->refusal = (struct refusal){.is_fleet_json = false};
    if (answer->end != HTTP_ANSWERED)
        return judge_failed(call, answer);
    if (answer->status >= 200 && answer->status < 300)
        return VERDICT_DONE;
    codec_refusal(answer->body.bytes, answer->body.length, &call->refusal);
    fleet_hide_secrets(call->fleet, call->refusal.reason);
    refuse(call, answer);
    if (answer->status == 408 || answer->status == 425 || answer->status == 429 ||
        (answer->status == 403 && retry_is_rate_limited(answer)))
        return VERDICT_AGAIN;
    return answer->status >= 500 ? judge_server_error(call) : VERDICT_REFUSED;
}
