package rawjson

import (
	"strings"
	"unicode/utf8"
)

// maxWord bounds the work of Nearest. Longer words are not misspelt names.
const maxWord = 64

// Nearest returns the name that is most similar to word: the one with the fewest edits (insert, delete or replace a
// letter, or swap adjacent ones: Damerau-Levenshtein), ignoring case. It returns false if more than a third of the
// letters differ. Of equally similar names the first wins.
func (n Names) Nearest(word string) (string, bool) {
	if word == "" || len(word) > maxWord {
		return "", false
	}
	lower := []rune(strings.ToLower(word))
	best, bestDistance := "", maxWord
	for _, name := range n {
		limit := max(1, max(len(lower), utf8.RuneCountInString(name))/3)
		d := distance(lower, []rune(strings.ToLower(name)))
		if d <= limit && d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best, best != ""
}

// distance returns the optimal string alignment distance of two words.
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
