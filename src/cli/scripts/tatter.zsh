#compdef tatter
# zsh completion for tatter: the program itself says what may be typed next.

_tatter() {
    local -a lines found flags
    local line word how program=${(Q)words[1]}
    [[ -x $program ]] || program=tatter
    lines=("${(@f)$("$program" __complete zsh $((CURRENT - 2)) "${(@Q)words[2,-1]}" 2> /dev/null)}")
    how=" $lines[1] "
    for line in "${(@)lines[2,-1]}"; do
        word=${line%%$'\t'*}
        found+=("${${word//\\/\\\\}//:/\\:}:${line#*$'\t'}")
    done
    [[ $how == *' glued '* ]] && flags=(-S '')
    (( $#found )) && _describe -t words 'tatter' found "${(@)flags}"
    [[ $how == *' files '* ]] && _files
}

if [[ $funcstack[1] == _tatter ]]; then
    _tatter "$@"
else
    compdef _tatter tatter
fi
