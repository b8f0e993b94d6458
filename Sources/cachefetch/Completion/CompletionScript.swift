/// The shells' completion scripts. Each asks the program itself, so that completions match what the parser accepts. If
/// the program offers nothing, the shell completes file names.
enum CompletionScript {
  enum Shell: String, CaseIterable { case bash, zsh, fish }

  /// The script of a shell.
  static func text(_ shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  private static let bash = """
    # Completion of cachefetch for bash: source it, or put it where bash-completion looks.
    _cachefetch() {
      local candidate
      COMPREPLY=()
      # What comes is quoted as the line needs it, and is what bash puts after the last of its word breaks.
      while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
      done < <(cachefetch completions bash-candidates -- "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    }
    complete -o bashdefault -o default -F _cachefetch cachefetch

    """

  private static let zsh = """
    #compdef cachefetch
    # Completion of cachefetch for zsh: put it in a folder of $fpath as _cachefetch, or source it after compinit.
    _cachefetch() {
      local line text help
      local -a texts shown
      while IFS=$'\\t' read -r text help; do
        texts+=("$text")
        shown+=("$text${help:+  -- $help}")
      done < <(cachefetch completions candidates -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
      if (( ${#texts} )); then
        compadd -l -d shown -a -- texts
      else
        _files
      fi
    }
    if [[ ${funcstack[1]-} = _cachefetch ]]; then
      _cachefetch "$@"
    elif (( ${+functions[compdef]} )); then
      compdef _cachefetch cachefetch
    fi

    """

  private static let fish = """
    # Completion of cachefetch for fish: put it in ~/.config/fish/completions, or source it.
    function __cachefetch_candidates
        set -l words (commandline -opc)
        set -l token (commandline -ct)
        # What has been typed of a word may begin with a quotation mark, or have backslashes in it.
        set -l quote (string match -r '^[\\'"]' -- $token)
        set -l plain (string unescape -- "$token$quote")
        test (count $plain) -eq 1; or set plain $token
        cachefetch completions candidates -- $words[2..-1] $plain 2>/dev/null
    end
    function __cachefetch_has_none
        test -z "$(__cachefetch_candidates)"
    end
    complete -c cachefetch -e
    complete -c cachefetch -f -a '(__cachefetch_candidates)'
    complete -c cachefetch -n __cachefetch_has_none -F

    """
}
