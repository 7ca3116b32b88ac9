# fish completion of remit, as `remit completion fish` prints it.
# Put it as remit.fish into ~/.config/fish/completions, or use it now: remit completion fish | source

function __remit_valued # COMMAND: its flags that take a value
    switch "$argv"
        case 'run'
            printf '%s\n' -t --task -p --policy -a --approvals -o --out -m --model --fallback-model --effort --image --output-format --input-format -i --input --prompt-file --tools --goal --goal-limit --system-prompt-profile --system-prompt --system-prompt-file --append-system-prompt --allowed-tools --disallowed-tools --allow --deny -C --workspace --hooks --on-ask --on-deny --mode --permission-mode --example --record --resume --implement --session-id --max-turns --max-seconds --max-tokens --max-usd --max-calls --max-network-requests --max-artifact-bytes --max-artifacts-total-bytes
        case 'resume'
            printf '%s\n' -a --approvals -m --model --output-format --max-turns --max-seconds --max-tokens --max-usd --max-calls --max-network-requests --max-artifact-bytes --max-artifacts-total-bytes
        case 'replay'
            printf '%s\n' -o --out -C --workspace --output-format
        case 'task new'
            printf '%s\n' --example
        case 'policy explain'
            printf '%s\n' -t --task -p --policy -a --approvals --tools --allow --deny -C --workspace --on-ask --mode --permission-mode
        case 'runs list'
            printf '%s\n' -n --number
        case 'tools'
            printf '%s\n' -t --task -m --model -p --policy -a --approvals --tools --system-prompt-profile --allowed-tools --disallowed-tools --allow --deny -C --workspace --on-ask --mode --permission-mode
        case 'prompt'
            printf '%s\n' -t --task -m --model -p --policy -a --approvals --tools --system-prompt-profile --system-prompt --system-prompt-file --append-system-prompt --allowed-tools --disallowed-tools --allow --deny -C --workspace --on-ask --mode --permission-mode
        case 'models'
            printf '%s\n' --provider
    end
end

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
        printf '%s\n' "$done"{analyze_csv,batch,code_context,code_expand,code_impact,code_map,code_refs,execution_environment,fetch_url,file_apply_patch,file_edit,file_glob,file_grep,file_index,file_read,file_write,list_files,plan,propose_memory,python_execution,question,read_file,search_files,shell,task,task_control,todo_write,tool_output,update_plan,view_image,write_artifact}
    end
end

function __remit_rules # TOOL[:SELECTOR=PATTERN]
    set -l tool (string match -r -- '^[^:]*:' (__remit_value))
    if test -n "$tool"
        printf '%s\n' "$tool"{path,host,url,command,topic,agent,name}=
    else
        printf '%s\n' analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact
    end
end

function __remit_models # PROVIDER/NAME
    set -l word (__remit_value)
    set -l prefix (string match -r -- '^(?:local|replay|scripted)/' "$word")
    if test -n "$prefix"
        printf '%s\n' $prefix(__fish_complete_path (string replace -- "$prefix" '' "$word"))
    else
        printf '%s\n' anthropic/ azure/ deepseek/ google/ groq/ llama-cpp/ local/ mistral/ ollama/ openai/ openrouter/ replay/ scripted/ vllm/ xai/
    end
end

function __remit_own # KIND: what this user has of it
    command -q remit; and command remit completion --words $argv 2>/dev/null
end

