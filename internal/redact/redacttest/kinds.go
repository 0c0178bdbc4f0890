// Package redacttest has one example of each kind of secret and of each thing that identifies, for tests of what takes
// them out.
package redacttest

import "slices"

// Kind is one kind: a piece of text, and the part of it that must never be printed.
type Kind struct{ Text, Secret string }

// randomText is what a program drew: letters and digits of no meaning.
const randomText = "Zq7Wv3Kx9Lm2Pd8Rt5Yb"

// Kinds returns all kinds. No secret is a part of another kind's text beside it.
func Kinds() []Kind { return slices.Clone(kinds) }

var kinds = []Kind{
	// addresses
	{"https://alice:HUNTERa1@host.example/x", "HUNTERa1"},
	{"https://alice:HUN/TERa2@host.example/x", "TERa2"},
	{"https://HUNTERa3tokenonly@host.example/simple", "HUNTERa3"},
	{"git+https://x-access-token:HUNTERa4@host.example/o/r.git", "HUNTERa4"},
	{"postgres://bob:HUNTERa5@db.example:5432/x", "HUNTERa5"},
	{"https://conda.example/t/HUNTERa6token/channel", "HUNTERa6"},
	{"https://u:HUNTERa7@conda.example::pkg", "HUNTERa7"},
	{"https://h.example/x?sig=HUNTERa8%2Bz&se=2027", "HUNTERa8"},
	{"https://h.example/x?a=b&X-Amz-Signature=HUNTERa9", "HUNTERa9"},
	{"https://h.example/x?X-Goog-Signature=HUNTERb1", "HUNTERb1"},
	{"https://h.example/x?AWSAccessKeyId=HUNTERb2&Signature=z", "HUNTERb2"},
	{"https://h.example/x?access_token=HUNTERb3", "HUNTERb3"},
	{"https://h.example/x?X-Amz-Credential=HUNTERb4", "HUNTERb4"},
	{"https://hooks.slack.com/services/T0/B0/HUNTERb5", "HUNTERb5"},
	{"https://discord.com/api/webhooks/12/HUNTERb6", "HUNTERb6"},
	{"sig=HUNTERb7abcdefghij", "HUNTERb7"},
	// tokens by how they begin
	{"ghp_HUNTERc1" + randomText, "HUNTERc1"},
	{"gho_HUNTERc2" + randomText, "HUNTERc2"},
	{"github_pat_HUNTERc3" + randomText, "HUNTERc3"},
	{"glpat-HUNTERc4" + randomText, "HUNTERc4"},
	{"hf_HUNTERc5" + randomText, "HUNTERc5"},
	{"npm_HUNTERc6" + randomText, "HUNTERc6"},
	{"pypi-HUNTERc7" + randomText, "HUNTERc7"},
	{"AIzaHUNTERc8" + randomText, "HUNTERc8"},
	{"sk-HUNTERc9" + randomText, "HUNTERc9"},
	{"sk-ant-api03-HUNTERd1" + randomText, "HUNTERd1"},
	{"xoxb-HUNTERd2-" + randomText, "HUNTERd2"},
	{"AKIAHUNTERD3ABCDEFGH", "HUNTERD3"},
	{"nvapi-HUNTERd4" + randomText, "HUNTERd4"},
	{"sk_live_HUNTERd5" + randomText, "HUNTERd5"},
	{"dckr_pat_HUNTERd6" + randomText, "HUNTERd6"},
	{"hvs.HUNTERd7" + randomText, "HUNTERd7"},
	{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.HUNTERd8abc", "HUNTERd8"},
	{"ya29.HUNTERd9" + randomText, "HUNTERd9"},
	{"gsk_HUNTERe1" + randomText, "HUNTERe1"},
	// names and values
	{`token: "HUNTERf1value"`, "HUNTERf1"},
	{`token = 'HUNTERf2value'`, "HUNTERf2"},
	{"password=HUNTERf3", "HUNTERf3"},
	{"password: HUNTERf4", "HUNTERf4"},
	{`PASSWORD="HUNTER f5 with blanks"`, "f5 with"},
	{"AWS_SECRET_ACCESS_KEY=HUNTERf6/" + randomText, "HUNTERf6"},
	{"WANDB_API_KEY=HUNTERf7" + randomText, "HUNTERf7"},
	{"AccountKey=HUNTERf8" + randomText + "==;EndpointSuffix=x", "HUNTERf8"},
	{"client_secret: HUNTERf9", "HUNTERf9"},
	{"HF_TOKEN=HUNTERg1value", "HUNTERg1"},
	{"api-key: HUNTERg2value", "HUNTERg2"},
	{`"api_key": "HUNTERg3value"`, "HUNTERg3"},
	{"MYSQL_PWD=HUNTERg4", "HUNTERg4"},
	{"SharedAccessKey=HUNTERg5" + randomText + "=", "HUNTERg5"},
	// options and headers
	{"--api-key HUNTERh1value", "HUNTERh1"},
	{"--token=HUNTERh2value", "HUNTERh2"},
	{"--password HUNTERh3", "HUNTERh3"},
	{"Authorization: Bearer HUNTERh4" + randomText, "HUNTERh4"},
	{"Authorization: Basic HUNTERh5" + randomText, "HUNTERh5"},
	{"Cookie: a=1; sid2=HUNTERh6", "HUNTERh6"},
	{"Set-Cookie: sid=HUNTERh7; Path=/", "HUNTERh7"},
	{"X-Api-Key: HUNTERh8value", "HUNTERh8"},
	{"curl -u bob:HUNTERh9 https://h.example/", "HUNTERh9"},
	{"docker login -u bob -p HUNTERi1 h.example", "HUNTERi1"},
	{"machine h.example login bob password HUNTERi2", "HUNTERi2"},
	{"sshpass -p HUNTERi6 ssh h.example", "HUNTERi6"},
	{"mysql --user bob -pHUNTERi7 db", "HUNTERi7"},
	{"wandb login hunteri8f00d0123456789abcdef0123456789abcd", "hunteri8"},
	{`{"auths": {"r.example": {"auth": "SFVOVEVSaTk6cHc="}}}`, "SFVOVEVSaTk6cHc"},
	{`{\"auths\":{\"r.example\":{\"auth\":\"SFVOVEVSajA6cHc=\"}}}`, "SFVOVEVSajA6cHc"},
	{"the password is HUNTERi9x", "HUNTERi9"},
	{"bearer HUNTERi3" + randomText, "HUNTERi3"},
	{"-----BEGIN RSA PRIVATE KEY-----HUNTERi4" + randomText + "-----END RSA PRIVATE KEY-----", "HUNTERi4"},
	{"-----BEGIN OPENSSH PRIVATE KEY----- HUNTERi5" + randomText, "HUNTERi5"},
	// people and machines
	{"hunterj1@corp.example", "hunterj1"},
	{"hunterj2@hunterj2-node:~$ python train.py", "hunterj2"},
	{"NCCL_COMM_ID=hunterj3.corp:1234", "hunterj3"},
	{"NCCL_HOSTID=hunterj4.corp", "hunterj4"},
	{"hunterj5-17.corp:4711:4711 [0] NCCL INFO Bootstrap : Using eth0:10.11.12.13<0>", "10.11.12.13"},
	{"hunterj6-17.corp:4711:4711 [0] NCCL WARN Connect to 10.11.12.14 failed", "hunterj6"},
	{"NCCL INFO NET/Socket : Using [0]eth0:10.11.12.15<0>", "10.11.12.15"},
	{"Connect to 10.11.12.16 failed", "10.11.12.16"},
	{"connect to hunterk1.corp:29500", "hunterk1"},
	{"MASTER_ADDR=hunterk2.corp", "hunterk2"},
	{"CUDA_VISIBLE_DEVICES=GPU-5428af19-1e82-a38c-ee42-cdd3ad745b7e", "5428af19"},
	{"NVIDIA_VISIBLE_DEVICES=MIG-6528af19-1e82-a38c-ee42-cdd3ad745b7e", "6528af19"},
	{"GPU-7528af19", "7528af19"},
	{"Serial Number: 1323HUNTERk6", "HUNTERk6"},
	{"serial=HUNTERk7", "HUNTERk7"},
	{"hostname: hunterk8.corp", "hunterk8"},
	{"Nov 23 10:00:00 hunterk9 kernel: NVRM: Xid", "hunterk9"},
	{"[W socket.cpp:1] The client socket has failed to connect to [hunterl1.corp]:29500", "hunterl1"},
	{"NCCL INFO eth0:fe80::1:2:3:4<0>", "fe80::1"},
}
