/* Which proxy the environment means for a URL: curl's rule, in a table. */
#include "base/files.h"
#include "net/proxy.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARRAY(array) (sizeof(array) / sizeof((array)[0]))

static const char *const variables[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                        "all_proxy",  "ALL_PROXY",  "no_proxy",    "NO_PROXY"};

static void set(const char *text)
{
    char copy[512], *rest = copy;
    for (size_t i = 0; i < ARRAY(variables); i++)
        unsetenv(variables[i]);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word; (word = strsep(&rest, ";")) != NULL;) {
        char *equals = strchr(word, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        assert_int_equal(setenv(word, equals + 1, 1), 0);
    }
}

static void test_choice(void **state)
{
    (void)state;
    static const struct {
        const char *variables, *url, *proxy;
    } cases[] = {
        {"", "http://a.example/x", NULL},
        {"http_proxy=http://p:1", "http://a.example/x", "http://p:1"},
        {"http_proxy=http://p:1", "https://a.example/x", NULL},
        {"HTTP_PROXY=http://p:1", "http://a.example/x", "http://p:1"},
        {"HTTPS_PROXY=http://p:1", "https://a.example/x", "http://p:1"},
        {"https_proxy=http://p:1;HTTPS_PROXY=http://q:1", "HTTPS://a.example/x", "http://p:1"},
        {"http_proxy=;HTTP_PROXY=http://q:1", "http://a.example/x", "http://q:1"},
        {"http_proxy=;all_proxy=http://q:1", "http://a.example/x", "http://q:1"},
        {"all_proxy=socks5h://p:1", "https://a.example/x", "socks5h://p:1"},
        {"ALL_PROXY=http://p:1;https_proxy=http://q:2", "https://a.example/x", "http://q:2"},
        {"http_proxy=p:3128", "http://a.example/x", "http://p:3128"},
        {"http_proxy=p", "http://a.example/x", "http://p:1080"},
        {"http_proxy=https://p", "http://a.example/x", "https://p:443"},
        {"http_proxy=http://bob:pw@p/", "http://a.example/x", "http://bob:pw@p:1080"},
        {"http_proxy=http://bob:pw@p:8/x?y", "http://a.example/x", "http://bob:pw@p:8"},
        {"http_proxy=http://[::1]", "http://a.example/x", "http://[::1]:1080"},
        {"http_proxy=http://[::1]:8", "http://a.example/x", "http://[::1]:8"},
        {"http_proxy=http://bob:p%40%23w@p:", "http://a.example/x", "http://bob:p%40%23w@p:"},
        {"all_proxy=http://p:1", "ssh://a.example/x", NULL},
        {"all_proxy=http://p:1", "git@a.example:x", NULL},
        {"http_proxy=http://p:1;no_proxy=a.example", "http://a.example/x", NULL},
        {"http_proxy=http://p:1;no_proxy=;NO_PROXY=a.example", "http://a.example/x", NULL},
        {"http_proxy=http://p:1;no_proxy=b.example;NO_PROXY=a.example", "http://a.example/x", "http://p:1"},
    };
    for (size_t i = 0; i < ARRAY(cases); i++) {
        CLEANUP(file_free_cleanup) char *proxy = NULL;
        struct err e;
        err_init(&e);
        set(cases[i].variables);
        assert_int_equal(proxy_for(cases[i].url, &proxy, &e), 0);
        if (cases[i].proxy == NULL ? proxy != NULL : proxy == NULL || strcmp(proxy, cases[i].proxy) != 0)
            fail_msg("%s, %s: %s", cases[i].variables, cases[i].url, proxy == NULL ? "none" : proxy);
    }
    set("");
}

/* What might be part of a password is neither used as a host nor shown. */
static void test_unclear_logins(void **state)
{
    (void)state;
    static const char *const proxies[] = {
        "http://pu:pp@SECRET#x@p", "http://pu:SECRET#x@p:1", "http://pu:12#SECRET@p",
        "http://pu:SECRET/x@p",    "http://pu:12/SECRET@p",  "http://pu:SECRET?@p",
        "pu:SECRET@x@p:1",         "socks5://pu:SECRET@x@p", "http://pu:SECRET",
        "http://pu:SECRET\\@p",    "pu:SECRET/x@p",          "http://pu@SECRET#x@p",
        "http://[::1]:SECRET",     "http://pu:a@p:SECRET",   "http://SECRET/@p",
        "http://pu:1:SECRET#@p",
    };
    for (size_t i = 0; i < ARRAY(proxies); i++) {
        char *proxy = NULL;
        char variable[256];
        struct err e;
        err_init(&e);
        snprintf(variable, sizeof variable, "all_proxy=%s", proxies[i]);
        set(variable);
        if (proxy_for("http://a.example/x", &proxy, &e) != -1)
            fail_msg("%s: %s", proxies[i], proxy);
        assert_null(proxy);
        assert_int_equal(e.class, ERR_CONFIG);
        assert_null(strstr(e.text, "SECRET"));
        set(strcat(variable, ";no_proxy=*"));
        err_init(&e);
        assert_int_equal(proxy_for("http://a.example/x", &proxy, &e), 0); /* not needed */
    }
    set("");
}

static void test_exceptions(void **state)
{
    (void)state;
    static const struct {
        const char *no_proxy, *url;
        bool is_excepted;
    } cases[] = {
        {"", "http://a.example/", false},
        {"*", "http://a.example/", true},
        {"b,*", "http://a.example/", true},
        {"a.example", "http://a.example:8080/", true},
        {"a.example", "http://user:pw@A.Example/", true},
        {"example", "http://a.example/", true},
        {".example", "http://a.example/", true},
        {".a.example", "http://a.example/", true},
        {"a.example.", "http://a.example/", true},
        {"a.example", "http://a.example./", true},
        {"b.example", "http://bb.example/", false},
        {"a.example", "http://example/", false},
        {"x.example, y.example\ta.example", "http://a.example/", true},
        {",,", "http://a.example/", false},
        {".", "http://a.example/", false},
        {"10.0.0.1", "http://10.0.0.1:80/", true},
        {"10.0.0.1", "http://10.0.0.11/", false},
        {"0.0.1", "http://10.0.0.1/", false},
        {"10.0.0.0/8", "http://10.200.3.4/", true},
        {"10.0.0.0/8", "http://11.0.0.1/", false},
        {"10.1.2.0/23", "http://10.1.3.9/", true},
        {"10.1.2.0/23", "http://10.1.4.9/", false},
        {"0.0.0.0/0", "http://1.2.3.4/", true},
        {"10.0.0.0/33", "http://10.0.0.1/", false},
        {"10.0.0.0/", "http://10.0.0.0/", false},
        {"10.0.0.0/8x", "http://10.0.0.1/", false},
        {"10.0.0.0/8", "http://10.example/", false},
        {"::1", "http://[::1]/", true},
        {"[::1]", "http://[::1]:80/", true},
        {"fe80::/10", "http://[fe80::1]/", true},
        {"fe80::/10", "http://10.0.0.1/", false},
    };
    for (size_t i = 0; i < ARRAY(cases); i++)
        if (proxy_excepts(cases[i].no_proxy, cases[i].url) != cases[i].is_excepted)
            fail_msg("no_proxy=%s, %s", cases[i].no_proxy, cases[i].url);
}

static void test_kinds(void **state)
{
    (void)state;
    assert_true(proxy_speaks_http("http://p:1") && proxy_speaks_http("HTTPS://p:1"));
    assert_false(proxy_speaks_http("socks5://p:1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_unclear_logins),
        cmocka_unit_test(test_exceptions),
        cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
