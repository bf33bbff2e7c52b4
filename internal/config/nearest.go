package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxWord bounds the work of Nearest; longer words are no misspelt key.
const maxWord = 64

// Nearest is the candidate that word most likely means: the one with the
// fewest edits (a letter more, less, other, or two swapped; Damerau-Levenshtein
// over adjacent letters), case apart. It is false when even that one differs
// in more than a third of its letters. Of equals the first wins.
func Nearest(word string, candidates []string) (string, bool) {
	if word == "" || len(word) > maxWord {
		return "", false
	}
	lower := []rune(strings.ToLower(word))
	best, bestDistance := "", maxWord
	for _, c := range candidates {
		limit := max(1, max(len(lower), utf8.RuneCountInString(c))/3)
		d := distance(lower, []rune(strings.ToLower(c)))
		if d <= limit && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best, best != ""
}

// distance is the optimal string alignment distance of two words.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			substitute := last[j]
			if a[i] != b[j] {
				substitute++
			}
			row[j+1] = min(substitute, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// suggest is the end of a sentence about a wrong word: the nearest right one.
func suggest(word string, candidates []string) string {
	if c, ok := Nearest(word, candidates); ok {
		return fmt.Sprintf("; did you mean `%s`?", c)
	}
	return ""
}

// suggestOneOf is like suggest, and lists the right words when none is near.
func suggestOneOf(word string, candidates []string) string {
	if s := suggest(word, candidates); s != "" {
		return s
	}
	return "; it is one of " + strings.Join(candidates, ", ")
}
