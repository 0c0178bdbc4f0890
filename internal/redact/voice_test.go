package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"cudacompat/internal/redact/redacttest"
)

// TestKinds removes each kind of secret from a text: by itself, within a sentence, within quotation marks, and twice.
func TestKinds(t *testing.T) {
	kinds := redacttest.Kinds()
	if len(kinds) < 60 {
		t.Fatalf("%d kinds", len(kinds))
	}
	for _, k := range kinds {
		for _, text := range []string{k.Text, Quote(k.Text, 80), string(Document([]byte(k.Text + "\n"))),
			Line("  " + k.Text)} {
			if got := Redact(text); strings.Contains(strings.ToLower(got), strings.ToLower(k.Secret)) {
				t.Errorf("%q leaves %q", k.Text, got)
			} else if again := Redact(got); again != got {
				t.Errorf("%q: %q, and then %q", k.Text, got, again)
			}
		}
	}
}

// TestKept checks that text which only looks like a secret stays.
func TestKept(t *testing.T) {
	for _, text := range []string{
		"nvidia-curand-cu12==10.3.5.147", "nvidia-cublas-cu12 12.4.5.8", "libcufft.so.11.0.2.54", "curand 10.3.5.119/lib",
		"tiktoken = \"^0.7.0\"", "tiktoken==0.7.0", "tokenizers>=0.19,<0.22", "secretstorage==3.3.3", "keyring = \"^25.2\"",
		"hf_transfer==0.1.8", "hf_xet", "sk-learn", "npm_config_cache", "pypi-attestations",
		"https://download.pytorch.org/whl/cu126", "https://index.example:8443/simple/torch@v2",
		"https://github.com/pytorch/vision#installation",
		"torch @ https://download.pytorch.org/whl/cu126/torch-2.9.0%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl",
		"wheel torch-2.9.0.whl sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"--hash=sha256:0123456789abcdef", "content-hash = \"0123456789abcdef\"",
		"cuGetProcAddress_v2@libcuda.so.1", "memcpy@GLIBC_2.14", "__cudaRegisterFatBinary@@libcudart.so.12",
		"getty@tty1.service", "python@3.12", "/opt/homebrew/opt/python@3.11/bin",
		"Setting `pad_token_id` to `eos_token_id`:151643", "max_num_batched_tokens: 4096, tokens=81920000",
		"Unexpected token: '<' in JSON", "basic configuration", "\"passwd\": cannot tell what kind of file this is",
		"GPU-0", "GPU-unknown-1", "MIG-0-1", "0000:3b:00.0", "127.0.0.1:29500", "--token ${TOKEN}", "password=$PASS",
		"torchvision::nms", "conda-forge::pytorch", "NCCL_SOCKET_IFNAME=eth0", "host memory", "Serial: none",
		"auth: required", "auth=OAuth", "auth: certificates", `"auth": "disabled"`, "the password is required",
		"wandb login failed", "wandb: Currently logged in as", "mysql -p db",
		"connect to (localhost, 29500)", "remote peer localhost<4>", "peer access 0<1>",
	} {
		if got := Redact(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestRedacted checks the text that remains.
func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"https://user:PW@host/x":           "https://***@host/x",
		"http://a:b@x/ http://c@y/z":       "http://***@x/ http://***@y/z",
		`{"api_key": "SECRETPW1", "n": 1}`: `{"api_key": "***", "n": 1}`,
		"https://x/y?access_token=PW&z=1":  "https://x/y?access_token=***&z=1",
		"git+ssh://git@github.com/x":       "git+ssh://***@github.com/x",
		"GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e and GPU-6528af19 and GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e": "GPU-unknown-1 and GPU-unknown-2 and GPU-unknown-1",
		"connect to (node-ab1, 29500).":                          "connect to (***, 29500).",
		"closed by remote peer node-ab1.corp<43210>":             "closed by remote peer ***<43210>",
		"network error, from node-ab1.corp [10.1.2.3]:29500":     "network error, from *** [***]:29500",
		"https://conda.example/t/tk-1/main::pkg":                 "https://conda.example/t/***/main::pkg",
		"node17:1:2 [0] NCCL WARN Connect to 10.1.2.3<4> failed": "***:1:2 [0] NCCL WARN Connect to ***<4> failed",
	} {
		if got := Redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestDocument removes a PEM block line by line and keeps the number of lines.
func TestDocument(t *testing.T) {
	text := "a\n-----BEGIN PRIVATE KEY-----\nMIIHUNTER\nHUNTER==\n-----END PRIVATE KEY-----\nb\n"
	got := string(Document([]byte(text)))
	if strings.Contains(got, "HUNTER") || strings.Count(got, "\n") != 6 || !strings.HasSuffix(got, "\nb\n") {
		t.Errorf("%q", got)
	}
	json := `{"a": "gh\u0070_HUNTERabcdefgh", "b": "x\ny"}`
	if got := string(Document([]byte(json))); got != `{"a": "ghp_***", "b": "x\ny"}` {
		t.Errorf("%s", got)
	}
}

// TestValue reaches every string, and gives a GPU one name in all of them.
func TestValue(t *testing.T) {
	type inner struct{ Text string }
	v := struct {
		List    []inner
		Map     map[string]inner
		Pointer *inner
		Words   []string
		hidden  string
	}{[]inner{{"GPU-5428af19"}}, map[string]inner{"password=PW": {"GPU-6528af19"}}, &inner{"GPU-5428af19"},
		[]string{"https://a:PW@h"}, "PW"}
	Value(&v)
	if v.List[0].Text != "GPU-unknown-1" || v.Map["password=***"].Text != "GPU-unknown-2" ||
		v.Pointer.Text != "GPU-unknown-1" || v.Words[0] != "https://***@h" || len(v.Map) != 1 {
		t.Errorf("%+v %+v", v, v.Pointer)
	}
}

func BenchmarkHints(b *testing.B) {
	text := []byte(strings.Repeat("    { url = \"https://files.example/packages/torch-2.9.0-cp312.whl\", hash = \"sha256:0123456789abcdef\", size = 899 },\n", 1000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Document(text)
	}
}

// FuzzRedact checks that no text breaks a rule, that JSON stays JSON, and that the number of lines stays.
func FuzzRedact(f *testing.F) {
	for _, k := range redacttest.Kinds() {
		f.Add(k.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Redact(text)
		if got := Document([]byte(text)); strings.Count(string(got), "\n") != strings.Count(text, "\n") && !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") &&
			!strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[{") {
			t.Errorf("%q has other lines than %q", got, text)
		}
		quoted, err := json.Marshal(map[string]string{"a": text, text: "b"})
		if err != nil {
			t.Fatal(err)
		}
		if got := Document(quoted); !json.Valid(got) {
			t.Errorf("%s is no JSON", got)
		}
	})
}
