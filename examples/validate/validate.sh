#!/bin/bash
# Checks that the tools for which the examples are written accept them, and that they reject each example with a mistake.
# Run it by hand: it fetches the tools with go, pip and npm, about 300 MB at first. packer, cloud-init and shellcheck are
# Debian packages. It exits 1 if an answer is wrong. A missing tool is reported but is not a failure.
set -uo pipefail
cd "$(dirname "$0")" || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

say() { printf '%-13s %-40s %s\n' "$@"; }

# check WHAT TOOL FILE MISTAKE COMMAND [ARGUMENT...]: checks that the command accepts the file, and rejects it after sed's
# MISTAKE.
check() {
	local what=$1 tool=$2 file=$3 mistake=$4 broken
	shift 4
	broken=$work/broken/$(basename "$file")
	mkdir -p "$work/broken" && sed "$mistake" "$file" > "$broken"
	if cmp -s "$file" "$broken"; then
		say FAIL "$what" "the mistake $mistake changes nothing"
	elif ! "$@" "$file" > "$work/said" 2>&1; then
		say FAIL "$what" "$tool: $(head -n 20 "$work/said")"
	elif "$@" "$broken" > "$work/said" 2>&1; then
		say FAIL "$what" "$tool takes it with the mistake $mistake"
	else
		say PASS "$what" "$tool"
		return
	fi
	failed=1
}

absent() { say 'not available' "$1" "$2"; }

# with PROGRAM FILE: reports whether a Debian program is installed
with() { command -v "$1" > /dev/null || { absent "$2" "apt-get install $1"; return 1; }; }

if go build -o "$work/validate" . 2> "$work/said"; then
	library() { "$work/validate" "$@"; }
	version() { go list -m -f '{{.Path}} {{.Version}}' "$1"; }
	check container/Dockerfile "$(version github.com/moby/buildkit)" ../container/Dockerfile 's/--timeout/--timout/' library dockerfile
	check container/compose.yaml "$(version github.com/compose-spec/compose-go/v2)" ../container/compose.yaml 's/start_period/startperiod/' library compose
	check container/kubernetes.yaml "$(version k8s.io/kubernetes)" ../container/kubernetes.yaml 's/timeoutSeconds: /timeoutSeconds: -/' library kubernetes
else
	for file in Dockerfile compose.yaml kubernetes.yaml; do absent "container/$file" "go build: $(tail -n 1 "$work/said")"; done
fi

if python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q botocore==1.44.5 cfn-lint==1.58.0 > "$work/said" 2>&1; then
	aws() { "$work/venv/bin/python" aws.py "$@"; }
	check container/ecs-task.json 'botocore 1.44.5' ../container/ecs-task.json 's/"startPeriod"/"startperiod"/' aws ecs
	check ssm/cudacompat.yaml 'cfn-lint 1.58.0, the version of the form alone' ../ssm/cudacompat.yaml "s/'2.2'/'2.3'/" aws ssm
	absent ssm/cudacompat.yaml 'a validator of the steps: the service alone has one'
	model=@aws-cdk/aws-imagebuilder-alpha@2.270.0-alpha.0
	if npm pack --silent --pack-destination "$work" "$model" > "$work/said" 2>&1 && tar -xzf "$work"/aws-cdk-*.tgz -C "$work"; then
		component() { aws imagebuilder "$1" "$work/package/lib/component.d.ts"; }
		check imagebuilder/cudacompat.yaml "$model" ../imagebuilder/cudacompat.yaml 's/S3Download/S3download/' component
	else
		absent imagebuilder/cudacompat.yaml "npm: $(tail -n 1 "$work/said")"
	fi
	absent imagebuilder/cudacompat.yaml 'awstoe validate: AWS publishes it in no package registry'
else
	for file in container/ecs-task.json ssm/cudacompat.yaml imagebuilder/cudacompat.yaml; do absent "$file" "pip: $(tail -n 1 "$work/said")"; done
fi

# template FILE: runs Packer's fmt and validate, with the binary that the template needs and invalid credentials.
template() {
	local dir=$work/packer
	rm -rf "$dir" && mkdir -p "$dir/bin" && touch "$dir/bin/cudacompat"
	packer fmt -check "$1" && cp "$1" "$dir" && cd "$dir" || return
	# Packer 1.6 includes Amazon's builder and does not know required_plugins
	if [[ $(packer version) == 'Packer v1.6.'* ]]; then sed -i '/^packer {$/,/^}$/d' ./*.pkr.hcl; else packer init .; fi &&
		AWS_ACCESS_KEY_ID=none AWS_SECRET_ACCESS_KEY=none AWS_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true \
			packer validate -var source_ami=ami-0123456789abcdef0 .
}
packed() { (template "$1"); }
if with packer packer/cudacompat.pkr.hcl; then
	check packer/cudacompat.pkr.hcl "$(packer version | head -n 1)" ../packer/cudacompat.pkr.hcl 's/source_ami    =/source_amis   =/' packed
fi

schema() { cloud-init schema --config-file "$1"; }
if with cloud-init cloud-init/cudacompat.yaml; then
	check cloud-init/cudacompat.yaml "$(cloud-init --version 2>&1)" ../cloud-init/cudacompat.yaml 's/^runcmd:/runcmd: 1 #/' schema
fi

if with shellcheck container/try.sh; then
	for script in ../container/try.sh validate.sh; do
		check "${script#../}" "$(shellcheck --version | sed -n 's/^version: /shellcheck /p')" "$script" 's/^set -/cd $nowhere; set -/' shellcheck --severity=warning
	done
fi
exit $failed
