"""The completion script of bash."""

from __future__ import annotations

from collections.abc import Iterable

from remit.commands.shells.words import Kind, Words, kind_of, words_of
from remit.commands.tree import Command, Flag, Operand

_HEAD = """\
# bash completion of remit, as `remit completion bash` prints it.
# Use it now: source <(remit completion bash)

"""

# Bash splits words at `=` and `:` too, where its settings say so; the line tells which belong together.
_BODY = r"""
_remit_offer() { # PREFIX WORD...: the words that go on with $value, each written after PREFIX
    local prefix=$1 word
    shift
    for word; do
        [[ $prefix$word == "$value"* ]] && found+=("$prefix$word")
    done
}

_remit_paths() { # PREFIX ACTION: files (-f) or directories (-d) after PREFIX
    local prefix=$1 action=$2 start=${value#"$1"} path word
    start=${start#[\"\']}
    start=${start//\\/}
    if [[ ! $prefix ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r path; do found+=("$path"); done < <(compgen "$action" -- "$start")
        return
    fi
    # Behind a prefix bash does not see that these are files.
    compopt -o nospace 2>/dev/null
    while IFS= read -r path; do
        printf -v word %q "$path"
        [[ -d $path ]] && word+=/ || word+=' '
        found+=("$prefix$word")
    done < <(compgen "$action" -- "$start")
}

_remit_own() { # KIND: what this user has of it
    command remit completion --words "$1" 2>/dev/null | while IFS=$'\t' read -r word _; do printf '%s\n' "$word"; done
}

_remit() {
    local line=${COMP_LINE:0:COMP_POINT} rest= part= i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:space:]]*}"}
        part=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && part=$rest
        if ((i == 0)) || [[ $rest != "$line" ]]; then
            words+=("$part")
        else
            words[${#words[@]} - 1]+=$part
        fi
        line=${rest#"$part"}
    done
    [[ $part == [=:]* ]] && part=${part##*[=:]}

    local command= position=1 kind= children= flags= word plain= due=
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $due ]]; then
            due=
        elif [[ ! $plain && $word == -- ]]; then
            plain=1
        elif [[ ! $plain && $word == -?* ]]; then
            _remit_value "$command" "$word"
            due=$kind
        else
            _remit_command "$command"
            if [[ " $children " == *" $word "* ]]; then
                command=${command:+$command }$word
            else
                ((position++))
            fi
        fi
    done

    local current=${words[${#words[@]} - 1]} before=
    _remit_command "$command"
    if [[ $due ]]; then
        kind=$due
    elif [[ ! $plain && $current == --*=* ]]; then
        _remit_value "$command" "${current%%=*}"
        before=${current%%=*}=
    elif [[ ! $plain && $current == -* ]]; then
        kind="= $flags"
    elif [[ $children ]]; then
        kind="= $children"
    else
        _remit_operand "$command" "$position"
    fi

    local value=${current#"$before"} last
    local -a found=()
    case $kind in
    '= '*) _remit_offer '' ${kind#= } ;;
    file) _remit_paths '' -f ;;
    directory) _remit_paths '' -d ;;
    run)
        _remit_offer '' last $(_remit_own runs)
        ((${#found[@]})) || _remit_paths '' -d
        ;;
    proposal) _remit_offer '' $(_remit_own proposals) ;;
    tools)
        compopt -o nospace 2>/dev/null
        last=${value##*,}
        if [[ $last == *=* ]]; then
            _remit_offer "${value%"${last#*=}"}" auto ask deny
        else
            _remit_offer "${value%"$last"}" $_remit_tools
        fi
        ;;
    rule)
        compopt -o nospace 2>/dev/null
        if [[ $value == *:* ]]; then
            _remit_offer "${value%%:*}:" $_remit_selectors
        else
            _remit_offer '' $_remit_tools
        fi
        ;;
    model)
        compopt -o nospace 2>/dev/null
        case $value in
        @FILE_MODELS@) _remit_paths "${value%%/*}/" -f ;;
        *) _remit_offer '' $_remit_models ;;
        esac
        ;;
    esac

    # What is in front of the word as bash sees it stands on the line already.
    local head=${current%"$part"}
    COMPREPLY=()
    for word in ${found[@]+"${found[@]}"}; do
        word=$before$word
        COMPREPLY+=("${word#"$head"}")
    done
}

complete -o nosort -F _remit remit 2>/dev/null || complete -F _remit remit
"""


def script(tree: Command, words: Words) -> str:
    """The whole script."""
    commands = list(tree.walk())
    file_models = " | ".join(f"{prefix}*" for prefix, file in words.models.items() if file)
    parts = [
        _HEAD,
        _assign("_remit_tools", words.tools),
        _assign("_remit_selectors", [f"{name}=" for name in words.selectors]),
        _assign("_remit_models", words.models),
        _function("_remit_command", "COMMAND: its $children and $flags", "$1", _command_cases(commands)),
        _function(
            "_remit_value", "COMMAND FLAG: the $kind of the flag's value", "$1:$2", _value_cases(commands, words)
        ),
        _function("_remit_operand", "COMMAND POSITION: its $kind", "$1:$2", _operand_cases(commands, words)),
        _BODY.replace("@FILE_MODELS@", file_models),
    ]
    return "".join(parts)


def _assign(name: str, words: Iterable[str]) -> str:
    return f"{name}='{' '.join(words)}'\n"


def _function(name: str, comment: str, subject: str, cases: list[tuple[list[str], str]]) -> str:
    lines = [f"\n{name}() {{ # {comment}", "    kind=", f'    case "{subject}" in']
    for patterns, body in cases:
        lines += [f"    {_patterns(patterns)})", f"        {body}", "        ;;"]
    return "\n".join([*lines, "    esac", "}", ""])


def _patterns(patterns: list[str]) -> str:
    return " | ".join(patterns)


def _command_cases(commands: list[Command]) -> list[tuple[list[str], str]]:
    cases = []
    for command in commands:
        flags = " ".join(name for flag in command.flags for name in (*flag.names, *flag.negative))
        children = " ".join(child.name for child in command.children)
        cases.append(([f"'{' '.join(command.path)}'"], f"children='{children}' flags='{flags}'"))
    return cases


def _value_cases(commands: list[Command], words: Words) -> list[tuple[list[str], str]]:
    """Grouped by kind, so that the script stays short."""
    by_kind: dict[str, list[str]] = {}
    for command in commands:
        for flag in command.flags:
            if flag.takes_value:
                names = [f"'{' '.join(command.path)}:{name}'" for name in flag.names]
                by_kind.setdefault(_kind(flag, words), []).extend(names)
    return [(patterns, f"kind='{kind}'") for kind, patterns in by_kind.items()]


def _operand_cases(commands: list[Command], words: Words) -> list[tuple[list[str], str]]:
    cases = []
    for command in commands:
        for position, operand in enumerate(command.operands, 1):
            kind = _kind(operand, words)
            # Of a call only the first word is the tool.
            every = operand.repeatable and kind_of(operand) != Kind.TOOL
            place = f"'{' '.join(command.path)}:'" + ("*" if every else f"{position}")
            if kind != Kind.ANY:
                cases.append(([place], f"kind='{kind}'"))
    return cases


def _kind(part: Flag | Operand, words: Words) -> str:
    fixed = words_of(part, words)
    return f"= {' '.join(fixed)}" if fixed else kind_of(part).value
