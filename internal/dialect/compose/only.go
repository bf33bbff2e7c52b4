package compose

import "weir/internal/rawjson"

// Only returns a body with only the named top-level members, spelled as Rewrite does.
func Only(body []byte, names rawjson.Names) []byte {
	return rawjson.Rewrite(body, func(name string) string {
		if names.Has(name) {
			return name
		}
		return ""
	})
}
