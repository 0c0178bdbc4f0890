//go:build linux

// Command screen runs a program in a terminal of its own and writes what the terminal shows as an SVG:
//
//	go run ./tools/screen -o docs/screen.svg bin/cudacompat check example:broken
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const columns = 80

func main() {
	out := flag.String("o", "", "the file to write")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: screen -o FILE COMMAND...")
		os.Exit(64)
	}
	text, err := record(flag.Args())
	if err == nil {
		prompt := "$ " + filepath.Base(flag.Arg(0)) + " " + strings.Join(flag.Args()[1:], " ") + "\n"
		err = os.WriteFile(*out, draw(prompt+text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		os.Exit(1)
	}
}

// record returns all that a command writes to a terminal. Its exit code is a verdict, and no error of ours.
func record(command []string) (string, error) {
	master, slave, err := terminal()
	if err != nil {
		return "", err
	}
	defer master.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=")
	cmd.Stdout, cmd.Stderr = slave, slave
	err = cmd.Start()
	slave.Close()
	if err != nil {
		return "", err
	}
	text, _ := io.ReadAll(master) // ends with EIO when the last writer has closed the terminal
	_ = cmd.Wait()
	return strings.ReplaceAll(string(text), "\r\n", "\n"), nil
}

// terminal opens a pseudo-terminal. Bytes written to the slave can be read from the master (pty(7)).
func terminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	return master, slave, err
}
