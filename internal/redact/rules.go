package redact

import "cudacompat/internal/lazyregexp"

// rule takes one kind of secret out of a text.
type rule struct {
	hints       string // words without which it cannot match, in lower case
	pattern     *lazyregexp.Regexp
	replacement string                                   // what is put in the place of a match, as regexp.Expand has it
	keep        func(found, before, after string) string // in its place, where a pattern cannot decide: what is left of a match
}

func (r *rule) apply(text string) string {
	if r.keep == nil {
		return r.pattern.ReplaceAllString(text, r.replacement)
	}
	var out []byte
	end := 0
	for _, at := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		out = append(append(out, text[end:at[0]]...), r.keep(text[at[0]:at[1]], text[:at[0]], text[at[1]:])...)
		end = at[1]
	}
	if end == 0 {
		return text
	}
	return string(append(out, text[end:]...))
}

// rules are the credentials, then what identifies a machine or a person. They are applied in this order.
var rules = []rule{
	// blocks of PEM, in one string or cut off
	{hints: "-----begin", pattern: lazyregexp.New(`-----BEGIN [A-Z0-9 ]*-----(?:[^-]*-----END [A-Z0-9 ]*-----|[^-]*)`),
		replacement: "-----BEGIN ***-----"},
	// headers hold their secret up to the end of the line or of the quotation
	{hints: "authorization cookie x-api-key auth-token private-token security-token",
		pattern: lazyregexp.New(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token|private-token|` +
			`x-amz-security-token)(["'\\]*\s*[:=]\s*["'\\]*)((?:bearer|basic|token|digest|negotiate|aws4-hmac-sha256) +)?` +
			`[^"'\\\n]+`), replacement: "${1}${2}${3}***"},
	// addresses: user and password before the last @ of the host, tokens of conda and Slack in the path
	{hints: "@", pattern: lazyregexp.New(`://[^/\s]*@`), replacement: "://***@"},
	{hints: "@", pattern: lazyregexp.New(`://[^/\s:"'<>@]+:[^\s"'<>]*@`), keep: removePort},
	{hints: "/t/", pattern: lazyregexp.New(`(://[^\s"']*?/t/)[^/\s"':*]+`), replacement: "${1}***"},
	{hints: "hooks. webhooks /bot", pattern: lazyregexp.New(`(?i)(://(?:hooks\.slack\.com/services/|hooks\.[\w.]+/|` +
		`discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot))[^\s"']+`), replacement: "${1}***"},
	{hints: "sig= signature= credential= token= key= keyid= auth= code= pass= password= pwd= secret= sas= session=",
		pattern: lazyregexp.New(`(?i)([?&;](?:amp;)?(?:[\w-]*(?:sig|signature|credential|token|key|keyid|auth|pass|` +
			`password|pwd|secret|sas|session)|code)=)[^&\s"'<>#;*]+`), replacement: "${1}***"},
	{hints: "sig=", pattern: lazyregexp.New(`(?i)\b(sig=)[\w%+/=-]{8,}`), replacement: "${1}***"},
	// tokens that begin as their issuers have them begin
	{hints: "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt- xoxa- xoxb- xoxe xoxp- xoxr- xoxs- xapp- " +
		"nvapi- sk_live_ rk_live_ sk_test_ dckr_pat_ dop_v1_ hvs. npm_ pypi- gsk_ atatt3 tskey- lin_api_ figd_ shpat_ " +
		"secret-key-",
		pattern: lazyregexp.New(`\b(gh[pousr]_|github_pat_|gl(?:pat|dt|rt|cbt)-|xox[abeprs](?:\.xox[bp])?-|xapp-|nvapi-|` +
			`[sr]k_(?:live|test)_|dckr_pat_|dop_v1_|hvs\.|gsk_|ATATT3|tskey-|lin_api_|figd_|shpat_|AGE-SECRET-KEY-)[\w.-]{8,}`),
		replacement: "${1}***"},
	{hints: "npm_ pypi- sk- aiza ya29. sg. r8_",
		pattern: lazyregexp.New(`\b(npm_|pypi-|sk-|AIza|ya29\.|SG\.|r8_)[\w.-]{16,}`), replacement: "${1}***"},
	{hints: "hf_ api_org_", pattern: lazyregexp.New(`\b(hf_|api_org_)[A-Za-z0-9]{8,}`), keep: removeWord},
	{hints: "akia asia aroa aida", pattern: lazyregexp.New(`\b(AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}`), replacement: "${1}***"},
	{hints: "eyj", pattern: lazyregexp.New(`\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)*`), replacement: "***"},
	{hints: "bearer basic", pattern: lazyregexp.New(`(?i)\b(bearer|basic) +[\w.~+/=-]{8,}`), keep: removeProse},
	// what is assigned to a name that says it is secret
	{hints: "secret passw passphrase passcode pwd key token credential _auth signature",
		pattern: secretAssignment, keep: removeAssigned},
	{hints: "pass secret token key auth credential",
		pattern: lazyregexp.New(`(?i)((?:^|[\s"'\[,=])--?(?:[\w-]*(?:password|passwd|passphrase|secret|token|api-?key|` +
			`access-?key|auth|credentials?|pass))(?:=|["']?,?\s+)["']?)[^\s"'*=$-][^\s"']*`), replacement: "${1}***"},
	{hints: "password", pattern: lazyregexp.New(`(?i)(\b(?:login|account|machine)\s+\S+\s+password\s+|^\s*password\s+)` +
		`[^\s*:=]\S*`), replacement: "${1}***"},
	{hints: "token secret passw key",
		pattern:     lazyregexp.New(`(?i)^(\s*(?:ENV|ARG)\s+\w*(?:token|secret|passw(?:or)?d|passwd|api_?key)\s+)[^\s*]\S*`),
		replacement: "${1}***"},
	{hints: "curl wget", pattern: lazyregexp.New(`(?i)(\b(?:curl|wget)\b[^\n]*?\s(?:-u|--user)[ =]?["']?)[^\s"'*]+`),
		replacement: "${1}***"},
	{hints: "login", pattern: lazyregexp.New(`(\blogin\b[^\n]*?\s-p[ =]?["']?)[^\s"'*]+`), replacement: "${1}***"},
	{hints: "sshpass mysql mariadb", pattern: lazyregexp.New(`(\bsshpass\s+-p ?["']?|\b(?:mysql|mariadb)[\w-]*\b[^\n]*?\s-p["']?)` +
		`[^\s"'*]+`), replacement: "${1}***"},
	{hints: "wandb", pattern: lazyregexp.New(`(\bwandb["']?,?\s+["']?login["']?,?\s+(?:--\S+\s+)*["']?)\w{32,}`), replacement: "${1}***"},
	{hints: "auth", pattern: lazyregexp.New(`(?i)\bauth\b["'\\]*\s*[:=]\s*["'\\]*[A-Za-z0-9+/_-]{8,}={0,2}`), keep: removeDrawn},
	{hints: "passw passphrase passcode", pattern: lazyregexp.New(`(?i)\bpass(?:word|phrase|code)\s+(?:is|was):?\s+["']?[^\s"'*,;]{4,}`),
		keep: removeDrawn},

	// people and machines
	{hints: "@", pattern: lazyregexp.New(`\b[\w.-]+@[\w-][\w.-]*:[~/]`), keep: removePrompt},
	{hints: "@", pattern: lazyregexp.New(`\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b`), keep: removeMail},
	{hints: "serial", pattern: lazyregexp.New(`(?i)(<serial>|\b\w*serial(?:[ _-]?(?:number|num|no)\b\.?)?["']?\s*[:=]\s*["']?)` +
		`([\w-]{4,})`), keep: removeSerial},
	// before NCCL's rule, which would take the time of such a line for a host
	{hints: "kernel system nvidia slurm docker containerd kubelet sshd",
		pattern: lazyregexp.New(`\b((?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ][\d:.,+Z-]+) )[\w.-]+` +
			`( (?:kernel|systemd|nvidia|slurm|docker|containerd|kubelet|sshd)[\w-]*(?:\[\d+\])?:)`), replacement: "${1}***${2}"},
	{hints: "nccl", pattern: lazyregexp.New(`[\w.-]+(:\d+:\d+ (?:\[[\dN/A]+\] )?[^\n]*?NCCL)`), replacement: "***${1}"},
	{hints: "nccl_comm_id nccl_hostid", pattern: lazyregexp.New(`(NCCL_(?:COMM_ID|HOSTID)["']?(?:\s*[:=]\s*|[^\n:=]*? to )["']?)` +
		`[^\s"',*]+`), replacement: "${1}***"},
	{hints: "host nodename nodelist master_addr master-addr endpoint computername node_name pod_ip",
		pattern: lazyregexp.New(`(?i)((?:\b|_)(?:hostname|host|nodename|master[_-]addr|nodelist|submit_host|` +
			`launch_node_ipaddr|rdzv[_-]endpoint|computername|node_name|pod_ip|host_ip)["']?(?:\s*[:=]\s*["']?|\s+["']?))` +
			`([A-Za-z0-9][\w.-]*)`), keep: removeHost},
	{hints: "connect", pattern: lazyregexp.New(`(?i)(connect\w*(?: (?:to|from|with))? \[?)[a-z][\w-]*(?:\.[\w-]+)*(\]?[:<|]\d+)`),
		replacement: "${1}***${2}"},
	{hints: "]:", pattern: lazyregexp.New(`\[[A-Za-z][\w-]*(?:\.[\w-]+)*(\]:\d{3,5}\b)`), replacement: "[***${1}"},
	{hints: "]:", pattern: lazyregexp.New(`((?:\bfrom|\bto|\bwith) )[A-Za-z][\w-]*(?:\.[\w-]+)* \[[^\]\n]*(\]:\d{2,5}\b)`), replacement: "${1}*** [***${2}"},
	{hints: "connect address", pattern: lazyregexp.New(`(?i)((?:connect\w*(?: (?:to|from|with))?|address(?:es)? of) ?\(["']?)` +
		`([\w-]+(?:\.[\w-]+)*)(["']?\s*[,:]\s*\d+\b)`), keep: stripPeer},
	{hints: "peer", pattern: lazyregexp.New(`(?i)(\bpeer:? )([\w-]+(?:\.[\w-]+)*)(<\d+>)`), keep: stripPeer},
	{hints: "cancelled task", pattern: lazyregexp.New(`(\bON |srun: error: )[\w.-]+( CANCELLED|: tasks? )`), replacement: "${1}***${2}"},
	{hints: "1.2.3.4", pattern: lazyregexp.New(`\b\d{1,3}(?:\.\d{1,3}){3}\b`), keep: removeAddress},
	{hints: "fe80: ::", pattern: lazyregexp.New(`(?i)\b(?:fe80|f[cd][0-9a-f]{2}|2[0-9a-f]{3}):(?:[0-9a-f]{0,4}:){1,6}[0-9a-f]{1,4}\b`),
		replacement: "***"},
	{hints: "mac ether addr", pattern: lazyregexp.New(`(?i)\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b`), replacement: "***"},
}
