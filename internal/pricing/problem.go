package pricing

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/internal/rawjson"
)

// Problem is a mistake in a price file, or a warning.
type Problem struct {
	File string
	// Line and Column count from 1, columns in characters.
	Line, Column int
	// Message says what is wrong and how to fix it.
	Message string
}

// Error returns "file:line:column: message".
func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems are the mistakes in price files, by file, then by place.
type Problems []Problem

// Error returns one line per problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

const (
	maxProblems = 200 // per file
	maxWord     = 80  // bytes of a value in a message
)

// findings collects problems by file.
type findings struct {
	all  Problems
	here int // index of this file's first problem
}

func (f *findings) add(file *File, at int, message string) {
	switch n := len(f.all) - f.here; {
	case n >= maxProblems:
		return
	case n == maxProblems-1:
		message = "there are too many mistakes; the rest is not shown"
	}
	line, column := place(file.Text, at)
	f.all = append(f.all, Problem{file.Path, line, column, message})
}

// endFile sorts the problems of a file by place.
func (f *findings) endFile() {
	slices.SortStableFunc(f.all[f.here:], func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	f.here = len(f.all)
}

// place returns the line and the column of a byte of the text.
func place(text []byte, at int) (line, column int) {
	before := text[:min(at, len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}

// suggest returns the end of a message about a wrong word: the most similar valid word, or all valid words if there are
// few.
func suggest(word string, right []string) string {
	if near, ok := rawjson.Names(right).Nearest(word); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(right) > 30 {
		return ""
	}
	return "; it is one of " + strings.Join(right, ", ")
}

// quoted formats a word of a file for a message.
func quoted(word string) string {
	if len(word) > maxWord {
		word = strings.ToValidUTF8(word[:maxWord], "") + "…"
	}
	return fmt.Sprintf("%q", word)
}
