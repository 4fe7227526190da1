/* base/url.h: what people may see of a URL, and what identifies its host. */
#include "base/attributes.h"
#include "base/text.h"
#include "base/url.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_redact(void **state)
{
    (void)state;
    static const struct {
        const char *url, *expected;
    } cases[] = {
        {"https://example.com/a/b.pkg", "https://example.com/a/b.pkg"},
        {"https://example.com", "https://example.com"},
        {"https://example.com:8443/a?token=s3cret", "https://example.com:8443/a?…"},
        {"https://example.com?token=s3cret", "https://example.com?…"},
        {"https://example.com/a#s3cret", "https://example.com/a"},
        {"https://example.com/a?b#s3cret", "https://example.com/a?…"},
        {"https://example.com/a#b?s3cret", "https://example.com/a"},
        {"HTTPS://user:s3cret@example.com/a", "HTTPS://***@example.com/a"},
        {"https://s3cret@example.com/a", "https://***@example.com/a"},
        {"https://user:s3@cret@example.com/a", "https://***@example.com/a"},
        {"https://user:s3%40cret@example.com/a", "https://***@example.com/a"},
        {"ssh://git:s3cret@example.com/a.git", "ssh://***@example.com/a.git"},
        {"https://", "https://"},
        /* a password with a character that ends the authority */
        {"https://user:s3/cret@example.com/a", "https://***"},
        {"https://user:s3?cret@example.com/a", "https://***"},
        {"https://user:s3#cret@example.com/a", "https://***"},
        {"https://user:s3cret\\@example.com/a", "https://***"},
        {"https://user:p@s3/cret@example.com/a", "https://***"},
        {"https://user:p@s3?cret@example.com/a", "https://***"},
        {"https://user:p@s3#cret@example.com/a", "https://***"},
        {"https://user:12#s3cret@example.com/a", "https://***"},
        {"https://user:12?s3cret@example.com/a", "https://***"},
        {"https://s3#cret@example.com/a", "https://***"},
        {"https://example.com:8080/@scope/a@1.2.tgz?to=x@y", "https://example.com:8080/@scope/a@1.2.tgz?…"},
        /* forms that curl takes and RFC 3986 does not */
        {"https:///user:s3cret@example.com/a", "https://***"},
        {"https://\\user:s3cret@example.com/a", "https://***"},
        {"https:/user:s3cret@example.com/a", "***@example.com/a"},
        {"https:user:s3cret@example.com/a", "***@example.com/a"},
        /* without a scheme */
        {"user:s3cret@example.com/a?t=s3cret", "***@example.com/a?…"},
        {"user:s3@cret@example.com/a", "***@example.com/a"},
        {"//user:s3cret@example.com/a", "***@example.com/a"},
        {"s3cret@example.com/a", "***@example.com/a"},
        {"git@example.com:it/fleet.git", "git@example.com:it/fleet.git"},
        {"git@example.com:it/fleet@v1", "git@example.com:it/fleet@v1"},
        {"example.com/a?t=s3cret", "example.com/a?…"},
        {"/srv/a:b@c/fleet.git", "/srv/a:b@c/fleet.git"},
        {"../fleet@2", "../fleet@2"},
        {"packages/a@2x.pkg", "packages/a@2x.pkg"},
        {"file:///srv/a@b/fleet.git", "file:///srv/a@b/fleet.git"},
        /* a URL within the URL */
        {"https://proxy.example.com/https://user:s3cret@example.com/a",
         "https://proxy.example.com/https://***@example.com/a"},
        {"https://example.com/npm/@scope/pkg@1.0.tgz", "https://example.com/npm/@scope/pkg@1.0.tgz"},
        {"https://[2001:db8::1]:443/a", "https://[2001:db8::1]:443/a"},
        {"https://[2001:db8::1]/a", "https://[2001:db8::1]/a"},
        {"https://example.com/a\n\033[31mb", "https://example.com/a??[31mb"},
        {"https://example.com/caf\xe9", "https://example.com/caf?"},
        {"https://example.com/a%20b%2Bc", "https://example.com/a%20b%2Bc"},
        {"", ""},
        {"not a url", "not a url"},
        {"see https://user:s3cret@example.com/a and https://x:s3cret@y/", "see https://***"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[URL_TEXT_BYTES];
        assert_string_equal(url_redact(cases[i].url, out, sizeof out), cases[i].expected);
        assert_null(strstr(out, "s3"));
        assert_null(strstr(out, "cret"));
    }
}

/* In every size: terminated, valid UTF-8, and nothing secret in what is left. */
static void test_redact_in_any_size(void **state)
{
    (void)state;
    const char *url = "https://user:s3cret@example.com/größe/ä.pkg?token=s3cret";
    for (size_t size = 1; size < 64; size++) {
        char out[80];
        memset(out, 'x', sizeof out);
        url_redact(url, out, size);
        assert_true(strnlen(out, size) < size);
        assert_int_equal(out[size], 'x');
        assert_true(text_is_utf8(out, strlen(out), NULL));
        assert_null(strstr(out, "s3"));
    }
    char long_url[20000] = "https://user:s3cret@example.com/";
    memset(long_url + strlen(long_url), 'a', sizeof long_url - 64);
    char out[URL_TEXT_BYTES];
    url_redact(long_url, out, sizeof out);
    assert_true(text_starts_with(out, "https://***@example.com/aaa"));
    assert_true(text_ends_with(out, "a…"));
    assert_int_equal(strlen(out), sizeof out - 1);
}

static void test_host(void **state)
{
    (void)state;
    static const struct {
        const char *url, *expected;
    } cases[] = {
        {"https://Example.COM/a", "example.com:443"},
        {"HTTPS://example.com", "example.com:443"},
        {"http://example.com/a", "example.com:80"},
        {"ssh://git@example.com/a", "example.com:22"},
        {"https://example.com:8443/a", "example.com:8443"},
        {"https://example.com:/a", "example.com:443"},
        {"https://user:pass@example.com/a", "example.com:443"},
        {"https://example.com@evil.example/a", "evil.example:443"},
        {"https://example.com:443@evil.example/a", "evil.example:443"},
        {"https://evil.example\\@example.com/a", ""},
        {"https://evil.example\\.example.com/a", ""},
        {"https://example.com\t.evil.example/a", ""},
        {"https:///a", ""},
        {"https://:443/a", ""},
        {"https://[2001:DB8::1]/a", "[2001:db8::1]:443"},
        {"https://[2001:db8::1]:8443/a", "[2001:db8::1]:8443"},
        {"https://example.com?a", "example.com:443"},
        {"https://example.com?to=a@b", "example.com:443"},
        {"https://user:pass@s3#cret@example.com/a", ""},
        {"https://user:12#s3cret@example.com/a", ""},
        {"example.com/a", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[URL_HOST_BYTES];
        assert_string_equal(url_host(cases[i].url, out, sizeof out), cases[i].expected);
    }
    char long_url[400] = "https://";
    memset(long_url + 8, 'a', 300);
    char out[URL_HOST_BYTES];
    assert_string_equal(url_host(long_url, out, sizeof out), "");
}

static void test_file_name(void **state)
{
    (void)state;
    static const struct {
        const char *url, *expected;
    } cases[] = {
        {"https://example.com/a/b.pkg", "b.pkg"},
        {"https://example.com/a/b%20c.pkg?x=1", "b c.pkg"},
        {"https://example.com/a/b%2Fc%5Cd.pkg", "b_c_d.pkg"},
        {"https://example.com/..%2f..%2fetc", ".._.._etc"},
        {"https://example.com/a%0Ab%00c", "a_b_c"},
        {"https://example.com/caf%C3%A9.pkg", "café.pkg"},
        {"https://example.com/caf%E9.pkg", "caf_.pkg"}, /* Latin-1 */
        {"https://example.com/100%.pkg", "100%.pkg"},
        {"https://example.com/a%2", "a%2"},
        {"https://example.com/a%2520b", "a%20b"},
        {"https://example.com/a+b.pkg", "a+b.pkg"},
        {"https://example.com/a/", ""},
        {"https://example.com", ""},
        {"https://example.com?file=a.pkg", ""},
        {"a.pkg", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char out[64];
        assert_string_equal(url_file_name(cases[i].url, out, sizeof out), cases[i].expected);
    }
    char small[8];
    assert_string_equal(url_file_name("https://example.com/abcdefghij", small, sizeof small), "abcd…");
}

static void test_is_http(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool expected;
    } cases[] = {
        {"http://example.com", true},
        {"https://example.com/a", true},
        {"HTTPS://example.com", true},
        {"ftp://example.com", false},
        {"file:///a", false},
        {"https://", false},
        {"https:///a", false},
        {"https://:80/", false},
        {"example.com", false},
        {"httpsx://example.com", false},
        {"", false},
        {"https:/example.com", false},
        {"https://exa mple.com/", false},
        {"https://a\\b/", false},
        {"https://a@/", false},
        {"https://example.com:1/", true},
        {"https://example.com:65535", true},
        {"https://example.com:00443/", true},
        {"https://example.com:/a", true},
        {"https://[::1]:8443/a", true},
        {"https://[::1]/a", true},
        {"https://u:p@example.com:8443/a", true},
        {"https://example.com:0/", false},
        {"https://example.com:65536/", false},
        {"https://example.com:99999/", false},
        {"https://example.com:18446744073709551697/", false},
        {"https://example.com:80a/", false},
        {"https://example.com:-1/", false},
        {"https://[::1]:99999/", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(url_is_http(cases[i].url), cases[i].expected);
}

static void test_is_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool expected;
    } cases[] = {
        {"https://example.com", true},
        {"http://example.com:8080/a/", true},
        {"https://example.com/a?b", false},
        {"https://example.com/a#b", false},
        {"https://example.com/a b", false},
        {"https://example.com/a\tb", false},
        {"https://example.com/\r\n", false},
        {"ftp://example.com/", false},
        {"https://", false},
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(url_is_prefix(cases[i].url), cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redact),  cmocka_unit_test(test_redact_in_any_size),
        cmocka_unit_test(test_host),    cmocka_unit_test(test_file_name),
        cmocka_unit_test(test_is_http), cmocka_unit_test(test_is_prefix),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
