// Package fuse runs a command that may read or write a FUSE file system in a child process that can be left behind.
//
// The kernel lets no process out of a call that such a file system never answers, not even to end it. The parent reads
// no file: from the arguments and the list of mounts it concludes which of them the command may reach. It passes on what
// the child reads and writes, and gives up when the command's time is over. Other systems than Linux do not show which
// file systems are FUSE.
package fuse
