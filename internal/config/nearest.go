package config

import (
	"fmt"
	"strings"

	"weir/internal/rawjson"
)

// Nearest is the candidate that word most likely means: see rawjson.Names.
func Nearest(word string, candidates []string) (string, bool) {
	return rawjson.Names(candidates).Nearest(word)
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
