package host

import "testing"

// TestFUSEAmong finds the FUSE file systems in a mountinfo, except the root's own and those with another mount over
// them.
func TestFUSEAmong(t *testing.T) {
	const mountinfo = `22 1 0:21 / / rw,relatime - fuse.fuse-overlayfs fuse-overlayfs rw
30 22 0:40 / /mnt/s3\040data rw,nosuid shared:1 - fuse.s3fs s3fs rw,user_id=0
31 22 0:41 / /mnt/covered rw - fuse.sshfs host: rw
32 31 8:1 / /mnt/covered rw - ext4 /dev/sda1 rw
33 22 8:17 / /mnt/ntfs rw - fuseblk /dev/sdb1 rw
34 22 0:42 / /sys/fs/fuse/connections rw - fusectl fusectl rw
`
	want := []Mount{{ID: "30", Point: "/mnt/s3 data", Kind: "fuse.s3fs"}, {ID: "33", Point: "/mnt/ntfs", Kind: "fuseblk"}}
	got := fuseAmong(mountinfo)
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i, m := range got {
		if m.ID != want[i].ID || m.Point != want[i].Point || m.Kind != want[i].Kind {
			t.Errorf("%+v, want %+v", m, want[i])
		}
	}
}
