package app

import (
	"strings"

	"weir/internal/admintool"
)

// adminPath prefixes all paths of the administration.
const adminPath = "/admin/v1/"

// isAdmin reports whether a path, or the path of a pattern, belongs to the administration, which has its own error
// format.
func isAdmin(path string) bool {
	return isBelow(path, strings.TrimSuffix(adminPath, "/")) || isBelow(path, admintool.Path)
}

// isBelow reports whether a path is a directory or in it.
func isBelow(path, directory string) bool {
	rest, ok := strings.CutPrefix(path, directory)
	return ok && (rest == "" || rest[0] == '/')
}
