package compose

import "weir/internal/rawjson"

// Only is a body with the top-level members of these names alone, as Rewrite has them.
func Only(body []byte, names rawjson.Names) []byte {
	return rawjson.Rewrite(body, func(name string) string {
		if names.Has(name) {
			return name
		}
		return ""
	})
}
