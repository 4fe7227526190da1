"""G10: tokens, passwords in URLs, credential headers and secret variables never reach a log, a report or another host."""

import unittest

import support
from support import DONE, PARTIAL, sha256_of

ALPHA = "alpha_1.0_amd64.deb"


class Secrets(support.EndToEnd):
    def test_credential_header_is_not_sent_to_another_origin(self):
        """C9: a redirect to another port is another origin."""
        other = self.world()
        world = self.world(script={"packages": {"/private/" + ALPHA: {"behaviours": [
            {"do": "redirect", "location": other.package_url + "/" + ALPHA}]}}})
        world.write("tender.yml", f"sources:\n  - prefix: {world.package_url}/private/\n    header: \"X-Api-Key: ${{VENDOR_KEY}}\"\n")
        world.team("Workstations", {"url": "/private/" + ALPHA, "hash_sha256": sha256_of(ALPHA)})
        result = world.tender("apply", VENDOR_KEY="hush-hush")
        self.assert_status(result, DONE)
        sent = [{key.lower(): value for key, value in row["headers"].items()} for row in world.requests("packages")]
        self.assertTrue(sent and all(headers.get("x-api-key") == "hush-hush" for headers in sent), sent)
        for row in other.requests("packages"):
            self.assertNotIn("hush-hush", str(row))
        self.assertEqual(len(other.requests("packages")), 1)
        self.assert_no_secret(result, "hush-hush")

    def test_userinfo_is_used_and_never_shown(self):
        """C10."""
        world = self.world(script={"packages": {"/private/" + ALPHA: {"file": ALPHA, "behaviours": [
            {"do": "require-header", "header": "Authorization", "value": "Basic dXNlcjpwYXNzLXdvcmQ="}]},
            "/gone.deb": {"behaviours": [{"do": "not-found"}]}}})
        base = world.package_url.replace("http://", "http://user:pass-word@")
        world.team("Workstations", {"url": base + "/private/" + ALPHA}, {"url": base + "/gone.deb?signature=tell-nobody"})
        for arguments in (["plan"], ["apply", "--log-level", "debug"], ["apply", "--log-format", "json", "--log-level", "debug"]):
            result = world.tender(*arguments)
            self.assert_no_secret(result, "pass-word", "tell-nobody", "dXNlcjpwYXNzLXdvcmQ=")
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)})
        self.assert_status(result, PARTIAL)
        for row in world.requests("fleet"):
            self.assertNotIn("pass-word", str(row), "not even to Fleet")

    def test_nothing_secret_is_kept_in_the_state_directory(self):
        """G10, on the disk: userinfo, queries, tokens, credential headers, secret variables."""
        world = self.world(script={"packages": {"/held.deb": {"file": "beta_1.0_amd64.deb", "behaviours": [{"do": "reset", "after_bytes": 100}] * 40}}})
        base = world.package_url.replace("http://", "http://user:pass-word@")
        world.write("tender.yml", f"sources:\n  - prefix: {world.package_url}/\n    header: \"X-Api-Key: ${{VENDOR_KEY}}\"\n")
        world.write("lib/install.sh", "#!/bin/sh\necho $FLEET_SECRET_LICENCE\n")
        world.team("Workstations", {"url": base + "/" + ALPHA + "?signature=tell-nobody", "install_script": {"path": "../lib/install.sh"}},
                   {"url": base + "/held.deb?signature=tell-nobody"})
        variables = {"VENDOR_KEY": "hush-hush", "FLEET_SECRET_LICENCE": "very-secret-value"}
        for command in ("plan", "fetch", "apply", "apply"):
            result = world.tender(command, "--retry-attempts", "1", "--log-level", "debug", **variables)
        self.assertEqual(world.digests("Workstations"), {"alpha": sha256_of(ALPHA)}, result.stderr)
        secrets = [text.encode() for text in (support.SECRET_TOKEN, "pass-word", "tell-nobody", *variables.values())]
        files = [path for path in world.state.rglob("*") if path.is_file()]
        self.assertIn("state.db", [path.name for path in files])
        for path in files:
            content = path.name.encode() + path.read_bytes()
            for secret in secrets:
                self.assertNotIn(secret, content, f"a secret is in {path}")

    def test_token_file(self):
        world = self.world()
        world.team("Workstations", {"url": "/" + ALPHA})
        token = world.root / "token"
        token.write_text("maintainer-token\n")
        result = world.tender("apply", "--token-file", str(token), FLEET_API_TOKEN=None)
        self.assert_status(result, DONE)
        self.assert_no_secret(result)
        missing = world.tender("apply", "--token-file", str(world.root / "none"), FLEET_API_TOKEN=None)
        self.assert_status(missing, support.FAILED)

    def test_a_server_that_repeats_what_it_was_sent(self):
        reason = "can't use maintainer-token with very-secret-value"
        fault = {"method": "POST", "path": "/software/package", "do": "status", "status": 422, "body": {"message": "Validation", "errors": [{"name": "x", "reason": reason}]}}
        world = self.world(script={"api": [fault]})
        world.write("lib/install.sh", "#!/bin/sh\necho $FLEET_SECRET_LICENCE\n")
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA), "install_script": {"path": "../lib/install.sh"}})
        result = world.tender("apply", "--log-level", "debug", FLEET_SECRET_LICENCE="very-secret-value")
        self.assert_status(result, PARTIAL)
        self.assertIn("can't use *** with ***", result.stdout)
        self.assert_no_secret(result, "very-secret-value")

    def test_a_url_that_is_none(self):
        world = self.world()
        world.write("teams/workstations.yml", "name: Workstations\nsoftware:\n  packages:\n    - url: http://user:pass-word@vendor.example/bad url?sig=tell-nobody\n")
        for arguments in (["validate"], ["plan"], ["apply"], ["show"]):
            result = world.tender(*arguments)
            self.assert_no_secret(result, "pass-word", "tell-nobody")

    def test_secret_variables_go_to_fleet_first(self):
        world = self.world()
        world.write("lib/install.sh", "#!/bin/sh\necho $FLEET_SECRET_LICENCE\n")
        world.team("Workstations", {"url": "/" + ALPHA, "hash_sha256": sha256_of(ALPHA), "install_script": {"path": "../lib/install.sh"}})
        result = world.tender("apply", "--log-level", "debug", FLEET_SECRET_LICENCE="very-secret-value")
        self.assert_status(result, DONE)
        self.assert_no_secret(result, "very-secret-value")
        writes = world.writes()
        self.assertEqual(writes[0]["path"].rsplit("/", 1)[-1], "secret_variables")
        self.assertIn("$FLEET_SECRET_LICENCE", world.titles("Workstations")["alpha"]["software_package"]["install_script"])
        self.assert_status(self.assert_converged(world, FLEET_SECRET_LICENCE="very-secret-value"), DONE)


if __name__ == "__main__":
    unittest.main()
