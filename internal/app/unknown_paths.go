package app

import (
	"net/http"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/dialect"
)

// keptPath is the path of a stored response.
const keptPath = "/v1/responses/{id}"

// servedPaths returns the paths of the client APIs: those of the dialect d, or all if d is nil.
func servedPaths(routes []httpRoute, d *dialect.Dialect) []string {
	var paths []string
	for _, e := range routes {
		client := e.permission == account.Chat || e.permission == account.Uses
		if !client || d != nil && e.dialect != d {
			continue
		}
		_, path, _ := strings.Cut(e.pattern, " ")
		paths = append(paths, strings.ReplaceAll(path, "...}", "}"))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// asksHealth reports whether an unknown path is one where other programs report their health, such as /healthz.
func asksHealth(path string) bool {
	last := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	return strings.HasPrefix(last, "health") || strings.HasPrefix(last, "live") || strings.HasPrefix(last, "ready") ||
		slices.Contains([]string{"ping", "alive", "readiness", "status", "up"}, last)
}

// isVersioned reports whether a path has exactly one version, at the place where the paths of client APIs have it. A
// path with two versions, or with none, comes from a wrong base URL.
func isVersioned(path string) bool {
	segments := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 3)
	count := 0
	for _, segment := range segments[:min(len(segments), 2)] {
		if segment == "v1" || strings.HasPrefix(segment, "v1beta") || strings.HasPrefix(segment, "v1alpha") {
			count++
		}
	}
	return count == 1
}

// refuseKept refuses other methods at the path of a stored response. A plain word instead of an id, such as compact,
// is an operation of the vendor that Weir does not serve
// (https://platform.openai.com/docs/api-reference/responses/compact).
func refuseKept(refuse, unserved http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Trim(r.PathValue("id"), "abcdefghijklmnopqrstuvwxyz_") == "" {
			unserved.ServeHTTP(w, r)
			return
		}
		refuse.ServeHTTP(w, r)
	})
}
