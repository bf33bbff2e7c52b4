package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// returnFilePages returns the resident pages of the program's file to the system: its code and its constants. The
// kernel maps most of them at the start, and few are used. A page that is used again comes from the page cache
// (https://man7.org/linux/man-pages/man2/madvise.2.html, MADV_DONTNEED, 2026-11-29). Constants come back in small
// steps: in huge pages, of 2 MB each, a few words in each would bring all of them back (MADV_NOHUGEPAGE). The code
// keeps its huge pages, which processors translate faster.
func returnFilePages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close() //nolint:errcheck // it was only read
	for _, m := range filePages(maps, program) {
		if !m.code {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_NOHUGEPAGE)
		}
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED) // only memory is at stake
	}
}

// mapping is a range of addresses, of code or of constants.
type mapping struct {
	from, to uintptr
	code     bool
}

// filePages returns the mappings of a file that nobody can write and that have no pages of their own, in memory or in
// swap: such pages hold changes, for example relocated addresses, and would be lost. The format of maps is that of
// /proc/PID/smaps, in which Swap follows Anonymous.
func filePages(maps io.Reader, file string) (all []mapping) {
	var m mapping
	isCandidate := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "Anonymous", "Swap":
			if isCandidate = isCandidate && strings.TrimSpace(value) == "0 kB"; isCandidate && name == "Swap" {
				all = append(all, m)
			}
			continue
		}
		head, path, ok := strings.Cut(line, "/")
		if !ok {
			continue
		}
		var access string
		_, err := fmt.Sscanf(head, "%x-%x %s", &m.from, &m.to, &access)
		m.code = access == "r-xp"
		isCandidate = err == nil && "/"+path == file && (m.code || access == "r--p")
	}
	return all
}
