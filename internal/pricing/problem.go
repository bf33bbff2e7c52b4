package pricing

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"weir/internal/rawjson"
)

// Problem is one mistake in a price file.
type Problem struct {
	File string
	// Line and Column count from 1, columns in characters.
	Line, Column int
	// Message says what is wrong and what would be right.
	Message string
}

// Error is "file:line:column: message".
func (p Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems are the mistakes in price files, file by file, in the order in which they
// were found.
type Problems []Problem

// Error is one line a problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

const (
	maxProblems = 200 // of a file
	maxWord     = 80  // bytes of a value in a message
)

// place is the line and the column of a byte of the text.
func place(text []byte, at int) (line, column int) {
	before := text[:min(at, len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}

// suggest is the end of a sentence about a wrong word: the nearest of the right ones, or
// all of them where none is near and they are few.
func suggest(word string, right []string) string {
	if near, ok := rawjson.Names(right).Nearest(word); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(right) > 30 {
		return ""
	}
	return "; it is one of " + strings.Join(right, ", ")
}

// quoted is a word of a file as a message shows it.
func quoted(word string) string {
	if len(word) > maxWord {
		word = strings.ToValidUTF8(word[:maxWord], "") + "…"
	}
	return fmt.Sprintf("%q", word)
}
