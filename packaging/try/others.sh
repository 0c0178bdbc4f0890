# What goes with them: completions in their shells, the Action's step, the bundle, what a stranger checks.
program=$OUT/bin/cudacompat-linux-amd64
shells=$(debian trixie "$TRIXIE")
ln -s /release/bin/cudacompat-linux-amd64 "$shells/usr/local/bin/cudacompat"
for shell in bash fish zsh; do "$program" completion $shell >"$shells/usr/local/share/_cudacompat.$shell"; done
ln -s _cudacompat.zsh "$shells/usr/local/share/_cudacompat"
cat >"$shells/complete.bash" <<'END'
. /usr/share/bash-completion/bash_completion
. /usr/local/share/_cudacompat.bash
COMP_WORDS=(cudacompat doc) COMP_CWORD=1 COMP_LINE='cudacompat doc' COMP_POINT=14 COMP_TYPE=9
__start_cudacompat
echo "${COMPREPLY[@]}"
END
cat >"$shells/complete.fish" <<'END'
. /usr/local/share/_cudacompat.fish
complete -C 'cudacompat doc'
END
cat >"$shells/complete.zsh" <<'END'
fpath=(/usr/local/share $fpath)
autoload -Uz compinit
compinit -u -d /tmp/zcompdump
echo ${_comps[cudacompat]}: $(cudacompat __complete doc 2>/dev/null | head -n 1)
END
for shell in bash fish zsh; do
    inside "$shells" "$shell" "/complete.$shell" | tr '\t' ' ' | grep doctor | row "completion" "$shell of Debian 13" "cudacompat doc[TAB]"
done

"$PACKAGING/action_test.sh" "$program" | row "Action" "its step, as a runner starts it" "packaging/action_test.sh cudacompat-linux-amd64"

bundle=$(cd "$OUT" && ls cudacompat-tables-*.zip)
"$program" check example:broken -o line --fail-on never --matrix "$OUT/$bundle" | row "bundle" "any" "cudacompat check example:broken --matrix $bundle"
head -c 100000 "$OUT/$bundle" >"$work/cut.zip"
code=0
"$program" check example:broken --matrix "$work/cut.zip" 2>"$work/said" || code=$?
{ head -n 1 "$work/said" | sed "s#$work/##"; echo "exit $code"; } | tr '\n' ' ' | row "bundle" "cut" "cudacompat check example:broken --matrix cut.zip"
[ "$code" = 64 ] || die "a cut bundle: exit $code"

"$PACKAGING/download_test.sh" "$OUT" | row "checksums" "any, downloaded side by side" "what SECURITY.md says"
python_tools
"$work/tools/bin/python" - "$OUT"/sbom/*.json <<'END' | row "SBOM" "any" "CycloneDX's schema 1.6, by cyclonedx-python-lib"
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
for name in sys.argv[1:]:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(name).read())
    assert error is None, (name, error)
print(len(sys.argv) - 1, "documents, all valid")
END
