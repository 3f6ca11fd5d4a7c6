# fish completion for tatter: asks the program for the possible completions.

function __tatter_complete
    # fish passes only the words up to the cursor.
    set -l program (commandline -opc)[1]
    test -x "$program"; or set program tatter
    set -l before (commandline -opc)[2..-1]
    # The word without its quotes; the last one may be unclosed.
    set -l current (commandline -ct)
    set -l current (string unescape -- "$current"; or string unescape -- "$current'"; or string unescape -- "$current\""; or echo "$current")
    set -l lines ($program __complete fish (count $before) $before "$current" 2>/dev/null)
    for line in $lines[2..-1]
        echo $line
    end
    if contains files (string split ' ' -- $lines[1])
        set -l found (__fish_complete_path "$current")
        if set -q found[1]
            printf '%s\n' $found
        else
            # `NAME=FILE` and `@FILE`
            set -l head (string match -r -- '^(?:[^=]*=)?@?' "$current")
            printf "$head%s\n" (__fish_complete_path (string replace -r -- '^(?:[^=]*=)?@?' '' "$current"))
        end
    end
end

complete -c tatter -f -a '(__tatter_complete)'