complete -c remit -f
complete -c remit -n '__remit_at 1' -a run -d 'Run a task or a prompt to its verdict.'
complete -c remit -n '__remit_at 1' -a resume -d 'Go on with a run that stopped, or say more to one that is done. What finished is not repeated.'
complete -c remit -n '__remit_at 1' -a replay -d 'Play a recorded run again, offline, and compare everything.'
complete -c remit -n '__remit_at 1' -a task -d 'Check a task file, print its schema, start one from an example.'
complete -c remit -n '__remit_at 1' -a policy -d 'Check rule files and explain decisions.'
complete -c remit -n '__remit_at 1' -a runs -d 'List runs and show one.'
complete -c remit -n '__remit_at 1' -a memory -d 'List memory proposals, accept or reject them.'
complete -c remit -n '__remit_at 1' -a tools -d 'List the tools a run with these flags would offer, and why others are off.'
complete -c remit -n '__remit_at 1' -a prompt -d 'Print what the model of a run with these flags reads before the prompt.'
complete -c remit -n '__remit_at 1' -a models -d 'List the models that are known, their prices and keys.'
complete -c remit -n '__remit_at 1' -a auth -d 'Store the keys of providers, list and remove them.'
complete -c remit -n '__remit_at 1' -a doctor -d 'Say what is there, what works and what holds on this machine.'
complete -c remit -n '__remit_at 1' -a events -d 'Print the JSON Schema of the event stream.'
complete -c remit -n '__remit_at 1' -a completion -d 'Print the completion script of a shell.'
complete -c remit -n '__remit_at 1' -a man -d 'Print a manual page, or show it on a terminal.'
complete -c remit -n '__remit_at 1' -s V -l version -d 'Print the version.'
complete -c remit -n '__remit_at 1' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in run' -s t -l task -r -F -d 'Task file, YAML or TOML.'
complete -c remit -n '__remit_in run' -s p -l policy -r -F -d 'Rule file; may be given several times.'
complete -c remit -n '__remit_in run' -s a -l approvals -r -F -d 'Answers to what the rules ask.'
complete -c remit -n '__remit_in run' -s o -l out -x -a '(__fish_complete_directories (__remit_value))' -d 'The run\'s directory, artifacts included.'
complete -c remit -n '__remit_in run' -s m -l model -x -a '(__remit_models)' -d 'The model, such as openai/gpt-4o-mini.'
complete -c remit -n '__remit_in run' -l fallback-model -x -a '(__remit_models)' -d 'To go on with when the model is busy; may be repeated.'
complete -c remit -n '__remit_in run' -l effort -x -a 'off low medium high max' -d 'How much the model should think. Default: as it does by itself.'
complete -c remit -n '__remit_in run' -l image -r -F -d 'A picture to show with the prompt: PNG, JPEG, GIF or WebP.'
complete -c remit -n '__remit_in run' -l output-format -x -a 'text json stream-json codex-json' -d 'What stdout carries.'
complete -c remit -n '__remit_in run' -l input-format -x -a 'text stream-json' -d 'stream-json: prompts and control come as JSON lines on stdin.'
complete -c remit -n '__remit_in run' -l include-partial-messages -d 'With stream-json: answers as they come.'
complete -c remit -n '__remit_in run' -s i -l input -x -d 'An input of the task.'
complete -c remit -n '__remit_in run' -l prompt-file -r -F -d 'File of the prompt; - reads stdin.'
complete -c remit -n '__remit_in run' -l stdin -d 'Read stdin to its end, or never.'
complete -c remit -n '__remit_in run' -s n -l no-stdin -d 'Read stdin to its end, or never.'
complete -c remit -n '__remit_in run' -l tools -x -a '(__remit_tools)' -d 'The tools to offer, instead of the task\'s.'
complete -c remit -n '__remit_in run' -l goal -x -d 'What has to be true: a model judges, and the run goes on till then.'
complete -c remit -n '__remit_in run' -l goal-limit -x -d 'How often it goes on for the goal. Default 16.'
complete -c remit -n '__remit_in run' -l system-prompt-profile -x -d 'Name of a profile in the settings\' system-prompts/.'
complete -c remit -n '__remit_in run' -l system-prompt -x -d 'Words in place of remit\'s own system prompt.'
complete -c remit -n '__remit_in run' -l system-prompt-file -r -F -d 'A file of such words.'
complete -c remit -n '__remit_in run' -l append-system-prompt -x -d 'Words after the system prompt.'
complete -c remit -n '__remit_in run' -l allowed-tools -x -a 'analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact' -d 'Of the ticked tools only these, in every request.'
complete -c remit -n '__remit_in run' -l disallowed-tools -x -a 'analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact' -d 'Tools that are off, ticked or not.'
complete -c remit -n '__remit_in run' -l allow -x -a '(__remit_rules)' -d 'Such as fetch_url:host=example.org.'
complete -c remit -n '__remit_in run' -l deny -x -a '(__remit_rules)' -d 'Such as \'*:path=private/**\', * for every tool.'
complete -c remit -n '__remit_in run' -s C -l workspace -x -a '(__fish_complete_directories (__remit_value))' -d 'The directory that file tools see.'
complete -c remit -n '__remit_in run' -l hooks -r -F -d 'Commands that hear of the run\'s steps, and may refuse.'
complete -c remit -n '__remit_in run' -l on-ask -x -a 'deny stop' -d 'An ask that nobody answers: refuse the call, or stop the run.'
complete -c remit -n '__remit_in run' -l on-deny -x -a 'continue fail' -d 'A refused call: go on, or end the run with exit code 4.'
complete -c remit -n '__remit_in run' -l mode -l permission-mode -x -a 'build plan default acceptEdits bypassPermissions dontAsk' -d 'build or default: as the rules say; plan: change nothing but the plan; acceptEdits; bypassPermissions; dontAsk.'
complete -c remit -n '__remit_in run' -l example -x -a 'mixed-docs sales-report' -d 'Run a packaged example.'
complete -c remit -n '__remit_in run' -l record -r -F -d 'Record the run, for remit replay.'
complete -c remit -n '__remit_in run' -l no-instructions -d 'Leave out AGENTS.md and its like.'
complete -c remit -n '__remit_in run' -l no-rtk -d 'Show the model all that commands print, unfiltered.'
complete -c remit -n '__remit_in run' -s c -l continue -d 'Go on with the latest session of this directory, if there is one.'
complete -c remit -n '__remit_in run' -l resume -x -k -a '(printf "last\tthe newest run\n"; __remit_own runs)' -d 'Go on with this session: a run or session id, or `last`.'
complete -c remit -n '__remit_in run' -l fork -l fork-session -d 'Go on with a copy of that session, which stays as it is.'
complete -c remit -n '__remit_in run' -l implement -x -k -a '(printf "last\tthe newest run\n"; __remit_own runs)' -d 'Carry out the plan of this session.'
complete -c remit -n '__remit_in run' -l clear -d 'Carry it out in a new session, which the plan moves to.'
complete -c remit -n '__remit_in run' -l session-id -x -d 'The id of the new session.'
complete -c remit -n '__remit_in run' -l ephemeral -d 'Leave nothing of the run on disk but what its tools do.'
complete -c remit -n '__remit_in run' -s q -l quiet -d 'No progress on stderr, only what went wrong.'
complete -c remit -n '__remit_in run' -s v -l verbose -d 'Also what the model says between calls, and what each call came to.'
complete -c remit -n '__remit_in run' -l max-turns -x -d 'Model requests.'
complete -c remit -n '__remit_in run' -l max-seconds -x -d 'Wall time in seconds.'
complete -c remit -n '__remit_in run' -l max-tokens -x -d 'Tokens, in and out.'
complete -c remit -n '__remit_in run' -l max-usd -x -d 'US dollars; needs the model\'s price.'
complete -c remit -n '__remit_in run' -l max-calls -x -d 'Tool calls.'
complete -c remit -n '__remit_in run' -l max-network-requests -x -d 'Requests of web tools.'
complete -c remit -n '__remit_in run' -l max-artifact-bytes -x -d 'Size of one artifact, such as 1MiB.'
complete -c remit -n '__remit_in run' -l max-artifacts-total-bytes -x -d 'Size of all artifacts together.'
complete -c remit -n '__remit_in run' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in resume' -s a -l approvals -r -F -d 'Answers to what the rules ask.'
complete -c remit -n '__remit_in resume' -s m -l model -x -a '(__remit_models)' -d 'The model, such as openai/gpt-4o-mini.'
complete -c remit -n '__remit_in resume' -l output-format -x -a 'text json stream-json codex-json' -d 'What stdout carries.'
complete -c remit -n '__remit_in resume' -l reload -d 'Use task and rule files as they are now, not as they were.'
complete -c remit -n '__remit_in resume' -s q -l quiet -d 'No progress on stderr, only what went wrong.'
complete -c remit -n '__remit_in resume' -s v -l verbose -d 'Also what the model says between calls, and what each call came to.'
complete -c remit -n '__remit_in resume' -l max-turns -x -d 'Model requests.'
complete -c remit -n '__remit_in resume' -l max-seconds -x -d 'Wall time in seconds.'
complete -c remit -n '__remit_in resume' -l max-tokens -x -d 'Tokens, in and out.'
complete -c remit -n '__remit_in resume' -l max-usd -x -d 'US dollars; needs the model\'s price.'
complete -c remit -n '__remit_in resume' -l max-calls -x -d 'Tool calls.'
complete -c remit -n '__remit_in resume' -l max-network-requests -x -d 'Requests of web tools.'
complete -c remit -n '__remit_in resume' -l max-artifact-bytes -x -d 'Size of one artifact, such as 1MiB.'
complete -c remit -n '__remit_in resume' -l max-artifacts-total-bytes -x -d 'Size of all artifacts together.'
complete -c remit -n '__remit_in resume' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 resume' -x -k -a '(printf "last\tthe newest run\n"; __remit_own runs)'
complete -c remit -n '__remit_in replay' -l live-tools -d 'Run the tools again and compare their results.'
complete -c remit -n '__remit_in replay' -s o -l out -x -a '(__fish_complete_directories (__remit_value))' -d 'The directory of this run, artifacts included.'
complete -c remit -n '__remit_in replay' -s C -l workspace -x -a '(__fish_complete_directories (__remit_value))' -d 'Where live tools run, instead of where they ran.'
complete -c remit -n '__remit_in replay' -l output-format -x -a 'text json stream-json codex-json' -d 'What stdout carries.'
complete -c remit -n '__remit_in replay' -s q -l quiet -d 'No progress on stderr, only what went wrong.'
complete -c remit -n '__remit_in replay' -s v -l verbose -d 'Also what the model says between calls, and what each call came to.'
complete -c remit -n '__remit_in replay' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 replay' -F
complete -c remit -n '__remit_at 1 task' -a check -d 'Print what is wrong with task files, all of it, or one line for each that is right.'
complete -c remit -n '__remit_at 1 task' -a schema -d 'Print the JSON Schema of the task file.'
complete -c remit -n '__remit_at 1 task' -a new -d 'Copy an example into a directory, and print how to run it.'
complete -c remit -n '__remit_at 1 task' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in task check' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in task check' -F
complete -c remit -n '__remit_in task schema' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in task new' -l example -x -a 'mixed-docs sales-report' -d 'The example to start from. Required.'
complete -c remit -n '__remit_in task new' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 task new' -x -a '(__fish_complete_directories (__remit_value))'
complete -c remit -n '__remit_at 1 policy' -a check -d 'Load rule files, run their examples, and say what in them is most likely a mistake.'
complete -c remit -n '__remit_at 1 policy' -a explain -d 'Say what would become of a call in a run with these flags, and which rule decides that.'
complete -c remit -n '__remit_at 1 policy' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in policy check' -l strict -d 'Warnings end the command with exit code 2.'
complete -c remit -n '__remit_in policy check' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in policy check' -F
complete -c remit -n '__remit_in policy explain' -s t -l task -r -F -d 'Task file, YAML or TOML.'
complete -c remit -n '__remit_in policy explain' -s p -l policy -r -F -d 'Rule file; may be given several times.'
complete -c remit -n '__remit_in policy explain' -s a -l approvals -r -F -d 'Answers to what the rules ask.'
complete -c remit -n '__remit_in policy explain' -l tools -x -a '(__remit_tools)' -d 'The tools to offer, instead of the task\'s.'
complete -c remit -n '__remit_in policy explain' -l allow -x -a '(__remit_rules)' -d 'Such as fetch_url:host=example.org.'
complete -c remit -n '__remit_in policy explain' -l deny -x -a '(__remit_rules)' -d 'Such as \'*:path=private/**\', * for every tool.'
complete -c remit -n '__remit_in policy explain' -s C -l workspace -x -a '(__fish_complete_directories (__remit_value))' -d 'The directory that file tools see.'
complete -c remit -n '__remit_in policy explain' -l on-ask -x -a 'deny stop' -d 'An ask that nobody answers: refuse the call, or stop the run.'
complete -c remit -n '__remit_in policy explain' -l mode -l permission-mode -x -a 'build plan default acceptEdits bypassPermissions dontAsk' -d 'build or default: as the rules say; plan: change nothing but the plan; acceptEdits; bypassPermissions; dontAsk.'
complete -c remit -n '__remit_in policy explain' -l json -d 'Print one JSON object.'
complete -c remit -n '__remit_in policy explain' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 policy explain' -x -a 'analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact'
complete -c remit -n '__remit_at 1 runs' -a list -d 'List runs, newest first. A narrow terminal is shown fewer columns; --json has all.'
complete -c remit -n '__remit_at 1 runs' -a show -d 'Show what a run did, what it was refused, and how to go on.'
complete -c remit -n '__remit_at 1 runs' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in runs list' -l json -d 'Print a JSON array.'
complete -c remit -n '__remit_in runs list' -s n -l number -x -d 'At most so many, newest first.'
complete -c remit -n '__remit_in runs list' -l all -d 'Also those whose directory is gone.'
complete -c remit -n '__remit_in runs list' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in runs show' -l json -d 'Print a JSON object.'
complete -c remit -n '__remit_in runs show' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 runs show' -x -k -a '(printf "last\tthe newest run\n"; __remit_own runs)'
complete -c remit -n '__remit_at 1 memory' -a proposals -d 'List the proposals that wait for a decision, oldest first.'
complete -c remit -n '__remit_at 1 memory' -a accept -d 'Accept proposals: all that are named, or none when one is unknown.'
complete -c remit -n '__remit_at 1 memory' -a reject -d 'Reject proposals: all that are named, or none when one is unknown.'
complete -c remit -n '__remit_at 1 memory' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in memory proposals' -l json -d 'Print a JSON array.'
complete -c remit -n '__remit_in memory proposals' -l all -d 'Also those that were accepted or rejected.'
complete -c remit -n '__remit_in memory proposals' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in memory accept' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in memory accept' -x -k -a '(__remit_own proposals)'
complete -c remit -n '__remit_in memory reject' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in memory reject' -x -k -a '(__remit_own proposals)'
complete -c remit -n '__remit_in tools' -s t -l task -r -F -d 'Task file, YAML or TOML.'
complete -c remit -n '__remit_in tools' -s m -l model -x -a '(__remit_models)' -d 'The model, such as openai/gpt-4o-mini.'
complete -c remit -n '__remit_in tools' -s p -l policy -r -F -d 'Rule file; may be given several times.'
complete -c remit -n '__remit_in tools' -s a -l approvals -r -F -d 'Answers to what the rules ask.'
complete -c remit -n '__remit_in tools' -l tools -x -a '(__remit_tools)' -d 'The tools to offer, instead of the task\'s.'
complete -c remit -n '__remit_in tools' -l system-prompt-profile -x -d 'Name of a profile in the settings\' system-prompts/.'
complete -c remit -n '__remit_in tools' -l allowed-tools -x -a 'analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact' -d 'Of the ticked tools only these, in every request.'
complete -c remit -n '__remit_in tools' -l disallowed-tools -x -a 'analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact' -d 'Tools that are off, ticked or not.'
complete -c remit -n '__remit_in tools' -l allow -x -a '(__remit_rules)' -d 'Such as fetch_url:host=example.org.'
complete -c remit -n '__remit_in tools' -l deny -x -a '(__remit_rules)' -d 'Such as \'*:path=private/**\', * for every tool.'
complete -c remit -n '__remit_in tools' -s C -l workspace -x -a '(__fish_complete_directories (__remit_value))' -d 'The directory that file tools see.'
complete -c remit -n '__remit_in tools' -l on-ask -x -a 'deny stop' -d 'An ask that nobody answers: refuse the call, or stop the run.'
complete -c remit -n '__remit_in tools' -l mode -l permission-mode -x -a 'build plan default acceptEdits bypassPermissions dontAsk' -d 'build or default: as the rules say; plan: change nothing but the plan; acceptEdits; bypassPermissions; dontAsk.'
complete -c remit -n '__remit_in tools' -l json -d 'Names, state, effects and schemas as JSON.'
complete -c remit -n '__remit_in tools' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in prompt' -s t -l task -r -F -d 'Task file, YAML or TOML.'
complete -c remit -n '__remit_in prompt' -s m -l model -x -a '(__remit_models)' -d 'The model, such as openai/gpt-4o-mini.'
complete -c remit -n '__remit_in prompt' -s p -l policy -r -F -d 'Rule file; may be given several times.'
complete -c remit -n '__remit_in prompt' -s a -l approvals -r -F -d 'Answers to what the rules ask.'
complete -c remit -n '__remit_in prompt' -l tools -x -a '(__remit_tools)' -d 'The tools to offer, instead of the task\'s.'
complete -c remit -n '__remit_in prompt' -l system-prompt-profile -x -d 'Name of a profile in the settings\' system-prompts/.'
complete -c remit -n '__remit_in prompt' -l system-prompt -x -d 'Words in place of remit\'s own system prompt.'
complete -c remit -n '__remit_in prompt' -l system-prompt-file -r -F -d 'A file of such words.'
complete -c remit -n '__remit_in prompt' -l append-system-prompt -x -d 'Words after the system prompt.'
complete -c remit -n '__remit_in prompt' -l allowed-tools -x -a 'analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact' -d 'Of the ticked tools only these, in every request.'
complete -c remit -n '__remit_in prompt' -l disallowed-tools -x -a 'analyze_csv batch code_context code_expand code_impact code_map code_refs execution_environment fetch_url file_apply_patch file_edit file_glob file_grep file_index file_read file_write list_files plan propose_memory python_execution question read_file search_files shell task task_control todo_write tool_output update_plan view_image write_artifact' -d 'Tools that are off, ticked or not.'
complete -c remit -n '__remit_in prompt' -l allow -x -a '(__remit_rules)' -d 'Such as fetch_url:host=example.org.'
complete -c remit -n '__remit_in prompt' -l deny -x -a '(__remit_rules)' -d 'Such as \'*:path=private/**\', * for every tool.'
complete -c remit -n '__remit_in prompt' -s C -l workspace -x -a '(__fish_complete_directories (__remit_value))' -d 'The directory that file tools see.'
complete -c remit -n '__remit_in prompt' -l on-ask -x -a 'deny stop' -d 'An ask that nobody answers: refuse the call, or stop the run.'
complete -c remit -n '__remit_in prompt' -l mode -l permission-mode -x -a 'build plan default acceptEdits bypassPermissions dontAsk' -d 'build or default: as the rules say; plan: change nothing but the plan; acceptEdits; bypassPermissions; dontAsk.'
complete -c remit -n '__remit_in prompt' -l no-instructions -d 'Leave out AGENTS.md and its like.'
complete -c remit -n '__remit_in prompt' -l json -d 'With the tools of the first request, as JSON.'
complete -c remit -n '__remit_in prompt' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in models' -l json -d 'Print a JSON array with all that is known.'
complete -c remit -n '__remit_in models' -l provider -x -a 'anthropic azure deepseek google groq llama-cpp local mistral ollama openai openrouter replay scripted vllm xai' -d 'Only the models of this one.'
complete -c remit -n '__remit_in models' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 auth' -a set -d 'Store the key of a provider, read from standard input.'
complete -c remit -n '__remit_at 1 auth' -a list -d 'List the providers with a key, and the source that counts: variable, auth file, token command.'
complete -c remit -n '__remit_at 1 auth' -a remove -d 'Remove the key of a provider from the auth file.'
complete -c remit -n '__remit_at 1 auth' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in auth set' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 auth set' -x -a 'anthropic azure deepseek google groq llama-cpp local mistral ollama openai openrouter replay scripted vllm xai'
complete -c remit -n '__remit_in auth list' -l json -d 'Print a JSON array.'
complete -c remit -n '__remit_in auth list' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in auth remove' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 auth remove' -x -a 'anthropic azure deepseek google groq llama-cpp local mistral ollama openai openrouter replay scripted vllm xai'
complete -c remit -n '__remit_in doctor' -l parts -d 'Also try each part that remit is made of.'
complete -c remit -n '__remit_in doctor' -l json -d 'Print a JSON array.'
complete -c remit -n '__remit_in doctor' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in events' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_in completion' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 completion' -x -a 'bash zsh fish'
complete -c remit -n '__remit_in man' -l roff -d 'Print the source, for man(1) to read.'
complete -c remit -n '__remit_in man' -l list -d 'List the pages.'
complete -c remit -n '__remit_in man' -s h -l help -d 'Show the help and exit.'
complete -c remit -n '__remit_at 1 man' -x -a 'remit run resume replay task policy runs memory tools prompt models auth doctor events completion man sdk task.5 script policy.5 approvals providers hooks events.7 tools.7 sandbox agents profiles install'
