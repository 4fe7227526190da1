/* Help texts, made from the tables of commands and settings. */
#include "base/text.h"
#include "commands.h"
#include <stdio.h>
#include <string.h>

enum { NAME_COLUMN = 34, LINE_COLUMNS = 80 };

/* Columns of the next word: bytes that begin a character. */
static int word_columns(const char *text, size_t *length)
{
    *length = strcspn(text, " \n");
    return (int)text_count_characters(text, *length);
}

/* Prints the text in lines of at most LINE_COLUMNS; the first one begins where the cursor stands, at
 * `*column`, the others at `margin`. */
static void print_wrapped(const char *text, int margin, int *column)
{
    while (*text != '\0') {
        size_t length = 0;
        int columns = word_columns(text, &length);
        if (*column > margin && *column + 1 + columns > LINE_COLUMNS) {
            printf("\n%*s", margin, "");
            *column = margin;
        } else if (*column > margin) {
            putchar(' ');
            *column += 1;
        }
        printf("%.*s", (int)length, text);
        *column += columns;
        text += length;
        text += strspn(text, " \n");
    }
}

static void print_setting(const struct setting *setting)
{
    char name[96];
    int length = snprintf(name, sizeof name, "  %c%c%s --%s%s%s", setting->letter != 0 ? '-' : ' ',
                          setting->letter != 0 ? setting->letter : ' ', setting->letter != 0 ? "," : " ",
                          setting->name, setting->value_name != NULL ? " " : "",
                          setting->value_name != NULL ? setting->value_name : "");
    if (length >= NAME_COLUMN)
        printf("%s\n%*s", name, NAME_COLUMN, "");
    else
        printf("%-*s", NAME_COLUMN, name);
    int column = NAME_COLUMN;
    print_wrapped(setting->help, NAME_COLUMN, &column);
    if (setting->default_text != NULL && setting->default_text[0] != '\0' &&
        setting->type != SETTING_SWITCH) {
        char text[64];
        snprintf(text, sizeof text, "[%s]", setting->default_text);
        print_wrapped(text, NAME_COLUMN, &column);
    }
    printf("\n%*s%s%s\n", NAME_COLUMN, "", setting->environment, setting->in_file ? ", tender.yml" : "");
}

static const struct {
    unsigned commands;
    const char *title;
} groups[] = {
    {SETTING_FOR_REPOSITORY, "Manifests"}, {SETTING_FOR_FLEET, "Fleet"},   {SETTING_FOR_WRITE, "Applying"},
    {SETTING_FOR_PLAN, "The plan"},        {SETTING_FOR_LOOP, "The loop"}, {SETTING_FOR_FETCH, "Downloads"},
    {SETTING_FOR_REPORT, "Report"},        {SETTING_FOR_SHOW, "Output"},   {SETTING_FOR_ALL, "Everywhere"},
};

/* The first group that a setting belongs to is the one it is listed in. */
static bool is_first_group(const struct setting *setting, size_t group)
{
    for (size_t i = 0; i < group; i++)
        if ((setting->commands & groups[i].commands) != 0)
            return false;
    return (setting->commands & groups[group].commands) != 0;
}

static void print_group(const struct command *command, size_t group)
{
    bool has_title = false;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *setting = &settings_table[i];
        if ((setting->commands & command->settings) == 0 || !is_first_group(setting, group))
            continue;
        if (!has_title)
            printf("\n%s:\n", groups[group].title);
        has_title = true;
        print_setting(setting);
    }
}

static int print_command(const struct command *command)
{
    printf("Usage: tender %s%s\n\n%s.\n", command->name, command->settings != 0 ? " [OPTIONS]" : "",
           command->summary);
    if (command->description != NULL) {
        int column = 0;
        print_wrapped(command->description, 0, &column);
        putchar('\n');
    }
    for (size_t group = 0; group < ARRAY_LENGTH(groups); group++)
        print_group(command, group);
    if (command->settings != 0)
        printf("\nA flag wins over the environment, the environment over tender.yml, tender.yml\n"
               "over the [default].\n");
    return EXIT_STATUS_DONE;
}

static int print_overview(void)
{
    printf("Usage: tender COMMAND [OPTIONS]\n\n"
           "Brings the software of a Fleet server's teams to what the YAML files of a Git\n"
           "repository say.\n\nCommands:\n");
    for (const struct command *command = commands; command->name != NULL; command++)
        printf("  %-10s %s\n", command->name, command->summary);
    printf("\nFirst use:\n"
           "  export FLEET_URL=https://fleet.example.com FLEET_API_TOKEN=…\n"
           "  tender plan  --repository https://git.example.com/it/fleet.git\n"
           "  tender apply --repository https://git.example.com/it/fleet.git\n"
           "\nExit status:\n"
           "   0  done, nothing failed\n"
           "   1  nothing could be reconciled\n"
           "   2  plan found changes (--detailed-exitcode)\n"
           "   3  partial: something failed, is kept, waiting, blocked or withheld;\n"
           "      the rest is applied\n"
           "   5  another run holds the lock\n"
           "  64  usage\n"
           "  65  the manifests are invalid and nothing could run\n"
           "  77  not authorised\n"
           "\n`tender help COMMAND` lists a command's options. `man tender` has it all.\n");
    return EXIT_STATUS_DONE;
}

int help_print(const char *command_name)
{
    for (const struct command *command = commands; command_name != NULL && command->name != NULL; command++)
        if (strcmp(command->name, command_name) == 0)
            return print_command(command);
    return print_overview();
}
