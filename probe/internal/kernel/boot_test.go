package kernel

import (
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

const grubCfg = `set timeout=0
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
else
   set default="${saved_entry}"
fi
function load_video {
  insmod all_video
}
menuentry 'Ubuntu' --class ubuntu $menuentry_id_option 'gnulinux-simple-5f3c' {
	linux	/boot/vmlinuz-6.8.0-1030-aws root=PARTUUID=8f1e ro
}
submenu 'Advanced options for Ubuntu' $menuentry_id_option 'gnulinux-advanced-5f3c' {
	menuentry 'Ubuntu, with Linux 6.8.0-1030-aws' $menuentry_id_option 'gnulinux-6.8.0-1030-aws-advanced-5f3c' {
		linux	/boot/vmlinuz-6.8.0-1030-aws root=PARTUUID=8f1e ro
	}
	menuentry 'Ubuntu, with Linux 6.8.0-1021-aws' $menuentry_id_option 'gnulinux-6.8.0-1021-aws-advanced-5f3c' {
		linux	/boot/vmlinuz-6.8.0-1021-aws root=PARTUUID=8f1e ro
	}
}
menuentry "Memory test" {
	linux16	/boot/memtest86+.bin
}
`

func TestGrubBoots(t *testing.T) {
	menu := parseGrubMenu([]byte(grubCfg), nil)
	for _, tt := range []struct{ name, env, want string }{
		{"nothing-saved", "", "6.8.0-1030-aws"},
		{"number", "saved_entry=0\n", "6.8.0-1030-aws"},
		{"numbers", "saved_entry=1>1\n", "6.8.0-1021-aws"},
		{"ids", "saved_entry=gnulinux-advanced-5f3c>gnulinux-6.8.0-1021-aws-advanced-5f3c\n", "6.8.0-1021-aws"},
		{"titles", "saved_entry=Advanced options for Ubuntu>Ubuntu, with Linux 6.8.0-1021-aws\n", "6.8.0-1021-aws"},
		{"submenu", "saved_entry=1\n", "6.8.0-1030-aws"},
		{"once", "saved_entry=0\nnext_entry=1>1\n", "6.8.0-1021-aws"},
		{"no-linux", "saved_entry=2\n", "memtest86+.bin"},
		{"not-there", "saved_entry=7\n", ""},
		{"unknown-title", "saved_entry=Windows\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := menu.bootedEntry(parseGrubEnv([]byte("# GRUB Environment Block\n" + tt.env + "####")))
			if (got == nil) != (tt.want == "") || got != nil && got.kernels[0] != tt.want {
				t.Errorf("it boots %+v, want %q", got, tt.want)
			}
		})
	}
}

func TestReadBoot(t *testing.T) {
	const entries = `
-- boot/vmlinuz-6.1.134 --
-- boot/vmlinuz-6.1.132 --
-- boot/vmlinuz-0-rescue-ec2a --
-- lib/modules/6.1.134/modules.builtin --
-- lib/modules/6.1.132/modules.builtin --
-- lib/modules/5.10.9/updates/dkms/nvidia.ko --
-- boot/loader/entries/ec2a-6.1.132.conf --
title Amazon Linux
linux /boot/vmlinuz-6.1.132
-- boot/loader/entries/ec2a-0-rescue.conf --
linux /boot/vmlinuz-0-rescue-ec2a
`
	const newer = "-- boot/loader/entries/ec2a-6.1.134.conf --\ntitle Amazon Linux (6.1.134) 2023\n" +
		"linux /vmlinuz-6.1.134\n"
	const blscfg = `-- boot/grub2/grub.cfg --
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="${saved_entry}"
fi
### BEGIN /etc/grub.d/08_fallback_counting ###
insmod increment
if [ -n "${boot_counter}" -a "${boot_success}" = "0" ]; then
  if  [ "${boot_counter}" = "0" -o "${boot_counter}" = "-1" ]; then
    set default=1
    set boot_counter=-1
  else
    decrement boot_counter
  fi
  save_env boot_counter
fi
### END /etc/grub.d/08_fallback_counting ###
insmod blscfg
blscfg
`
	kernels := []string{"6.1.132", "6.1.134"}
	for _, tt := range []struct {
		name, tree string
		want       facts.Machine
	}{
		{"loader-entry", entries + "-- boot/grub2/grubenv --\nsaved_entry=ec2a-6.1.132\n",
			facts.Machine{Kernels: kernels, Boot: "6.1.132", BootFrom: "/boot/loader/entries/ec2a-6.1.132.conf"}},
		{"rescue", entries + "-- boot/grub2/grubenv --\nsaved_entry=ec2a-0-rescue\n", facts.Machine{Kernels: kernels}},
		{"no-choice", entries, facts.Machine{Kernels: kernels}},
		{"blscfg", entries + blscfg + "-- boot/grub2/grubenv --\nsaved_entry=ec2a-6.1.132\n",
			facts.Machine{Kernels: kernels, Boot: "6.1.132", BootFrom: "/boot/loader/entries/ec2a-6.1.132.conf"}},
		{"blscfg-nothing-saved", entries + newer + blscfg + "-- boot/grub2/grubenv --\nboot_success=0\n",
			facts.Machine{Kernels: kernels, Boot: "6.1.134", BootFrom: "/boot/loader/entries/ec2a-6.1.134.conf"}},
		{"blscfg-number", entries + newer + blscfg + "-- boot/grub2/grubenv --\nsaved_entry=1\n",
			facts.Machine{Kernels: kernels, Boot: "6.1.132", BootFrom: "/boot/loader/entries/ec2a-6.1.132.conf"}},
		{"blscfg-title", entries + newer + blscfg +
			"-- boot/grub2/grubenv --\nsaved_entry=Amazon Linux (6.1.134) 2023\n",
			facts.Machine{Kernels: kernels, Boot: "6.1.134", BootFrom: "/boot/loader/entries/ec2a-6.1.134.conf"}},
		{"blscfg-rescue", entries + newer + blscfg + "-- boot/grub2/grubenv --\nsaved_entry=2\n",
			facts.Machine{Kernels: kernels}},
		{"outside", entries + "-- boot/grub2/grubenv --\nsaved_entry=../../../etc/passwd\n", facts.Machine{Kernels: kernels}},
		{"grub-cfg", "-- boot/grub/grub.cfg --\n" + grubCfg +
			"-- boot/vmlinuz-6.8.0-1030-aws --\n-- lib/modules/6.8.0-1030-aws/modules.dep --\n",
			facts.Machine{Kernels: []string{"6.8.0-1030-aws"}, Boot: "6.8.0-1030-aws", BootFrom: "/boot/grub/grub.cfg"}},
		{"headers-only", "-- lib/modules/6.8.0-60/build -> /usr/src/linux-headers-6.8.0-60 --\n", facts.Machine{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f facts.Facts
			apply, err := ReadBoot(hosttest.Tree(t, tt.tree))
			if apply != nil {
				apply(&f)
			}
			if diff := cmp.Diff(tt.want, f.Machine); diff != "" || (err != nil) != (tt.want.Kernels == nil) {
				t.Errorf("error %v, boot (-want +got):\n%s", err, diff)
			}
		})
	}
}

func FuzzParseGrubMenu(f *testing.F) {
	f.Add([]byte(grubCfg), []byte("saved_entry=1>1\n"))
	f.Add([]byte("submenu x {\nsubmenu x {\n}\n"), []byte("next_entry=0>0>0"))
	f.Fuzz(func(t *testing.T, cfg, env []byte) { parseGrubMenu(cfg, nil).bootedEntry(parseGrubEnv(env)) })
}
