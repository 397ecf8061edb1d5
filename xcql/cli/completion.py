"""`xcqlc completion`: scripts that make a shell complete the verbs and options of `xcqlc`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

_EXAMPLES = """\
bash:  source <(xcqlc completion bash)                               in ~/.bashrc
zsh:   xcqlc completion zsh > "${fpath[1]}/_xcqlc"
fish:  xcqlc completion fish > ~/.config/fish/completions/xcqlc.fish
"""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a verb; `choices` are its values, if they are known."""

    flags: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb; `words` are the values of its first argument, if they are known."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell")


def run(arguments: argparse.Namespace) -> int:
    verbs = read_verbs(arguments.command_line())
    print({"bash": bash, "zsh": zsh, "fish": fish}[arguments.shell](verbs))
    return 0


def read_verbs(parser: argparse.ArgumentParser) -> list[Verb]:
    """The verbs, as the parser of the command line defines them."""
    (action,) = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    summaries = {one.dest: one.help or "" for one in action._choices_actions}
    return [_verb(name, summaries[name], one) for name, one in action.choices.items()]


def _verb(name: str, summary: str, parser: argparse.ArgumentParser) -> Verb:
    options = []
    words: tuple[str, ...] = ()
    for action in parser._actions:
        choices = tuple(map(str, action.choices or ()))
        if action.option_strings:
            help_ = " ".join((action.help or "").split()).replace("(default: %(default)s)", "")
            options.append(
                Option(tuple(action.option_strings), help_.strip(), action.nargs != 0, choices)
            )
        elif choices:
            words = choices
    return Verb(name, summary, tuple(options), words)


def bash(verbs: list[Verb]) -> str:
    lines = [
        "_xcqlc() {",
        "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}",
        "  COMPREPLY=()",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f"    COMPREPLY=($(compgen -W '{' '.join(verb.name for verb in verbs)}' -- \"$current\"))",
        "    return",
        "  fi",
        '  case "${COMP_WORDS[1]} $previous" in',
    ]
    for verb in verbs:
        for option in verb.options:
            if option.choices:
                pattern = "|".join(f"'{verb.name} {flag}'" for flag in option.flags)
                words = " ".join(option.choices)
                lines.append(
                    f"    {pattern}) COMPREPLY=($(compgen -W '{words}' -- \"$current\")); return;;"
                )
    lines += ["  esac", '  case "${COMP_WORDS[1]} $current" in']
    for verb in verbs:
        words = " ".join(flag for option in verb.options for flag in option.flags)
        lines.append(
            f"    '{verb.name} -'*) COMPREPLY=($(compgen -W '{words}' -- \"$current\")); return;;"
        )
        if verb.words:
            words = " ".join(verb.words)
            lines.append(
                f"    '{verb.name} '*) COMPREPLY=($(compgen -W '{words}' -- \"$current\"));;"
            )
    lines += [
        "  esac",
        '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))',
        "}",
        "complete -o filenames -F _xcqlc xcqlc",
    ]
    return "\n".join(lines)


def zsh(verbs: list[Verb]) -> str:
    lines = ["#compdef xcqlc", "_xcqlc() {", "  local -a verbs", "  verbs=("]
    lines += [f"    '{verb.name}:{_single(verb.help)}'" for verb in verbs]
    lines += [
        "  )",
        "  if (( CURRENT == 2 )); then",
        "    _describe 'verb' verbs",
        "    return",
        "  fi",
        "  local verb=$words[2]",
        "  shift words; (( CURRENT-- ))",
        "  case $verb in",
    ]
    for verb in verbs:
        parts = []
        for option in verb.options:
            values = f"({' '.join(option.choices)})" if option.choices else "_files"
            value = f":value:{values}" if option.takes_value else ""
            for flag in option.flags:
                parts.append(f"'*{flag}[{_bracketed(option.help)}]{value}'")
        parts.append(f"'*:file:({' '.join(verb.words)})'" if verb.words else "'*:file:_files'")
        lines.append(f"    {verb.name}) _arguments \\")
        lines += [f"      {part} \\" for part in parts[:-1]]
        lines.append(f"      {parts[-1]};;")
    return "\n".join([*lines, "  esac", "}", '_xcqlc "$@"'])


def fish(verbs: list[Verb]) -> str:
    lines = ["complete -c xcqlc -n __fish_use_subcommand -f"]
    for verb in verbs:
        lines.append(
            f"complete -c xcqlc -n __fish_use_subcommand -a {verb.name} -d '{_single(verb.help)}'"
        )
    for verb in verbs:
        here = f"complete -c xcqlc -n '__fish_seen_subcommand_from {verb.name}'"
        if verb.words:
            lines.append(f"{here} -f -a '{' '.join(verb.words)}'")
        for option in verb.options:
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in option.flags
            )
            values = ""
            if option.takes_value:
                values = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r"
            lines.append(f"{here} {flags}{values} -d '{_single(option.help)}'")
    return "\n".join(lines)


def _single(text: str) -> str:
    """Escape text for single quotes, where an apostrophe would end them."""
    return text.replace("'", "’")


def _bracketed(text: str) -> str:
    for character in "[]:":
        text = text.replace(character, f"\\{character}")
    return _single(text)
