/* One table says what each kind of finding is called, how bad it is, and what it means. */
#include "model/rule.h"

static const struct {
    const char *name;
    enum diagnostic_severity severity;
    const char *description;
} rules[RULE_COUNT] = {
    [RULE_YAML] = {"yaml", DIAGNOSTIC_ERROR, "The file is no YAML, or goes beyond the limits."},
    [RULE_TAG] = {"tag", DIAGNOSTIC_ERROR,
                  "A YAML tag, or an anchor without a value, that has no meaning here."},
    [RULE_UNKNOWN_KEY] = {"unknown-key", DIAGNOSTIC_ERROR,
                          "A key that does not exist, often a misspelt one."},
    [RULE_MISPLACED_KEY] = {"misplaced-key", DIAGNOSTIC_ERROR, "A key that exists, where it has no meaning."},
    [RULE_REPEATED_KEY] = {"repeated-key", DIAGNOSTIC_ERROR, "A key twice in one mapping."},
    [RULE_MERGE_KEY] = {"merge-key", DIAGNOSTIC_ERROR, "A \"<<\" that can't be merged."},
    [RULE_MISSING_KEY] = {"missing-key", DIAGNOSTIC_ERROR, "A key that an entry needs is not there."},
    [RULE_CONFLICTING_KEYS] = {"conflicting-keys", DIAGNOSTIC_ERROR, "Keys of which only one can hold."},
    [RULE_INDENTATION] = {"indentation", DIAGNOSTIC_ERROR,
                          "A line that begins with a character that looks like a blank."},
    [RULE_REPEATED_CONTROLS] = {"repeated-controls", DIAGNOSTIC_WARNING,
                                "\"controls\" twice: the last one counts."},
    [RULE_TYPE] = {"wrong-type", DIAGNOSTIC_ERROR, "A list, a mapping or a text where another is expected."},
    [RULE_TEXT] = {"text", DIAGNOSTIC_ERROR, "A text that is too long, empty, or goes over several lines."},
    [RULE_BOOLEAN] = {"boolean", DIAGNOSTIC_ERROR, "A value that is neither true nor false."},
    [RULE_QUOTED_BOOLEAN] = {"quoted-boolean", DIAGNOSTIC_WARNING,
                             "True or false in quotes, which fleetctl refuses."},
    [RULE_DIGEST] = {"digest", DIAGNOSTIC_ERROR, "A digest that is not 64 hex digits."},
    [RULE_URL] = {"url", DIAGNOSTIC_ERROR, "A URL that can't be fetched."},
    [RULE_SOURCE] = {"source-not-allowed", DIAGNOSTIC_ERROR, "A URL below no prefix of allowed_sources."},
    [RULE_SLUG] = {"slug", DIAGNOSTIC_ERROR, "A slug that no maintained app can have."},
    [RULE_PLATFORM] = {"platform", DIAGNOSTIC_ERROR, "A platform that does not exist."},
    [RULE_TIME] = {"time", DIAGNOSTIC_ERROR, "A value that is no time of day."},
    [RULE_STORE_ID] = {"app-store-id", DIAGNOSTIC_WARNING, "An id that the platform's store does not have."},
    [RULE_REPEATED_LABEL] = {"repeated-label", DIAGNOSTIC_ERROR, "A label twice in one list."},
    [RULE_EMPTY_LABELS] = {"empty-labels", DIAGNOSTIC_WARNING,
                           "An empty list of labels, which restricts nothing."},
    [RULE_OVERRIDDEN] = {"overridden-value", DIAGNOSTIC_WARNING,
                         "A value of the package file that the team's entry turns around."},
    [RULE_VARIABLE] = {"unset-variable", DIAGNOSTIC_ERROR, "A variable that is not set."},
    [RULE_SECRET_VARIABLE] = {"secret-variable", DIAGNOSTIC_ERROR,
                              "A $FLEET_SECRET_ variable outside of a script."},
    [RULE_ODD_VARIABLE] = {"odd-variable", DIAGNOSTIC_WARNING, "A \"${\" that begins no variable."},
    [RULE_PATH] = {"path", DIAGNOSTIC_ERROR, "A path that leads to no file of the right kind."},
    [RULE_MISSING_FILE] = {"missing-file", DIAGNOSTIC_ERROR, "A file that is named does not exist."},
    [RULE_UNUSABLE_FILE] = {"unusable-file", DIAGNOSTIC_ERROR,
                            "A file that is empty, too large, or not what the key takes."},
    [RULE_NESTED_FILE] = {"nested-package-file", DIAGNOSTIC_ERROR,
                          "A package file that refers to another one."},
    [RULE_EMPTY_PATTERN] = {"empty-pattern", DIAGNOSTIC_WARNING,
                            "A pattern that no file matches; the team's removals are withheld."},
    [RULE_LINE_ENDS] = {"script-line-ends", DIAGNOSTIC_WARNING, "A script with CRLF line ends."},
    [RULE_MISSING_SCRIPT] = {"missing-script", DIAGNOSTIC_ERROR,
                             "A package for which Fleet has no default script, without one."},
    [RULE_REPEATED_SOFTWARE] = {"repeated-software", DIAGNOSTIC_ERROR,
                                "Two entries of a team that are the same software."},
    [RULE_REPEATED_BACKUP] = {"repeated-backup-url", DIAGNOSTIC_WARNING,
                              "A backup URL that is tried before already."},
    [RULE_TEAM_FILE] = {"team-file", DIAGNOSTIC_ERROR, "A team's file that can't be one."},
    [RULE_TEAM_NAME] = {"team-name", DIAGNOSTIC_ERROR, "A team's name that can't be one."},
    [RULE_TEAM_COLLISION] = {"team-collision", DIAGNOSTIC_ERROR, "Two files for one team."},
    [RULE_TEAM_FOLDER] = {"team-folder", DIAGNOSTIC_ERROR, "Files of teams that can't be found."},
    [RULE_NO_TEAMS] = {"no-teams", DIAGNOSTIC_WARNING, "There is no folder of teams."},
    [RULE_UNREAD_FOLDER] = {"unread-folder", DIAGNOSTIC_WARNING,
                            "A folder whose name is almost that of a folder of teams."},
    [RULE_TEAM_PATTERN] = {"team-pattern", DIAGNOSTIC_ERROR, "A choice of teams that chooses none."},
    [RULE_ORGANISATION_SOFTWARE] = {"organisation-software", DIAGNOSTIC_ERROR,
                                    "Software in the organisation's file."},
    [RULE_ORGANISATION_FILE] = {"organisation-file", DIAGNOSTIC_WARNING,
                                "An organisation's file whose software can't be checked."},
    [RULE_SETUP_REFUSED] = {"setup-refused", DIAGNOSTIC_ERROR,
                            "Set-up software whose own entry says that it is none."},
    [RULE_SETUP_UNKNOWN] = {"setup-unknown", DIAGNOSTIC_WARNING,
                            "Set-up software that the team does not have."},
    [RULE_SETUP_SEVERAL] = {"setup-several", DIAGNOSTIC_WARNING,
                            "Set-up software that is a file with several packages."},
    [RULE_SETUP_REPEATED] = {"setup-repeated", DIAGNOSTIC_WARNING, "Set-up software that is named twice."},
    [RULE_CONTROLS_FILE] = {"controls-file", DIAGNOSTIC_WARNING, "A file of controls that can't be read."},
    [RULE_UNKNOWN_SETTING] = {"unknown-setting", DIAGNOSTIC_ERROR, "A setting that does not exist."},
    [RULE_SETTING] = {"setting", DIAGNOSTIC_ERROR, "A setting whose value can't be used."},
    [RULE_SETTINGS_FILE] = {"settings-file", DIAGNOSTIC_ERROR,
                            "A tender.yml that can't be read, or is not where it is looked for."},
    [RULE_SECOND_SETTINGS_FILE] = {"second-settings-file", DIAGNOSTIC_WARNING,
                                   "A file like tender.yml that is not read."},
    [RULE_BACKUP_URLS] = {"backup-urls", DIAGNOSTIC_ERROR, "Backup URLs for what is no package's file."},
    [RULE_UNUSED_SETTING] = {"unused-setting", DIAGNOSTIC_WARNING,
                             "A rule of tender.yml that is for nothing."},
};

const char *rule_name(enum rule rule)
{
    return rules[rule].name;
}

const char *rule_description(enum rule rule)
{
    return rules[rule].description;
}

enum diagnostic_severity rule_severity(enum rule rule)
{
    return rules[rule].severity;
}
