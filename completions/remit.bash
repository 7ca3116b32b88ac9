# bash completion of remit, as `remit completion bash` prints it.
# Use it now: source <(remit completion bash)

_remit_tools='analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact'
_remit_selectors='path= host= url= command= topic= agent= name='
_remit_models='anthropic/ azure/ deepseek/ google/ groq/ llama-cpp/ local/ mistral/ ollama/ openai/ openrouter/ replay/ scripted/ vllm/ xai/'

_remit_command() { # COMMAND: its $children and $flags
    kind=
    case "$1" in
    '')
        children='run resume replay task policy runs memory tools prompt models auth doctor events completion man' flags='-V --version -h --help'
        ;;
    'run')
        children='' flags='-t --task -p --policy -a --approvals -o --out -m --model --fallback-model --effort --image --output-format --input-format --include-partial-messages -i --input --prompt-file --stdin -n --no-stdin --tools --goal --goal-limit --system-prompt-profile --system-prompt --system-prompt-file --append-system-prompt --allowed-tools --disallowed-tools --allow --deny -C --workspace --hooks --on-ask --on-deny --mode --permission-mode --example --record --no-instructions --no-rtk -c --continue --resume --fork --fork-session --implement --clear --session-id --ephemeral -q --quiet -v --verbose --max-turns --max-seconds --max-tokens --max-usd --max-calls --max-network-requests --max-artifact-bytes --max-artifacts-total-bytes -h --help'
        ;;
    'resume')
        children='' flags='-a --approvals -m --model --output-format --reload -q --quiet -v --verbose --max-turns --max-seconds --max-tokens --max-usd --max-calls --max-network-requests --max-artifact-bytes --max-artifacts-total-bytes -h --help'
        ;;
    'replay')
        children='' flags='--live-tools -o --out -C --workspace --output-format -q --quiet -v --verbose -h --help'
        ;;
    'task')
        children='check schema new' flags='-h --help'
        ;;
    'task check')
        children='' flags='-h --help'
        ;;
    'task schema')
        children='' flags='-h --help'
        ;;
    'task new')
        children='' flags='--example -h --help'
        ;;
    'policy')
        children='check explain' flags='-h --help'
        ;;
    'policy check')
        children='' flags='--strict -h --help'
        ;;
    'policy explain')
        children='' flags='-t --task -p --policy -a --approvals --tools --allow --deny -C --workspace --on-ask --mode --permission-mode --json -h --help'
        ;;
    'runs')
        children='list show' flags='-h --help'
        ;;
    'runs list')
        children='' flags='--json -n --number --all -h --help'
        ;;
    'runs show')
        children='' flags='--json -h --help'
        ;;
    'memory')
        children='proposals accept reject' flags='-h --help'
        ;;
    'memory proposals')
        children='' flags='--json --all -h --help'
        ;;
    'memory accept')
        children='' flags='-h --help'
        ;;
    'memory reject')
        children='' flags='-h --help'
        ;;
    'tools')
        children='' flags='-t --task -m --model -p --policy -a --approvals --tools --system-prompt-profile --allowed-tools --disallowed-tools --allow --deny -C --workspace --on-ask --mode --permission-mode --json -h --help'
        ;;
    'prompt')
        children='' flags='-t --task -m --model -p --policy -a --approvals --tools --system-prompt-profile --system-prompt --system-prompt-file --append-system-prompt --allowed-tools --disallowed-tools --allow --deny -C --workspace --on-ask --mode --permission-mode --no-instructions --json -h --help'
        ;;
    'models')
        children='' flags='--json --provider -h --help'
        ;;
    'auth')
        children='set list remove' flags='-h --help'
        ;;
    'auth set')
        children='' flags='-h --help'
        ;;
    'auth list')
        children='' flags='--json -h --help'
        ;;
    'auth remove')
        children='' flags='-h --help'
        ;;
    'doctor')
        children='' flags='--parts --json -h --help'
        ;;
    'events')
        children='' flags='-h --help'
        ;;
    'completion')
        children='' flags='-h --help'
        ;;
    'man')
        children='' flags='--roff --list -h --help'
        ;;
    esac
}

