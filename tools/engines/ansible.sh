#!/bin/bash
# The local fact and the play of examples/ansible, by ansible-core: a sound node passes, one with an old driver fails
# the play with the rule's name. ANSIBLE names an environment with ansible-core; REAL the program.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
trap 'rm -rf "$work"' EXIT
PATH=$here:${ANSIBLE:+$ANSIBLE/bin:}$PATH
node "$work/sound.json" 570.133.20 12.8
node "$work/old.json" 470.256.02 11.4

# play FACTS: the play on this machine, with its facts in a directory of its own
play() {
    FACTS=$work/$1.json HOME=$work ANSIBLE_LOCALHOST_WARNING=False ansible-playbook -i localhost, -c local \
        -e "facts_dir=$work/facts.d ansible_python_interpreter=$python" "$examples/ansible/cudacompat.yml" 2>&1 && echo "exit 0" || echo "exit $?"
}
python=$(python3 -c "import sys; print(sys.executable)")
ansible-playbook --version | head -n 1
expect "a sound node passes" '*compatible*failed=0*exit 0' "$(play sound)"
expect "an old driver fails the play with its rule" '*driver-too-old*failed=1*exit 2' "$(play old)"
exit $failed
