package config

import (
	"fmt"
	"strings"

	"weir/internal/rawjson"
)

// Nearest returns the most similar candidate to word: see rawjson.Names.
func Nearest(word string, candidates []string) (string, bool) {
	return rawjson.Names(candidates).Nearest(word)
}

// suggest returns the end of a message about a wrong word: the most similar valid word.
func suggest(word string, candidates []string) string {
	if c, ok := Nearest(word, candidates); ok {
		return fmt.Sprintf("; did you mean `%s`?", c)
	}
	return ""
}

// suggestOneOf is like suggest, but lists the valid words if none is similar.
func suggestOneOf(word string, candidates []string) string {
	if s := suggest(word, candidates); s != "" {
		return s
	}
	return "; it is one of " + strings.Join(candidates, ", ")
}