_remit_value() { # COMMAND FLAG: the $kind of the flag's value
    kind=
    case "$1:$2" in
    'run:-t' | 'run:--task' | 'run:-p' | 'run:--policy' | 'run:-a' | 'run:--approvals' | 'run:--image' | 'run:--prompt-file' | 'run:--system-prompt-file' | 'run:--hooks' | 'run:--record' | 'resume:-a' | 'resume:--approvals' | 'policy explain:-t' | 'policy explain:--task' | 'policy explain:-p' | 'policy explain:--policy' | 'policy explain:-a' | 'policy explain:--approvals' | 'tools:-t' | 'tools:--task' | 'tools:-p' | 'tools:--policy' | 'tools:-a' | 'tools:--approvals' | 'prompt:-t' | 'prompt:--task' | 'prompt:-p' | 'prompt:--policy' | 'prompt:-a' | 'prompt:--approvals' | 'prompt:--system-prompt-file')
        kind='file'
        ;;
    'run:-o' | 'run:--out' | 'run:-C' | 'run:--workspace' | 'replay:-o' | 'replay:--out' | 'replay:-C' | 'replay:--workspace' | 'policy explain:-C' | 'policy explain:--workspace' | 'tools:-C' | 'tools:--workspace' | 'prompt:-C' | 'prompt:--workspace')
        kind='directory'
        ;;
    'run:-m' | 'run:--model' | 'run:--fallback-model' | 'resume:-m' | 'resume:--model' | 'tools:-m' | 'tools:--model' | 'prompt:-m' | 'prompt:--model')
        kind='model'
        ;;
    'run:--effort')
        kind='= off low medium high max'
        ;;
    'run:--output-format' | 'resume:--output-format' | 'replay:--output-format')
        kind='= text json stream-json codex-json'
        ;;
    'run:--input-format')
        kind='= text stream-json'
        ;;
    'run:-i' | 'run:--input' | 'run:--goal' | 'run:--goal-limit' | 'run:--system-prompt-profile' | 'run:--system-prompt' | 'run:--append-system-prompt' | 'run:--session-id' | 'run:--max-turns' | 'run:--max-seconds' | 'run:--max-tokens' | 'run:--max-usd' | 'run:--max-calls' | 'run:--max-network-requests' | 'run:--max-artifact-bytes' | 'run:--max-artifacts-total-bytes' | 'resume:--max-turns' | 'resume:--max-seconds' | 'resume:--max-tokens' | 'resume:--max-usd' | 'resume:--max-calls' | 'resume:--max-network-requests' | 'resume:--max-artifact-bytes' | 'resume:--max-artifacts-total-bytes' | 'runs list:-n' | 'runs list:--number' | 'tools:--system-prompt-profile' | 'prompt:--system-prompt-profile' | 'prompt:--system-prompt' | 'prompt:--append-system-prompt')
        kind='any'
        ;;
    'run:--tools' | 'policy explain:--tools' | 'tools:--tools' | 'prompt:--tools')
        kind='tools'
        ;;
    'run:--allowed-tools' | 'run:--disallowed-tools' | 'tools:--allowed-tools' | 'tools:--disallowed-tools' | 'prompt:--allowed-tools' | 'prompt:--disallowed-tools')
        kind='= analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact'
        ;;
    'run:--allow' | 'run:--deny' | 'policy explain:--allow' | 'policy explain:--deny' | 'tools:--allow' | 'tools:--deny' | 'prompt:--allow' | 'prompt:--deny')
        kind='rule'
        ;;
    'run:--on-ask' | 'policy explain:--on-ask' | 'tools:--on-ask' | 'prompt:--on-ask')
        kind='= deny stop'
        ;;
    'run:--on-deny')
        kind='= continue fail'
        ;;
    'run:--mode' | 'run:--permission-mode' | 'policy explain:--mode' | 'policy explain:--permission-mode' | 'tools:--mode' | 'tools:--permission-mode' | 'prompt:--mode' | 'prompt:--permission-mode')
        kind='= build plan default acceptEdits bypassPermissions dontAsk'
        ;;
    'run:--example' | 'task new:--example')
        kind='= mixed-docs sales-report'
        ;;
    'run:--resume' | 'run:--implement')
        kind='run'
        ;;
    'models:--provider')
        kind='= anthropic azure deepseek google groq llama-cpp local mistral ollama openai openrouter replay scripted vllm xai'
        ;;
    esac
}

_remit_operand() { # COMMAND POSITION: its $kind
    kind=
    case "$1:$2" in
    'resume:'1)
        kind='run'
        ;;
    'replay:'1)
        kind='file'
        ;;
    'task check:'*)
        kind='file'
        ;;
    'task new:'1)
        kind='directory'
        ;;
    'policy check:'*)
        kind='file'
        ;;
    'policy explain:'1)
        kind='= analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact'
        ;;
    'runs show:'1)
        kind='run'
        ;;
    'memory accept:'*)
        kind='proposal'
        ;;
    'memory reject:'*)
        kind='proposal'
        ;;
    'auth set:'1)
        kind='= anthropic azure deepseek google groq llama-cpp local mistral ollama openai openrouter replay scripted vllm xai'
        ;;
    'auth remove:'1)
        kind='= anthropic azure deepseek google groq llama-cpp local mistral ollama openai openrouter replay scripted vllm xai'
        ;;
    'completion:'1)
        kind='= bash zsh fish'
        ;;
    'man:'1)
        kind='= remit run resume replay task policy runs memory tools prompt models auth doctor events completion man sdk task.5 script policy.5 approvals providers hooks events.7 tools.7 sandbox agents profiles install'
        ;;
    esac
}

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
        local/* | replay/* | scripted/*) _remit_paths "${value%%/*}/" -f ;;
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
