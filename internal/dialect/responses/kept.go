package responses

import "weir/internal/rawjson"

// Kept returns the response object in the final event of an answer that later requests can continue from; nil for other
// events.
func Kept(data []byte) []byte {
	switch rawjson.Text(rawjson.Get(data, "type")) {
	case "response.completed", "response.incomplete":
		return rawjson.Get(data, "response")
	}
	return nil
}
