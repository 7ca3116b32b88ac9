"""Hosts that rules allow, and that nothing ever connects to: the network part refuses them whatever rules say."""

from __future__ import annotations

from collections.abc import Iterator

from remit.policy.decide import RuleSet
from remit.policy.rules import Rule
from remit.policy.selectors import HostSelector, UrlSelector


def unreached(rule: Rule) -> Iterator[str]:
    """What is to be said of the hosts of one rule."""
    if rule.decide != "auto":
        return
    from remit.net.guard import host_fault, is_address

    for host, below in _hosts(rule):
        why = host_fault(host)
        if why and (not below or is_address(host) or host_fault(f"a.{host}")):
            yield f"it allows {host}, which no call and no command is let connect to: {why}"


def unreached_notices(rules: RuleSet) -> list[str]:
    """The same of all rules that a run has, each with where it stands."""
    return [
        f"{rule.ref.source} {rule.ref.where}: {text}"
        for layer in rules.layers
        for rule in layer.heeded()
        for text in unreached(rule)
    ]


def _hosts(rule: Rule) -> Iterator[tuple[str, bool]]:
    """Each host of a rule, and whether the rule is about what is below it too."""
    match rule.selector:
        case HostSelector():
            yield from ((pattern.host, True) for pattern in rule.selector.hosts)
        case UrlSelector():
            yield rule.selector.pattern.host, False
