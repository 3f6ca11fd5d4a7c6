#compdef tatter
# zsh completion for tatter: asks the program for the possible completions.

_tatter() {
    local -a lines found flags typed
    local line word how program=${(Q)words[1]}
    [[ -x $program ]] || program=tatter
    # Inside a word, the text before the cursor is completed.
    typed=("${(@Q)words[2,-1]}")
    typed[CURRENT-1]=$IPREFIX${(Q)PREFIX}
    lines=("${(@f)$("$program" __complete zsh $((CURRENT - 2)) "${(@)typed}" 2> /dev/null)}")
    how=" $lines[1] "
    for line in "${(@)lines[2,-1]}"; do
        word=${line%%$'\t'*}
        found+=("${${word//\\/\\\\}//:/\\:}:${line#*$'\t'}")
    done
    [[ $how == *' glued '* ]] && flags=(-S '')
    (( $#found )) && _describe -t words 'tatter' found "${(@)flags}"
    if [[ $how == *' files '* ]]; then
        # `NAME=FILE` and `@FILE`
        _files || { compset -P 1 '*='; compset -P '@'; _files }
    fi
}

if [[ $funcstack[1] == _tatter ]]; then
    _tatter "$@"
else
    compdef _tatter tatter
fi
