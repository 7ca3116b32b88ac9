"""The completion script of zsh."""

from __future__ import annotations

from remit.commands.shells.words import Kind, Words, kind_of, words_of
from remit.commands.tree import Command, Flag, Operand

_HEAD = """\
#compdef remit
# zsh completion of remit, as `remit completion zsh` prints it.
# Put it as _remit into a directory of $fpath, or use it now: source <(remit completion zsh)

"""

# Two underscores, because a subcommand may be called `tools` or `runs` too.
_BODY = r"""
_remit__tools() { # NAME[=auto|ask|deny],...
    local -a names=(@TOOLS@)
    compset -P '*,'
    if compset -P '*='; then
        compadd -S '' -- auto ask deny
    else
        compadd -S '' -- $names
    fi
}

_remit__rules() { # TOOL[:SELECTOR=PATTERN]
    local -a names=(@TOOLS@) selectors=(@SELECTORS@)
    if compset -P '*:'; then
        compadd -S '=' -- $selectors
    else
        compadd -S '' -- $names
    fi
}

_remit__models() { # PROVIDER/NAME
    local -a prefixes=(@MODELS@)
    if compset -P '(@FILE_MODELS@)/'; then
        _files
    else
        compadd -S '' -- $prefixes
    fi
}

_remit__own() { # KIND: what this user has of it, newest first
    local -a found=()
    local line
    for line in ${(f)"$(command remit completion --words $1 2>/dev/null)"}; do
        found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    _describe -V -t $1 $1 found
}

_remit__runs() {
    local -a last=('last:the newest run')
    _describe -V -t last 'run' last
    _remit__own runs
    _files -/
}

_remit__proposals() { _remit__own proposals }
"""

_FOOT = """
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
    _remit "$@"
else
    compdef _remit remit
fi
"""

_ACTIONS = {
    Kind.ANY: " ",
    Kind.FILE: "_files",
    Kind.DIRECTORY: "_files -/",
    Kind.TOOLS: "_remit__tools",
    Kind.RULE: "_remit__rules",
    Kind.MODEL: "_remit__models",
    Kind.RUN: "_remit__runs",
    Kind.PROPOSAL: "_remit__proposals",
}


def script(tree: Command, words: Words) -> str:
    """The whole script."""
    filled = {
        "@TOOLS@": " ".join(words.tools),
        "@SELECTORS@": " ".join(words.selectors),
        "@MODELS@": " ".join(words.models),
        "@FILE_MODELS@": "|".join(prefix.rstrip("/") for prefix, file in words.models.items() if file),
    }
    body = _BODY
    for mark, text in filled.items():
        body = body.replace(mark, text)
    functions = [_group(command, words) if command.children else _leaf(command, words) for command in tree.walk()]
    return _HEAD + "\n".join(functions) + body + _FOOT


def _name(command: Command) -> str:
    return "_".join(("_remit", *command.path))


def _group(command: Command, words: Words) -> str:
    described = [f"        {_quoted(f'{child.name}:{child.summary}')}" for child in command.children]
    cases = [f"        {child.name}) {_name(child)} && result=0 ;;" for child in command.children]
    lines = [
        f"{_name(command)}() {{",
        "    local curcontext=$curcontext state line result=1",
        "    local -a commands=(",
        *described,
        "    )",
        "    _arguments -S -C \\",
        *(f"        {spec} \\" for flag in command.flags for spec in _specs(flag, words)),
        "        '1: :->command' '*:: :->rest' && result=0",
        "    case $state in",
        "    command) _describe -t commands 'command' commands && result=0 ;;",
        "    rest)",
        "        case $line[1] in",
        *cases,
        "        esac",
        "        ;;",
        "    esac",
        "    return result",
        "}",
    ]
    return "\n".join([*lines, ""])


def _leaf(command: Command, words: Words) -> str:
    specs = [spec for flag in command.flags for spec in _specs(flag, words)]
    specs += [spec for place, operand in enumerate(command.operands, 1) for spec in _operand(place, operand, words)]
    lines = [f"{_name(command)}() {{", "    _arguments -s -S \\", *(f"        {spec} \\" for spec in specs)]
    lines[-1] = lines[-1].removesuffix(" \\")
    return "\n".join([*lines, "}", ""])


def _specs(flag: Flag, words: Words) -> list[str]:
    """The specifications of one flag: one, and one more where it can be switched off."""
    every = (*flag.names, *flag.negative)
    value = f":{_message(flag.metavar)}:{_action(flag, words)}" if flag.takes_value else ""
    text = f"[{_bracketed(flag.help)}]{value}"
    found = []
    for names in filter(None, (flag.names, flag.negative)):
        spelled = [_spelled(name, flag) for name in names]
        braced = f"{{{','.join(spelled)}}}" if len(spelled) > 1 else spelled[0]
        head = _quoted("*") if flag.repeatable else _quoted(f"({' '.join(every)})")
        found.append(f"{head}{braced}{_quoted(text)}")
    return found


def _spelled(name: str, flag: Flag) -> str:
    """`--name=` and `-n+` take their value in the same word or in the next."""
    if not flag.takes_value:
        return name
    return f"{name}=" if name.startswith("--") else f"{name}+"


def _operand(place: int, operand: Operand, words: Words) -> list[str]:
    text = f"{_message(operand.metavar)}:{_action(operand, words)}"
    if kind_of(operand) == Kind.TOOL:
        return [_quoted(f"1:TOOL:{_action(operand, words)}"), _quoted("*:KEY=VALUE: ")]
    if operand.repeatable:
        return [_quoted(f"*:{text}")]
    return [_quoted(f"{place}{':' if operand.required else '::'}{text}")]


def _action(part: Flag | Operand, words: Words) -> str:
    fixed = words_of(part, words)
    return f"({' '.join(fixed)})" if fixed else _ACTIONS[kind_of(part)]


def _message(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _bracketed(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
