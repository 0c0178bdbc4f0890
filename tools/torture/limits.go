//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// killCases end the parent at random moments, as Docker, the kubelet and systemd do, while NVML hangs, answers or
// leaves helpers behind. Nothing may outlive it.
func killCases(b *bench) ([]testCase, error) {
	if err := b.install("killed"); err != nil {
		return nil, err
	}
	var cases []testCase
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT,
		syscall.SIGQUIT} {
		for _, orders := range []string{"nvmlInit_v2=hang", "nvmlInit_v2=deaf", "nvmlDeviceGetName=slow",
			"nvmlDeviceGetName=helper-hang",
			"nvmlDeviceGetName=spin", "nvmlDeviceGetName=detached", "load=hang", ""} {
			cases = append(cases, testCase{sig.String() + " during " + orders, func(b *bench) {
				after := time.Millisecond + time.Duration(b.random.Int64N(int64(400*time.Millisecond)))
				b.judge(order{Args: b.doctorLive(20 * time.Second),
					Env:  []string{"LD_LIBRARY_PATH=" + filepath.Join(b.dir, "killed"), "FAKE_NVML=" + orders},
					Kill: after, Signal: sig, Patience: 10 * time.Second}, demand{codes: []int{-1, 0, 1, 2, 3}})
			}})
		}
	}
	return cases, nil
}

// install puts the false library, less some functions, into a directory of the bench.
func (b *bench) install(dir string, lacking ...string) error {
	fake, err := b.fake()
	if err != nil {
		return err
	}
	return write(filepath.Join(b.dir, dir, "libnvidia-ml.so.1"), dropFunctions(fake, lacking))
}

// limitCases remove resources that a container or a shell can remove.
func limitCases(b *bench) ([]testCase, error) {
	if err := b.install("limited"); err != nil {
		return nil, err
	}
	if err := write(filepath.Join(b.dir, "small/etc/os-release"), []byte("ID=ubuntu\n")); err != nil {
		return nil, err
	}
	var lists [][]string
	for _, n := range []string{"3", "4", "5", "6", "8", "10", "16", "32", "64"} {
		lists = append(lists, []string{"nofile=" + n})
	}
	for _, mb := range []int{20, 50, 100, 200, 400, 700, 1000, 2000} {
		lists = append(lists, []string{"as=" + strconv.Itoa(mb<<20)}, []string{"data=" + strconv.Itoa(mb<<20)})
	}
	for _, kb := range []int{64, 128, 1024} {
		lists = append(lists, []string{"stack=" + strconv.Itoa(kb<<10)})
	}
	for _, n := range []string{"1", "2", "5", "10"} {
		lists = append(lists, []string{"nproc=" + n})
	}
	var cases []testCase
	for _, limits := range lists {
		cases = append(cases, b.limited(limits, true)...)
	}
	cases = append(cases, b.limited([]string{"no-openat2"}, false)...)
	if os.Getuid() == 0 {
		cases = append(cases, b.limited([]string{"no-proc"}, false)...)
	}
	return cases, nil
}

func (b *bench) limited(limits []string, starved bool) []testCase {
	live := order{Args: b.confined(limits, b.doctorLive(5*time.Second)...),
		Env: []string{"LD_LIBRARY_PATH=" + filepath.Join(b.dir, "limited")}}
	tree := order{Args: b.confined(limits, b.binary, "doctor", "--root", filepath.Join(b.dir, "small"), "-o", "json")}
	want := demand{deadline: 5 * time.Second, codes: judged, json: true, starved: starved}
	if starved { // with a descriptor too few an environment that was named is not found
		want.codes = append(slices.Clone(judged), 64)
	}
	return []testCase{
		{limits[0], func(b *bench) { b.judge(live, want) }},
		{limits[0] + " on a tree", func(b *bench) { b.judge(tree, want) }},
	}
}

// crowdCases run two hundred at once, as a job's ranks do.
func crowdCases(b *bench) ([]testCase, error) {
	const ranks = 200
	if err := b.install("crowd"); err != nil {
		return nil, err
	}
	return []testCase{{fmt.Sprintf("%d at once", ranks), func(b *bench) {
		outcomes := make([]outcome, ranks)
		var all sync.WaitGroup
		for i := range ranks {
			all.Go(func() {
				own := *b
				own.dir = filepath.Join(b.dir, "rank"+strconv.Itoa(i))
				if err := write(own.config(), nil); err != nil {
					return
				}
				outcomes[i], _ = own.cagedRun(order{Args: b.doctorLive(time.Minute), Patience: 2 * time.Minute,
					Env: []string{"LD_LIBRARY_PATH=" + filepath.Join(b.dir, "crowd")}})
			})
		}
		all.Wait()
		for _, got := range outcomes {
			b.tally.weigh(got, demand{codes: judged, json: true, command: "doctor with NVML", children: true})
		}
	}}}, nil
}
