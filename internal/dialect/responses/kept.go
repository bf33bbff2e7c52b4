package responses

import "weir/internal/rawjson"

// Kept is the response object in the data of the event with which an answer
// ends that a later request can go on from; nil for any other event.
func Kept(data []byte) []byte {
	switch rawjson.Text(rawjson.Get(data, "type")) {
	case "response.completed", "response.incomplete":
		return rawjson.Get(data, "response")
	}
	return nil
}
