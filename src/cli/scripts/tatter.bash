# bash completion for tatter: asks the program for the possible completions.

_tatter() {
    local program=tatter how line
    [[ -x $1 ]] && program=$1
    COMPREPLY=()
    {
        IFS= read -r how
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done
    } < <("$program" __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" 2> /dev/null)
    case " $how " in *" glued "*) compopt -o nospace 2> /dev/null ;; esac
    case " $how " in
        *" files "*)
            # If there are words, file names are added; otherwise bash completes file names itself, except after `@`, where
            # it would look for hosts.
            if ((${#COMPREPLY[@]})); then
                while IFS= read -r line; do
                    COMPREPLY+=("$(printf %q "$line")")
                done < <(compgen -f -- "$2")
            elif [[ $2 == @* || $3 == *@ ]]; then
                local at=
                [[ $2 == @* ]] && at=@
                compopt -o filenames 2> /dev/null
                while IFS= read -r line; do
                    COMPREPLY+=("$at$line")
                done < <(compgen -f -- "${2#@}")
            fi
            ;;
        *) compopt +o default +o bashdefault 2> /dev/null ;;
    esac
}

complete -o default -o bashdefault -F _tatter tatter
