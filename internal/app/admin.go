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
	return strings.HasPrefix(path+"/", adminPath) || strings.HasPrefix(path+"/", admintool.Path+"/")
}
