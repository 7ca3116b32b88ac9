"""The completion script of fish."""

from __future__ import annotations

from remit.commands.shells.words import Kind, Words, kind_of, words_of
from remit.commands.tree import Command, Flag, Operand

_HEAD = """\
# fish completion of remit, as `remit completion fish` prints it.
# Put it as remit.fish into ~/.config/fish/completions, or use it now: remit completion fish | source

"""

_BODY = r"""
function __remit_operands # how many operands follow the command ARGV on the line; fails when it is another one
    set -l words (commandline -opc)[2..]
    set -l depth (count $argv)
    test (count $words) -ge $depth; or return 1
    if test $depth -gt 0
        test "$words[1..$depth]" = "$argv"; or return 1
        set words $words[(math $depth + 1)..]
    end
    set -l valued (__remit_valued "$argv")
    set -l count 0
    set -l due 0
    set -l plain 0
    for word in $words
        if test $due = 1
            set due 0
        else if test $plain = 0; and test "$word" = --
            set plain 1
        else if test $plain = 0; and string match -q -- '-?*' "$word"
            contains -- "$word" $valued; and set due 1
        else
            set count (math $count + 1)
        end
    end
    echo $count
end

function __remit_in # COMMAND...: whether the line is at this command, or below it
    __remit_operands $argv >/dev/null
end

function __remit_at # POSITION COMMAND...: whether that operand of the command is due
    test "$(__remit_operands $argv[2..])" = (math $argv[1] - 1)
end

function __remit_value # the word under the cursor, without the flag in front of it
    commandline -ct | string replace -r -- '^--[^=]*=' ''
end

function __remit_tools # NAME[=auto|ask|deny],...
    set -l word (__remit_value)
    set -l done (string match -r -- '^.*,' "$word")
    set -l name (string match -r -- '[^,=]*=' (string replace -r -- '^.*,' '' "$word"))
    if test -n "$name"
        printf '%s\n' "$done$name"{auto,ask,deny}
    else
        printf '%s\n' "$done"{@TOOLS@}
    end
end

function __remit_rules # TOOL[:SELECTOR=PATTERN]
    set -l tool (string match -r -- '^[^:]*:' (__remit_value))
    if test -n "$tool"
        printf '%s\n' "$tool"{@SELECTORS@}=
    else
        printf '%s\n' @TOOL_WORDS@
    end
end

function __remit_models # PROVIDER/NAME
    set -l word (__remit_value)
    set -l prefix (string match -r -- '^(?:@FILE_MODELS@)/' "$word")
    if test -n "$prefix"
        printf '%s\n' $prefix(__fish_complete_path (string replace -- "$prefix" '' "$word"))
    else
        printf '%s\n' @MODELS@
    end
end

function __remit_own # KIND: what this user has of it
    command -q remit; and command remit completion --words $argv 2>/dev/null
end
"""

_ACTIONS = {
    Kind.ANY: "-x",
    Kind.FILE: "-r -F",
    Kind.DIRECTORY: "-x -a '(__fish_complete_directories (__remit_value))'",
    Kind.TOOLS: "-x -a '(__remit_tools)'",
    Kind.RULE: "-x -a '(__remit_rules)'",
    Kind.MODEL: "-x -a '(__remit_models)'",
    Kind.RUN: r"""-x -k -a '(printf "last\tthe newest run\n"; __remit_own runs)'""",
    Kind.PROPOSAL: "-x -k -a '(__remit_own proposals)'",
}


def script(tree: Command, words: Words) -> str:
    """The whole script."""
    filled = {
        "@TOOLS@": ",".join(words.tools),
        "@TOOL_WORDS@": " ".join(words.tools),
        "@SELECTORS@": ",".join(words.selectors),
        "@MODELS@": " ".join(words.models),
        "@FILE_MODELS@": "|".join(prefix.rstrip("/") for prefix, file in words.models.items() if file),
    }
    body = _BODY
    for mark, text in filled.items():
        body = body.replace(mark, text)
    lines = [line for command in tree.walk() for line in _lines(command, words)]
    return _HEAD + _valued(tree) + body + "\ncomplete -c remit -f\n" + "\n".join(lines) + "\n"


def _valued(tree: Command) -> str:
    """The flags of each command that take the next word."""
    lines = ["function __remit_valued # COMMAND: its flags that take a value", '    switch "$argv"']
    for command in tree.walk():
        names = [name for flag in command.flags if flag.takes_value for name in flag.names]
        if names:
            lines.append(f"        case {_quoted(' '.join(command.path))}")
            lines.append(f"            printf '%s\\n' {' '.join(names)}")
    return "\n".join([*lines, "    end", "end", ""])


def _lines(command: Command, words: Words) -> list[str]:
    first = " ".join(("__remit_at 1", *command.path))
    lines = [
        f"complete -c remit -n '{first}' -a {child.name} -d {_quoted(child.summary)}" for child in command.children
    ]
    for flag in command.flags:
        lines += _flag(command, flag, words)
    for position, operand in enumerate(command.operands, 1):
        if kind_of(operand) != Kind.ANY:
            every = operand.repeatable and kind_of(operand) != Kind.TOOL
            condition = " ".join(("__remit_in" if every else f"__remit_at {position}", *command.path))
            lines.append(f"complete -c remit -n '{condition}' {_action(operand, words).replace('-r ', '')}")
    return lines


def _flag(command: Command, flag: Flag, words: Words) -> list[str]:
    # The flags of a group are its own, not those of the commands below it.
    condition = " ".join(("__remit_at 1" if command.children else "__remit_in", *command.path))
    action = f" {_action(flag, words)}" if flag.takes_value else ""
    return [
        f"complete -c remit -n '{condition}' {_spelled(names)}{action} -d {_quoted(flag.help)}"
        for names in filter(None, (flag.names, flag.negative))
    ]


def _spelled(names: tuple[str, ...]) -> str:
    return " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in names)


def _action(part: Flag | Operand, words: Words) -> str:
    fixed = words_of(part, words)
    return f"-x -a {_quoted(' '.join(fixed))}" if fixed else _ACTIONS[kind_of(part)]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
