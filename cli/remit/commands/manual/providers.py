"""remit-providers(5): the file in which people describe the servers of their models."""

from __future__ import annotations

from remit.commands.manual.page import Code, Page, Para, Section, item

EXAMPLE = """\
version = 1

[mycorp]
protocol = "openai"
base_url = "https://llm.example.com/v1"
token_command = ["sso", "print-token", "--audience", "llm"]
purposes = {fast = "small", best = "big"}

[[mycorp.models]]
id = "big"
context_window = 200_000
max_output_tokens = 32_000
vision = true
thinking = "effort"
price = {input = 3.0, output = 15.0, cache_read = 0.3}

[anthropic]
base_url = "https://gateway.example.com"
"""

PROVIDER_KEYS = {
    "protocol": "What the server speaks: `openai` (Chat Completions, as most servers do), `openai-responses`, "
    "`anthropic` or `google`. Required for a provider that is not built in.",
    "base_url": "Its address, up to and with the version where the protocol has one in the path. Required for a "
    "provider that is not built in.",
    "base_url_env": "Variable that replaces the address. Default: the name in capitals with `_BASE_URL`.",
    "api_key_env": "Variable of the key, or a list of which the first that is set counts. Default: the name in "
    "capitals with `_API_KEY`.",
    "key_required": "Whether a run without a key is refused before any request. Default: true where `api_key_env` "
    "stands in the file.",
    "token_command": "A program and its arguments that print a key, as a list or as one text that is split into words. "
    "It is run without a shell where no variable and no key of `remit auth` is there, and once more when the server "
    "takes the key no longer.",
    "auth_header": "Header of the key. Default: that of the protocol.",
    "headers": "Headers sent with every request. Names of secrets are refused, and of headers that frame a request.",
    "query": "Parameters of the URL of every request, such as `api-version`.",
    "display_name": "The name for people.",
    "default_model": "The model that the provider's name alone stands for: `-m mycorp`.",
    "purposes": "`fast` and `best`, each the id of a model: `-m mycorp/fast`.",
    "models": "What is known of its models, see MODELS. Others can be used all the same.",
}

MODEL_KEYS = {
    "id": "The provider's own name of the model. Required.",
    "context_window": "Tokens of a whole request. Where they are known, older turns are summed up before they are "
    "spent; elsewhere when the server refuses a request as too long.",
    "max_output_tokens": "Tokens of an answer.",
    "output_in_window": "Whether the answer counts against the context window. Default true.",
    "vision": "Whether it sees pictures. With false those of tools become notes, and `--image` is refused.",
    "pdf": "Whether it reads PDF.",
    "thinking": "How it is told to think by `--effort`: `none`; `effort` (a word; `openai`, `openai-responses`), "
    "`budget` (a number of tokens; `anthropic`, `google`), `adaptive` (`anthropic`) or `level` (the words of Gemini; "
    "`google`).",
    "cache_breakpoints": "Whether requests mark what the server should keep in its cache.",
    "price": "US dollars per million tokens, see PRICES. `[prices]` of remit.toml goes before it.",
    "gguf": "Only below `[local]`: path of the weights that the id stands for.",
}

PRICE_KEYS = {
    "input": "Tokens read. Required.",
    "output": "Tokens written, those of thinking included. Required.",
    "cache_read": "Tokens read from a cache. Default: as any input.",
    "cache_write": "Tokens written to a cache. Default: as any input.",
    "tiers": "List of dearer prices: each with `above`, the tokens of a whole input above which it counts, and the "
    "keys of a price.",
}


def providers_page() -> Page:
    """remit-providers(5)."""
    return Page(
        "remit-providers",
        5,
        "servers and models of remit",
        (
            Section(
                "DESCRIPTION",
                (
                    Para(
                        "`providers.toml` in the directory of the settings describes the servers that a user's models "
                        "are asked from. It lies over a built-in catalog of public services and their current models, "
                        "with context windows and prices; `remit models` lists both, with the day of the catalog. A "
                        "table named as a built-in provider changes only the keys it has."
                    ),
                    Para(
                        "A key of a service never stands in this file. It is taken from the variable, else from the "
                        "file that `remit auth` keeps, else from the token command, and is kept out of all that remit "
                        "writes. A file of a project changes nothing of this."
                    ),
                    Para(
                        "`version = 1` is required; unknown keys are errors. A provider's name is of small letters, "
                        "digits and dashes."
                    ),
                ),
            ),
            Section("PROVIDERS", tuple(item(key, text) for key, text in PROVIDER_KEYS.items())),
            Section("MODELS", tuple(item(key, text) for key, text in MODEL_KEYS.items())),
            Section("PRICES", tuple(item(key, text) for key, text in PRICE_KEYS.items())),
            Section("EXAMPLE", (Code(EXAMPLE),)),
            Section("SEE ALSO", (Para("remit-models(1), remit-auth(1), remit-run(1)"),)),
        ),
    )
